import { APICallError } from '@ai-sdk/provider';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  type Agent,
  type AgentDefinition,
  abortSession,
  approveSession,
  defineAgent,
  idempotent,
  type Journal,
  resumeSession,
  runSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
  steerSession,
  stopSession,
} from '../../src/index.ts';
import { assertInvariants, manualClock, type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { watchedClock } from '../support/clock.ts';
import { dyingJournal } from '../support/dying-journal.ts';
import { holding, inputSchema, marked, quiet, until } from '../support/journaled.ts';
import { counters, keptLog, report } from '../support/session.ts';

const call = (...names: string[]) => ({ calls: names.map((name) => ({ name, input: {} })) });

function agentOf(script: RehearsalScript, definition: Partial<AgentDefinition> = {}) {
  const model = rehearsalModel(script);
  return { model, agent: defineAgent({ name: 'resumed', models: [model], ...definition }) };
}

/** Lets a session die at its write number `at`. */
async function dead(agent: Agent, journal: Journal, at: number, when: 'before' | 'after' = 'after') {
  const dying = dyingJournal(journal, at, when);
  startSession(agent, { prompt: 'Go.', journal: dying.journal, sessionId: 's', logger: false });
  await dying.died;
}

const options = (journal: Journal) => ({ journal, sessionId: 's', logger: keptLog().logger });

describe('D-4: what had begun and not ended', () => {
  it('a request counts as a failed attempt, interrupted, and the next one goes out', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent, model } = agentOf([report()]);
    // The mark of prepare, its outcome, the mark of the request, the request as it goes out.
    await dead(agent, journal, 5);
    const { lines, logger } = keptLog();
    const session = await resumeSession(agent, { journal, sessionId: 's', logger });
    const result = await session.result;
    assertInvariants(result);
    expect(result.turns[0]?.attempts.map(({ status, slugs }) => [status, slugs])).toEqual([
      ['failed', ['interrupted']],
      ['finished', []],
    ]);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: result.counters.tokens,
        costUsd: null,
        slugs: { interrupted: 1 },
      }),
    );
    expect(model.requests).toHaveLength(1);
    expect(
      lines.map(({ level, event, slugs }) => [level, event, slugs]).filter(([level]) => Number(level) > 30),
    ).toEqual([[40, 'attempt.failed', ['interrupted']]]);
  });

  it('a tool call is answered interrupted; an idempotent tool runs again with the same key', async () => {
    const journal = sqliteJournal(':memory:');
    const keys: string[] = [];
    const hangs: { now: boolean } = { now: true };
    const execute = (_: unknown, context: object) => {
      keys.push(
        Object.entries(context)
          .flatMap(([name, value]) => (name === 'idempotencyKey' ? [String(value)] : []))
          .join(),
      );
      return hangs.now ? new Promise<string>(() => {}) : 'done';
    };
    const tools = { once: tool({ inputSchema, execute }), again: idempotent(tool({ inputSchema, execute })) };
    const { agent } = agentOf([call('once', 'again'), report()], { tools });
    const session = startSession(agent, { ...options(journal), prompt: 'Go.' });
    await until(() => keys.length === 2);
    await session.suspend({ graceMs: 0 });
    hangs.now = false;
    const resumed = await resumeSession(agent, options(journal));
    const result = await resumed.result;
    assertInvariants(result);
    const calls = result.turns[0]?.attempts[0]?.calls ?? [];
    expect(calls.map(({ name, slug, executed, output }) => [name, slug, executed, output.type])).toEqual([
      ['once', 'interrupted', true, 'error-text'],
      ['again', null, true, 'text'],
    ]);
    expect(JSON.stringify(calls[0]?.output)).toContain('interrupted, outcome unknown');
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 1, failed: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: result.counters.tokens,
        costUsd: null,
      }),
    );
    const [first, second] = ['s/turn-1/attempt-1/tool-0', 's/turn-1/attempt-1/tool-1'];
    expect(keys).toEqual([first, second, second]);
  });
});

describe('D-3: suspend and resume', () => {
  it('suspend waits for what runs, and another process resumes at once, with the next position', async () => {
    const journal = sqliteJournal(':memory:');
    let finish: (() => void) | null = null;
    const work = tool({
      inputSchema,
      execute: () => new Promise<string>((resolve) => (finish = () => resolve('worked'))),
    });
    const { agent, model } = agentOf([call('work'), report()], { tools: { work } });
    const { lines, logger } = keptLog();
    const before: SessionEvent[] = [];
    const onEvent = (event: SessionEvent) => void before.push(event);
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger, onEvent });
    await until(() => finish !== null);
    const suspending = session.suspend();
    (finish as (() => void) | null)?.();
    await suspending;
    const suspended = await session.result;
    expect(suspended).toMatchObject({
      status: 'suspended',
      success: false,
      slugs: ['suspended'],
      report: { accepted: false },
      // The second request was written down, and is still to be sent.
      counters: { requests: 2, attempts: 2, toolCalls: { requested: 1, executed: 1, answered: 1 } },
    });
    expect(String(suspended.report.content)).toContain('Resume it from its journal.');
    expect(lines.filter(({ level }) => level >= 30).map(({ level, event }) => [level, event])).toEqual([
      [30, 'session.suspended'],
    ]);
    expect(await journal.list({})).toMatchObject([{ sessionId: 's', status: 'suspended', slugs: [] }]);
    expect(session.steer('Too late.')).toBe(false);
    const after: SessionEvent[] = [];
    const resumed = await resumeSession(agent, { ...options(journal), onEvent: (event) => void after.push(event) });
    const result = await resumed.result;
    assertInvariants(result);
    expect(result.success).toBe(true);
    expect(result.counters).toMatchObject({ requests: 2, attempts: 2, failedAttempts: 0 });
    expect(model.requests).toHaveLength(2);
    expect(after[0]).toMatchObject({ type: 'session.resumed', interrupted: [], seq: (before.at(-1)?.seq ?? 0) + 1 });
    const all: SessionEvent[] = [];
    for await (const event of resumed.eventsFrom(1)) all.push(event);
    const facts = (events: SessionEvent[]) => events.filter(({ type }) => type !== 'model.delta');
    expect(facts(all)).toEqual(facts([...before, ...after]));
  });

  it('a session without a journal cannot be suspended', async () => {
    const session = startSession(agentOf([report()]).agent, { prompt: 'Go.', logger: false });
    await expect(session.suspend()).rejects.toMatchObject({ code: 'invalid_options' });
    expect((await session.result).success).toBe(true);
  });

  it('a session that had ended gives its result at once, and asks no model', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent, model } = agentOf([report('Fine.')]);
    const first = await runSession(agent, { ...options(journal), prompt: 'Go.' });
    const again = await (await resumeSession(agent, options(journal))).result;
    expect(again).toEqual(first);
    expect(model.requests).toHaveLength(1);
    expect(await journal.list({})).toMatchObject([{ status: 'succeeded', slugs: [] }]);
    const failing = agentOf([{ throws: new Error('no') }], { limits: { maxTurns: 1, maxRetries: 1 } }).agent;
    const failed = await runSession(failing, { journal, sessionId: 'f', logger: false, prompt: 'Go.' });
    const { lines, logger } = keptLog();
    expect(await (await resumeSession(failing, { journal, sessionId: 'f', logger })).result).toEqual(failed);
    expect(lines).toEqual([]);
    expect(await journal.list({ status: 'failed' })).toMatchObject([{ sessionId: 'f', slugs: failed.slugs }]);
  });

  it('approvals are asked again, and may be given from any process, through the journal', async () => {
    const journal = sqliteJournal(':memory:');
    const charged: string[] = [];
    const charge = tool({ inputSchema, needsApproval: true, execute: () => void charged.push('charged') });
    const { agent } = agentOf([call('charge'), report()], { tools: { charge } });
    const session = startSession(agent, { ...options(journal), prompt: 'Go.' });
    await until(() => session.counters.toolCalls.requested === 1);
    await session.suspend();
    const [{ waiting = [] } = {}] = await journal.list({});
    expect(waiting).toHaveLength(1);
    const asked: SessionEvent[] = [];
    const resumed = await resumeSession(agent, { ...options(journal), onEvent: (event) => void asked.push(event) });
    expect(asked.map(({ type }) => type)).toEqual(['session.resumed', 'tool.approvalRequested']);
    await resumed.suspend();
    expect(await approveSession(journal, 's', 'no-such-call', { approved: true })).toBe(false);
    expect(await approveSession(journal, 's', waiting[0] ?? '', { approved: true })).toBe(true);
    const result = await (await resumeSession(agent, options(journal))).result;
    assertInvariants(result);
    expect(result.success).toBe(true);
    expect(charged).toEqual(['charged']);
    expect(await approveSession(journal, 's', waiting[0] ?? '', { approved: true })).toBe(false);
  });

  it('D-2: steering, stop and abort reach a session from any process', async () => {
    const journal = sqliteJournal(':memory:');
    const started = async (sessionId: string) => {
      const { held, agent } = holding();
      const session = startSession(agent, { ...quiet(journal), sessionId, prompt: 'Go.' });
      await until(() => held.runs === 1);
      return { held, session };
    };
    const { session: aborting } = await started('a');
    expect(await abortSession(journal, 'a', new Error('enough'))).toBe(true);
    expect(await aborting.result).toMatchObject({ status: 'aborted', failure: { detail: 'enough' } });
    expect(await abortSession(journal, 'a')).toBe(false);
    const { held, session: stopping } = await started('b');
    expect(await stopSession(journal, 'b')).toBe(true);
    while ((await journal.inbox('b')).length > 0) await new Promise(setImmediate);
    held.finish('done');
    const stopped = await stopping.result;
    expect([stopped.success, stopped.turns.map(({ isLastTurn }) => isLastTurn)]).toEqual([true, [false, true]]);
    expect(await stopSession(journal, 'b')).toBe(false);
    const { agent, model } = agentOf([call('wait'), report()], {
      tools: { wait: tool({ inputSchema, execute: () => 'ok' }) },
    });
    await dead(agent, journal, 3);
    expect(await steerSession(journal, 's', 'Be quick.')).toBe(true);
    const result = await (await resumeSession(agent, options(journal))).result;
    expect(result.success).toBe(true);
    expect(JSON.stringify(model.requests.at(-1)?.prompt)).toContain('Be quick.');
    await expect(steerSession(journal, 'nobody', 'Hello.')).resolves.toBe(false);
  });

  it('B-4: wall-clock time counts through the downtime', async () => {
    const journal = sqliteJournal(':memory:');
    const clock = manualClock();
    const { agent, model } = agentOf([report()]);
    const dying = dyingJournal(journal, 3, 'before');
    startSession(agent, { ...quiet(dying.journal), prompt: 'Go.', clock, budget: { wallClockMs: 60_000 } });
    await dying.died;
    clock.advance(61_000);
    const result = await (await resumeSession(agent, { ...quiet(journal), clock })).result;
    assertInvariants(result);
    expect(result.turns.map(({ isLastTurn }) => isLastTurn)).toEqual([true]);
    expect(model.requests).toHaveLength(1);
  });

  it('a wait ends when it was due, however long the process was away', async () => {
    const limit = new APICallError({
      message: 'slow',
      url: 'http://127.0.0.1',
      requestBodyValues: {},
      statusCode: 429,
      responseHeaders: { 'retry-after': '60' },
    });
    for (const [away, left] of [
      [20_000, 40_000],
      [90_000, -30_000],
    ] as const) {
      const journal = sqliteJournal(':memory:');
      const clock = manualClock({ hold: true });
      const { agent } = agentOf([{ throws: limit }, report()]);
      const session = startSession(agent, { ...quiet(journal), prompt: 'Go.', clock });
      await until(() => clock.waits.length === 1);
      expect(clock.waits).toEqual([60_000]);
      await session.suspend();
      clock.advance(away);
      const resumed = await resumeSession(agent, { ...quiet(journal), clock });
      await until(() => clock.waits.length === 2);
      expect(clock.waits[1]).toBe(left);
      clock.advance(Math.max(0, left));
      expect((await resumed.result).counters).toMatchObject({ requests: 2, failedAttempts: 1, waits: 1 });
    }
  });

  it('an approval times out when it would have, however long the process was away', async () => {
    const journal = sqliteJournal(':memory:');
    const clock = manualClock();
    const charge = tool({ inputSchema, needsApproval: true, execute: () => 'charged' });
    const limits = { approvalTimeoutMs: 60_000 };
    const { agent } = agentOf([call('charge'), report()], { tools: { charge }, limits });
    const session = startSession(agent, { ...quiet(journal), prompt: 'Go.', clock });
    await marked(journal, session.sessionId, 'approval-0');
    await session.suspend();
    clock.advance(50_000);
    const watched = watchedClock(clock, limits.approvalTimeoutMs);
    const resumed = await resumeSession(agent, { ...quiet(journal), clock: watched.clock });
    expect(await watched.armed).toBe(10_000);
    expect(resumed.counters.toolCalls.answered).toBe(0);
    clock.advance(10_000);
    const result = await resumed.result;
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ slug: 'approval_timeout', executed: false });
  });
});
