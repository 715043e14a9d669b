import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  answerSession,
  approveSession,
  defineAgent,
  type Journal,
  resumeSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { counters, report } from '../support/session.ts';

const logger = false as const;
const inputSchema = z.object({});
const script = [{ calls: [{ name: 'ask', input: {} }] }, report()] satisfies RehearsalScript;
const started = (ask: object, onEvent: (event: SessionEvent, journal: Journal) => void = () => {}) => {
  const journal = sqliteJournal(':memory:');
  const model = rehearsalModel(script);
  const agent = defineAgent({ name: 'asking', models: [model], tools: { ask: ask as never } });
  return {
    journal,
    session: startSession(agent, {
      prompt: 'Go.',
      journal,
      sessionId: 's',
      logger,
      onEvent: (event) => onEvent(event, journal),
    }),
  };
};

describe('D-2: a decision of a listener that reacts at once', () => {
  it('is taken, although the session has not written down yet that the call waits', async () => {
    const said: Promise<boolean>[] = [];
    const ask = tool({ inputSchema, needsApproval: true, execute: () => 1 });
    const { journal, session } = started(ask, (event, kept) => {
      if (event.type === 'tool.approvalRequested')
        said.push(approveSession(kept, 's', event.callId, { approved: true }));
    });
    const result = await session.result;
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 2, executed: 1, succeeded: 1, acknowledged: 1, answered: 2 },
      }),
    );
    expect(await Promise.all(said)).toEqual([true]);
    await journal.close();
  });

  it('is taken for a call of a client-side tool, too', async () => {
    const said: Promise<boolean>[] = [];
    const { journal, session } = started(tool({ inputSchema }), (event, kept) => {
      if (event.type === 'tool.handedOut') said.push(answerSession(kept, 's', event.callId, 7));
    });
    expect((await session.result).status).toBe('succeeded');
    expect(await Promise.all(said)).toEqual([true]);
    await journal.close();
  });

  it('is dropped for a call that does not wait, or a session that does not run', async () => {
    const { journal, session } = started(tool({ inputSchema, needsApproval: true, execute: () => 1 }));
    for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
    expect(await approveSession(journal, 's', 'other', { approved: true })).toBe(false);
    await session.suspend();
    expect(await approveSession(journal, 's', 'other', { approved: true })).toBe(false);
    expect(await approveSession(journal, 'none', 'other', { approved: true })).toBe(false);
    await journal.close();
  });

  it('D-2f: is taken once, and only as what the call waits for', async () => {
    const charged: string[] = [];
    const ask = tool({ inputSchema, needsApproval: true, execute: () => void charged.push('charged') });
    const { journal, session } = started(ask);
    for await (const event of session.events) if (event.type === 'tool.approvalRequested') break;
    await session.suspend();
    const [{ waiting = [], waitingCalls = [] } = {}] = await journal.list({});
    const [callId = ''] = waiting;
    expect(waitingCalls).toEqual([{ sessionId: 's', callId, awaits: 'approval' }]);
    expect(await answerSession(journal, 's', callId, 'charged')).toBe(false);
    expect(await approveSession(journal, 's', callId, { approved: false, reason: 'Not today.' })).toBe(true);
    expect(await approveSession(journal, 's', callId, { approved: true })).toBe(false);
    expect(await journal.list({})).toMatchObject([{ waiting: [], waitingCalls: [] }]);
    const agent = defineAgent({ name: 'asking', models: [rehearsalModel([report()])], tools: { ask: ask as never } });
    const result = await (await resumeSession(agent, { journal, sessionId: 's', logger })).result;
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 2, rejected: { tool_denied: 1 }, acknowledged: 1, answered: 2 },
      }),
    );
    expect(charged).toEqual([]);
    expect(await approveSession(journal, 's', callId, { approved: true })).toBe(false);
    await journal.close();
  });
});
