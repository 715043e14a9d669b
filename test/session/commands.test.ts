import { describe, expect, it } from 'vitest';
import type { Counters } from '../../machines/index.ts';
import type { Limits, SessionEvent } from '../../src/index.ts';
import type { ServerScript } from '../../src/testing/index.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

const ask = { calls: [{ name: 'guarded', input: { path: '/tmp/x' } }] };

describe('commands in one tick', () => {
  it('D-2: a call that is approved before a stop runs', async () => {
    const { result } = await runOverWire({
      script: [ask, report()],
      definition: { tools: { guarded } },
      during: (event, session) => {
        if (event.type !== 'tool.approvalRequested') return;
        session.approve(event.callId, { approved: true });
        session.stop();
      },
    });
    expect(callsIn(result)[0]).toMatchObject({ executed: true, slug: null, result: { value: 'deleted /tmp/x' } });
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        notices: 1,
        collapses: 1,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('D-2: no tool begins after an abort that a listener gave when the call was requested', async () => {
    const begun: unknown[] = [];
    const tools = { search: { ...search, execute: ({ q }: { q: string }) => begun.push(q) } };
    for (const at of ['attempt.replied', 'tool.requested', 'tool.started'] as const) {
      const { result } = await runOverWire({
        script: [{ calls: [...searchCall.calls, ...searchCall.calls] }],
        definition: { tools },
        during: (event, session) => {
          if (event.type === at) session.abort();
        },
      });
      expect(result.status).toBe('aborted');
      expect(callsIn(result).map(({ slug }) => slug)).toEqual(['aborted', 'aborted']);
    }
    expect(begun).toEqual([]);
  });

  it('D-2: steering counts until a report is accepted', async () => {
    const told: [string, boolean][] = [];
    const { result } = await runOverWire({
      script: [searchCall, report()],
      definition: { tools: { search } },
      during: (event, session) => {
        if (event.type === 'tool.started') told.push(['before', session.steer('Be brief.')]);
        if (event.type === 'report.accepted') told.push(['after', session.steer('Too late.')]);
      },
    });
    expect(told).toEqual([
      ['before', true],
      ['after', false],
    ]);
    expect(JSON.stringify(result.conversation)).not.toContain('Too late.');
  });
});

describe('D-2e: steering is taken only while a request can carry it', () => {
  const empty = { text: '' };
  const searched = (count: number, reports: number) => ({
    toolCalls: {
      requested: count + reports,
      answered: count + reports,
      executed: count,
      succeeded: count,
      acknowledged: reports,
    },
    reports: { attempted: reports },
    costUsd: null,
  });
  const failed = (attempts: number, slugs: Counters['slugs']) => ({ attempts, failedAttempts: attempts, slugs });
  type Counted = Parameters<typeof counters>[0];

  it.each<[string, ServerScript, SessionEvent['type'], Partial<Limits>, boolean, number, Counted]>([
    [
      'a turn that others follow progressed',
      [searchCall, searchCall, report()],
      ...(['turn.progressed', {}, true, 1] as const),
      { turns: 3, attempts: 3, ...searched(2, 1), tokens: tokensOf(3) },
    ],
    [
      'an attempt failed, and another follows',
      [empty, empty, report()],
      ...(['attempt.failed', {}, true, 1] as const),
      {
        ...{ turns: 1, attempts: 3, failedAttempts: 2, notices: 2, slugs: { empty_response: 2 } },
        ...searched(0, 1),
        tokens: tokensOf(3),
      },
    ],
    [
      'a report was accepted',
      [report()],
      ...(['report.accepted', {}, false, 0] as const),
      { turns: 1, attempts: 1, ...searched(0, 1), tokens: tokensOf(1) },
    ],
    [
      'the last attempt of the turn failed',
      [empty],
      ...(['turn.exhausted', { maxRetries: 1 }, false, 0] as const),
      { turns: 1, ...failed(1, { empty_response: 2, retries_exhausted: 1 }), costUsd: null, tokens: tokensOf(1) },
    ],
    [
      'the session failed',
      [empty],
      ...(['session.failed', { maxRetries: 1 }, false, 0] as const),
      { turns: 1, ...failed(1, { empty_response: 2, retries_exhausted: 1 }), costUsd: null, tokens: tokensOf(1) },
    ],
    [
      'the session is aborted',
      [empty],
      ...(['session.aborting', {}, false, 0] as const),
      { turns: 1, attempts: 1, slugs: { aborted: 1 }, costUsd: 0 },
    ],
  ])('%s', async (_, script, at, limits, isTaken, carried, counted) => {
    const taken: boolean[] = [];
    const { result, requests } = await runOverWire({
      script,
      definition: { tools: { search }, limits },
      during: (event, session) => {
        if (at === 'session.aborting' && event.type === 'attempt.started') session.abort('enough');
        if (event.type === at && taken.length === 0) taken.push(session.steer('Look in the cellar.'));
      },
    });
    const holding = requests.filter(({ body }) => JSON.stringify(body).includes('cellar'));
    const kept = JSON.stringify(result.conversation).split('cellar').length - 1;
    expect([taken, holding.length, kept]).toEqual([[isTaken], carried, carried]);
    expect(result.counters).toEqual(counters(counted));
  });
});
