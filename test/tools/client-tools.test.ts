import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  answerSession,
  approveSession,
  defineAgent,
  listSessions,
  resumeSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants, manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { report } from '../support/session.ts';

const logger = false as const;
const where = tool({ description: 'Where the user is.', inputSchema: z.object({ exact: z.boolean() }) });
const ask = { calls: [{ name: 'where', input: { exact: true } }] };

const asking = (over = {}) => {
  const model = rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : ask));
  return { model, agent: defineAgent({ name: 'asking', models: [model], tools: { where }, ...over }) };
};

/** Resolves with the call that is handed out. */
async function handedOut(session: ReturnType<typeof startSession>) {
  for await (const event of session.events) if (event.type === 'tool.handedOut') return event;
  throw new Error('no call was handed out');
}

describe('C-1: tools without `execute`, which are answered from outside', () => {
  it('the call is handed out, and its answer is the result', async () => {
    const { agent, model } = asking();
    const session = startSession(agent, { prompt: 'Go.', logger });
    const event = await handedOut(session);
    expect(event).toMatchObject({ callId: 'call-1-0', name: 'where', input: { exact: true }, path: [] });
    expect(session.answer('call-9-9', 1)).toBe(false);
    expect(session.approve('call-1-0', { approved: true })).toBe(false);
    expect(session.answer('call-1-0', { city: 'Bonn' })).toBe(true);
    expect(session.answer('call-1-0', { city: 'Rome' })).toBe(false);
    const result = await session.result;
    assertInvariants(result);
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({
      executed: true,
      slug: null,
      result: { success: true, value: { city: 'Bonn' } },
    });
    expect(JSON.stringify(model.requests[1]?.prompt.at(-1))).toContain('Bonn');
    expect(result.counters).toMatchObject({
      turns: 2,
      requests: 2,
      toolCalls: { requested: 2, executed: 1, failed: 0 },
    });
  });

  it.each([
    ['a stop', {}, 'stopped'],
    ['the deadline', { budget: { wallClockMs: 60_000 } }, 'budget_exhausted'],
  ] as const)('T-2: %s ends the wait, and the next request asks for the report', async (what, options, slug) => {
    const { agent, model } = asking({ limits: { clientToolTimeoutMs: null, maxRetries: 1 } });
    const clock = manualClock();
    const session = startSession(agent, { prompt: 'Go.', logger, clock, ...options });
    await handedOut(session);
    if (what === 'a stop') session.stop();
    else clock.advance(60_000);
    const result = await session.result;
    assertInvariants(result);
    expect(result.status).toBe('succeeded');
    expect(session.answer('call-1-0', { city: 'Bonn' })).toBe(false);
    expect(result.counters).toMatchObject({ turns: 2, requests: 2, collapses: 1, failedAttempts: 0 });
    expect(result.counters.toolCalls).toMatchObject({
      requested: 2,
      answered: 2,
      executed: 0,
      rejected: { [slug]: 1 },
    });
    expect(JSON.stringify(model.requests[1]?.notice)).toContain('last turn');
  });

  it('an answer may be a failure; one that is no JSON is refused', async () => {
    const { agent } = asking();
    const session = startSession(agent, { prompt: 'Go.', logger });
    await handedOut(session);
    expect(() => session.answer('call-1-0', { big: 1n })).toThrow('`output` must be JSON');
    expect(() => session.answer('call-1-0', 1, { failed: true } as never)).toThrow('Unknown option `options.failed`.');
    expect(session.answer('call-1-0', 'Location is off.', { isError: true })).toBe(true);
    const result = await session.result;
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({
      executed: true,
      slug: 'tool_exec_failed',
      result: { success: false, message: 'Location is off.' },
    });
  });

  it('unanswered, it times out; an abort ends the wait; it takes no slot of other tools', async () => {
    const clock = manualClock();
    const { agent } = asking({ limits: { clientToolTimeoutMs: 5_000, maxConcurrentTools: 1 } });
    const session = startSession(agent, { prompt: 'Go.', logger, clock });
    await handedOut(session);
    clock.advance(5_000);
    const result = await session.result;
    expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({
      slug: 'tool_timeout',
      result: { message: 'where was not answered within 5000 ms.' },
    });
    const model = rehearsalModel([{ calls: [...ask.calls, { name: 'quick', input: {} }] }, report()]);
    const quick = tool({ inputSchema: z.object({}), execute: () => 'quick' });
    const both = defineAgent({
      name: 'both',
      models: [model],
      tools: { where, quick },
      limits: { maxConcurrentTools: 1 },
    });
    const aborted = startSession(both, { prompt: 'Go.', logger });
    for await (const event of aborted.events) if (event.type === 'tool.answered' && event.name === 'quick') break;
    aborted.abort();
    expect((await aborted.result).status).toBe('aborted');
    expect(aborted.answer('call-1-0', 1)).toBe(false);
  });

  it('B-7: a call of a sub-agent is answered through the session above', async () => {
    const { agent: child } = asking();
    const model = rehearsalModel([
      { calls: [{ name: 'child', input: { prompt: 'Ask.', reason: 'It can.' } }] },
      report(),
    ]);
    const agent = defineAgent({ name: 'above', models: [model], agents: { child } });
    const session = startSession(agent, { prompt: 'Go.', logger });
    const { sessionId, callId } = await handedOut(session);
    expect(session.answer(callId, 'Bonn', { sessionId: 'another' })).toBe(false);
    expect(session.answer(callId, 'Bonn', { sessionId })).toBe(true);
    expect((await session.result).success).toBe(true);
  });

  it('D-3, D-4: an answer from another process waits in the journal, and a resumed session hands the call out again', async () => {
    const journal = sqliteJournal(freshFile());
    const { agent } = asking();
    const session = startSession(agent, { prompt: 'Go.', journal, logger });
    await handedOut(session);
    const { sessionId } = session;
    await session.suspend();
    expect((await listSessions(journal, { sessionId }))[0]).toMatchObject({
      status: 'suspended',
      waiting: ['call-1-0'],
      waitingCalls: [{ sessionId, callId: 'call-1-0', awaits: 'answer' }],
    });
    expect(await approveSession(journal, sessionId, 'call-1-0', { approved: true })).toBe(false);
    const again = await resumeSession(agent, { journal, sessionId, logger });
    await handedOut(again);
    expect(await answerSession(journal, sessionId, 'call-9-9', 1)).toBe(false);
    expect(await answerSession(journal, sessionId, 'call-1-0', { city: 'Bonn' })).toBe(true);
    const result = await again.result;
    assertInvariants(result);
    expect(result.turns[0]?.attempts[0]?.calls[0]?.result.value).toEqual({ city: 'Bonn' });
    expect(result.counters).toMatchObject({ turns: 2, requests: 2, toolCalls: { requested: 2, executed: 1 } });
    await journal.close();
  });
});
