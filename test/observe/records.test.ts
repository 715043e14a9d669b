import { describe, expect, it } from 'vitest';
import { type CallName, emptyCounters, type Fact, noUsage, type ToolOutput } from '../../machines/index.ts';
import { SessionCounters } from '../../src/observe/counters.ts';
import { Records } from '../../src/observe/records.ts';
import { replySaying } from '../support/replies.ts';

const target = 'one';
const reply = replySaying('So.');
const fault = { slug: 'empty_response', detail: 'late' } as never;
const started = (attempt: number, notice: string | null = null): Fact => ({
  type: 'attempt.started',
  turn: 1,
  attempt,
  target,
  notice,
  offer: 'all',
});
const replied = (attempt: number): Fact => ({
  type: 'attempt.replied',
  turn: 1,
  attempt,
  target,
  reply,
  fault,
  calls: [],
  usage: { ...noUsage, input: 3 },
  costUsd: 0.5,
});
const turnStarted = (turn: number, isLastTurn = false): Fact => ({ type: 'turn.started', turn, isLastTurn });
const call = (index: number): CallName => ({ turn: 1, attempt: 1, index, callId: `call-${index}`, name: 'look' });
const toolStarted = (index: number): Fact => ({ type: 'tool.started', ...call(index) });
const answered = (index: number, output: ToolOutput, failed = false): Fact => ({
  type: 'tool.answered',
  ...call(index),
  executed: true,
  slug: failed ? 'tool_exec_failed' : null,
  result: { success: !failed } as never,
  output,
  kept: null,
  tokens: 1,
});

const recordsAfter = (...facts: Fact[]) => {
  const records = new Records();
  for (const [at, fact] of facts.entries()) records.fact(fact, 100 + at);
  return records;
};

describe('S-4: the records of turns', () => {
  it('a turn begins running, and ends as its last fact says', () => {
    for (const status of ['finished', 'progressed', 'aborted'] as const) {
      const { turns } = recordsAfter(
        turnStarted(1),
        { type: 'turn.finished', turn: 1, attempts: 0 },
        turnStarted(2, true),
        {
          type: `turn.${status}`,
          turn: 2,
          attempts: 0,
        },
      );
      expect(turns).toEqual([
        { turn: 1, isLastTurn: false, status: 'finished', attempts: [] },
        { turn: 2, isLastTurn: true, status, attempts: [] },
      ]);
    }
    expect(recordsAfter(turnStarted(1)).turns[0]?.status).toBe('running');
    const exhausted: Fact = { type: 'turn.exhausted', turn: 1, attempts: 1, slugs: ['empty_response'] };
    expect(recordsAfter(turnStarted(1), exhausted).turns[0]?.status).toBe('exhausted');
    expect(recordsAfter(exhausted).turns).toEqual([]);
  });

  it('an attempt holds what its request cost, what came back, and when it ended', () => {
    const running = {
      attempt: 1,
      target,
      status: 'running',
      slugs: [],
      notice: 'Report now.',
      reply: null,
      fault: null,
      usage: null,
      costUsd: null,
      calls: [],
      startedAt: 101,
      endedAt: null,
    };
    expect(recordsAfter(turnStarted(1), started(1, 'Report now.')).attempt()).toEqual(running);
    const answer = { reply, fault, usage: { ...noUsage, input: 3 }, costUsd: 0.5 };
    const facts = [turnStarted(1), started(1, 'Report now.'), replied(1)];
    expect(recordsAfter(...facts).attempt()).toEqual({ ...running, ...answer });
    for (const status of ['finished', 'progressed', 'aborted'] as const) {
      const ended = recordsAfter(...facts, { type: `attempt.${status}`, turn: 1, attempt: 1, target });
      expect(ended.attempt()).toEqual({ ...running, ...answer, status, endedAt: 103 });
    }
    const failed = recordsAfter(
      ...facts,
      { type: 'attempt.failed', turn: 1, attempt: 1, target, slugs: ['empty_response'], detail: null },
      started(2),
    );
    expect(failed.turns[0]?.attempts).toEqual([
      { ...running, ...answer, status: 'failed', slugs: ['empty_response'], endedAt: 103 },
      { ...running, attempt: 2, notice: null, startedAt: 104 },
    ]);
    expect(recordsAfter(started(1), replied(1)).attempt()).toBeUndefined();
    expect(recordsAfter({ type: 'attempt.finished', turn: 1, attempt: 1, target }).turns).toEqual([]);
  });

  it('a call holds its answer, its duration, its size and what its sub-agent cost', () => {
    const records = recordsAfter(turnStarted(1), started(1), toolStarted(0), toolStarted(1));
    records.sighting({ type: 'effect.late', key: 'x' });
    const counters = emptyCounters();
    counters.tree.costUsd = 2;
    const ended = { type: 'subAgent.ended', callId: 'call-1', name: 'look', counters } as never;
    records.sighting(ended);
    records.sighting({ ...(ended as object), callId: 'unknown' } as never);
    records.fact(answered(1, { type: 'text', value: 'häßlich' }), 110);
    records.fact(answered(0, { type: 'json', value: { a: 'é' } }, true), 120);
    // A clock that is set back shows no negative time, and a call without a tool of ours has none.
    records.fact(toolStarted(2), 200);
    records.fact(answered(2, { type: 'execution-denied', reason: 'no' }), 150);
    records.fact(answered(3, { type: 'execution-denied' }), 150);
    records.fact(answered(4, { type: 'error-text', value: 'é' }), 150);
    const times = records
      .attempt()
      ?.calls.map(({ index, slug, startedAt, durationMs, bytes, costUsd }) => [
        index,
        slug,
        startedAt,
        durationMs,
        bytes,
        costUsd,
      ]);
    expect(times).toEqual([
      [0, 'tool_exec_failed', 102, 18, 10, 0],
      [1, null, 103, 7, 9, 2],
      [2, null, 200, 0, 2, 0],
      [3, null, null, null, 0, 0],
      [4, null, null, null, 2, 0],
    ]);
    expect(records.attempt()?.calls[0]).toEqual({
      ...{ index: 0, callId: 'call-0', name: 'look', executed: true, slug: 'tool_exec_failed' },
      ...{ result: { success: false }, output: { type: 'json', value: { a: 'é' } } },
      ...{ startedAt: 102, durationMs: 18, bytes: 10, costUsd: 0 },
    });
    // The next attempt may use the same ids; its calls are new ones.
    records.fact(started(2), 300);
    records.fact(answered(0, { type: 'text', value: '' }), 301);
    expect(records.attempt()?.calls[0]?.startedAt).toBeNull();
    expect(recordsAfter(answered(0, { type: 'text', value: '' })).attempt()).toBeUndefined();
  });

  it('the accepted report is kept', () => {
    const records = recordsAfter(turnStarted(1));
    expect(records.accepted).toBeNull();
    records.fact(
      { type: 'report.accepted', turn: 1, attempt: 1, callId: null, source: 'text_fallback', content: { a: 1 } },
      0,
    );
    expect(records.accepted).toEqual({ source: 'text_fallback', content: { a: 1 } });
  });
});

describe('S-4: the counters of tools, late results and sub-agents', () => {
  it('an executed call counts for its tool, with its time and size, and a failure as one', () => {
    const records = new Records();
    const counters = new SessionCounters(records);
    const take = (fact: Fact, at: number) => {
      records.fact(fact, at);
      counters.fact(fact);
    };
    take(turnStarted(1), 0);
    take(started(1), 0);
    take(toolStarted(0), 10);
    take(answered(0, { type: 'text', value: 'four' }), 15);
    take(toolStarted(1), 20);
    take(answered(1, { type: 'error-text', value: 'no' }, true), 21);
    take(answered(2, { type: 'text', value: 'provided' }), 30);
    take({ ...answered(3, { type: 'text', value: 'refused' }), executed: false } as Fact, 30);
    const { look } = counters.all.tools;
    expect(look).toEqual({ calls: 3, failed: 1, durationMs: 6, bytes: 14 });
    expect(counters.all.toolCalls).toMatchObject({ answered: 4, executed: 3, succeeded: 2, failed: 1 });
    expect(counters.all).toMatchObject({ turns: 1, attempts: 1, lateResults: 0, subAgents: {} });
    counters.sighting({ type: 'effect.late', key: 'x' });
    const below = emptyCounters();
    below.tree.requests = 4;
    counters.sighting({ type: 'subAgent.ended', callId: 'call-1', name: 'sub', counters: below } as never);
    counters.sighting({ type: 'server.lost', server: 's', message: 'gone' });
    expect(counters.all.lateResults).toBe(1);
    expect(Object.keys(counters.all.subAgents)).toEqual(['sub']);
    expect(counters.all.tree).toMatchObject({ sessions: 2, requests: 5 });
    // Without a record, a call has no time and no size.
    const alone = new SessionCounters(new Records());
    alone.fact(answered(0, { type: 'text', value: 'four' }));
    expect(alone.all.tools.look).toMatchObject({ durationMs: 0, bytes: 0 });
  });
});
