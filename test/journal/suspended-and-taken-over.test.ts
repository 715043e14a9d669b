import { tool } from 'ai';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  listSessions,
  pruneSessions,
  readSession,
  resumeSession,
  sqliteJournal,
  startSession,
  steerSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { odd } from '../support/mcp.ts';
import { counters, report, tokensOf } from '../support/session.ts';

const logger = false as const;
const until = async (isSo: () => boolean) => {
  while (!isSo()) await new Promise(setImmediate);
};

describe('D-3: suspend', () => {
  it('starts no further sub-agent: the call runs when the session is resumed', async () => {
    const told: string[] = [];
    const paid = tool({ inputSchema: z.object({}), execute: () => void told.push('paid') });
    const child = defineAgent({
      ...{ name: 'child', tools: { paid } },
      models: [rehearsalModel(({ index }) => (index === 0 ? { calls: [{ name: 'paid' }] } : report('Paid.')))],
    });
    let suspended: Promise<void> | null = null;
    const slow = () => {
      suspended ??= session.suspend();
      return new Promise((resolve) => setTimeout(resolve, 50, 'slept'));
    };
    const both = { calls: [{ name: 'slow' }, { name: 'child', input: { prompt: 'Pay.', reason: 'It is due.' } }] };
    const agent = defineAgent({
      name: 'root',
      agents: { child },
      models: [rehearsalModel([both, report()])],
      tools: { slow },
    });
    const journal = sqliteJournal(':memory:');
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger });
    expect((await session.result).status).toBe('suspended');
    await suspended;
    expect(told).toEqual([]);
    const resumed = await resumeSession(agent, { journal, sessionId: 's', logger });
    const result = await resumed.result;
    assertInvariants(result);
    expect([result.success, told]).toEqual([true, ['paid']]);
    expect(result.counters.toolCalls).toMatchObject({ requested: 3, executed: 2, succeeded: 2, answered: 3 });
    await journal.close();
  });

  it('a second one may be shorter', async () => {
    const journal = sqliteJournal(':memory:');
    const began = Promise.withResolvers<void>();
    const slow = () => {
      began.resolve();
      return new Promise(() => {});
    };
    const models = [rehearsalModel([{ calls: [{ name: 'slow' }] }])];
    const agent = defineAgent({ name: 'a', models, tools: { slow } });
    const session = startSession(agent, { prompt: 'Go.', journal, logger });
    await began.promise;
    const first = session.suspend({ graceMs: 600_000 });
    await session.suspend({ graceMs: 0 });
    await first;
    expect((await session.result).status).toBe('suspended');
    await journal.close();
  });
});

describe('D-3: one owner, and messages', () => {
  it('a lease is renewed while the clock of the machine is set back', async () => {
    const journal = new MemoryJournal({ leaseMs: 40 });
    let renewals = 0;
    const renew = journal.renew.bind(journal);
    journal.renew = (...given) => {
      renewals += 1;
      return renew(...given);
    };
    const agent = defineAgent({ name: 'a', models: [rehearsalModel([{ hangs: true }])] });
    const session = startSession(agent, { prompt: 'Go.', journal, logger });
    await until(() => session.counters.requests === 1);
    const { now } = Date;
    vi.spyOn(Date, 'now').mockImplementation(() => now() - 3_600_000);
    onTestFinished(() => void vi.restoreAllMocks());
    const before = renewals;
    await expect.poll(() => renewals).toBeGreaterThan(before + 2);
    session.abort();
    expect((await session.result).status).toBe('aborted');
  });

  it('D-2: a message is taken in once, though an earlier reading of the inbox still holds it', async () => {
    const journal = new MemoryJournal({ leaseMs: 40 });
    const inbox = journal.inbox.bind(journal);
    const late: (() => void)[] = [];
    let holds = false;
    journal.inbox = async (id) => {
      const messages = await inbox(id);
      if (holds && messages.length > 0) await new Promise<void>((resolve) => late.push(resolve));
      return messages;
    };
    const held = Promise.withResolvers<void>();
    const slow = () => held.promise.then(() => 'done');
    const model = rehearsalModel([{ calls: [{ name: 'slow' }] }, report()]);
    const agent = defineAgent({ name: 'a', models: [model], tools: { slow } });
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger });
    await until(() => session.counters.toolCalls.requested === 1);
    holds = true;
    await steerSession(journal, 's', 'Be brief.');
    await expect.poll(() => late.length).toBe(1);
    const [stale] = late;
    // The same message comes in by a reading that was made meanwhile.
    const readings = await inbox('s');
    expect(readings).toHaveLength(1);
    holds = false;
    stale?.();
    await expect.poll(() => inbox('s')).toEqual([]);
    let read = 0;
    journal.inbox = async (id) => {
      read += 1;
      return [...readings, ...(await inbox(id))];
    };
    await expect.poll(() => read).toBeGreaterThan(2);
    held.resolve();
    const result = await session.result;
    const said = JSON.stringify(result.conversation).split('Be brief.').length - 1;
    expect([result.success, said]).toEqual([true, 1]);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 2, attempts: 2, tokens: tokensOf(2), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 2, executed: 1, succeeded: 1, acknowledged: 1, answered: 2 },
      }),
    );
  });
});

describe('D-6: what a resumed session needs', () => {
  /** Suspends a session of one agent, and resumes it with another. */
  async function resumedAs(
    first: Parameters<typeof defineAgent>[0],
    second: Parameters<typeof defineAgent>[0],
    options: object = {},
    more: object = {},
  ) {
    const journal = sqliteJournal(':memory:');
    onTestFinished(() => journal.close());
    const session = startSession(defineAgent(first), { prompt: 'Go.', journal, sessionId: 's', logger, ...options });
    await until(() => session.counters.requests === 1);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    await session.suspend({ graceMs: 0 });
    return resumeSession(defineAgent(second), { journal, sessionId: 's', logger, ...more });
  }
  const hanging = () => rehearsalModel([{ hangs: true }]);

  it('B-6: the prices of its models, if its budget is in US dollars', async () => {
    const pricing = { 'rehearsal:script': { input: 1, output: 1 } };
    const resumed = resumedAs(
      { name: 'a', models: [hanging()], pricing },
      { name: 'a', models: [hanging()] },
      { budget: { costUsd: 1 } },
    );
    await expect(resumed).rejects.toMatchObject({ code: 'agent_changed' });
    await expect(resumed).rejects.toThrow('the price of rehearsal:script is missing');
  });

  it('its sub-agents, also where a tool has the name of one', async () => {
    const child = defineAgent({ name: 'child', models: [hanging()] });
    const calls = [{ name: 'child', input: { prompt: 'Help.', reason: 'It is much.' } }];
    const models = [rehearsalModel([{ calls }])];
    const resumed = resumedAs(
      { name: 'a', models, agents: { child } },
      { name: 'a', models, tools: { child: () => 1 } },
    );
    await expect(resumed).rejects.toMatchObject({ code: 'agent_changed' });
    await expect(resumed).rejects.toThrow('the sub-agent child is missing');
  });

  it('a sub-agent that is running, and ends otherwise now', async () => {
    const child = (finish: 'report' | 'text') => defineAgent({ name: 'child', models: [hanging()], finish });
    const calls = [{ name: 'child', input: { prompt: 'Help.', reason: 'It is much.' } }];
    const parent = (finish: 'report' | 'text') => ({
      name: 'a',
      models: [rehearsalModel([{ calls }])],
      agents: { child: child(finish) },
    });
    const resumed = resumedAs(parent('report'), parent('text'));
    await expect(resumed).rejects.toMatchObject({ code: 'agent_changed' });
    await expect(resumed).rejects.toThrow('finish: was "report", is "text"');
  });

  it('nothing, if it is aborted before it continues', async () => {
    const agent = { name: 'a', models: [hanging()], mcpServers: { odd: odd() } };
    const resumed = await resumedAs(agent, agent, {}, { signal: AbortSignal.abort(new Error('the user left')) });
    const result = await resumed.result;
    expect(result).toMatchObject({ status: 'aborted', slugs: ['aborted'], failure: { detail: 'the user left' } });
    expect(result.counters.requests).toBe(1);
  });
});

describe('D-3: rows of a journal', () => {
  it('what has ended is pruned, though the process that ran it did not give its lease back', async () => {
    const journal = sqliteJournal(':memory:');
    const agent = defineAgent({ name: 'a', models: [rehearsalModel(() => report())] });
    const release = journal.release.bind(journal);
    for (const sessionId of ['one', 'two', 'three']) {
      journal.release = sessionId === 'two' ? () => Promise.resolve() : release;
      await startSession(agent, { prompt: 'Go.', journal, sessionId, logger }).result;
    }
    expect((await pruneSessions(journal, { before: Date.now() + 1_000 })).toSorted()).toEqual(['one', 'three', 'two']);
    expect(await listSessions(journal)).toEqual([]);
    await journal.close();
  });

  it('an id may begin with any sign but NUL', async () => {
    const journal = sqliteJournal(':memory:');
    const agent = defineAgent({ name: 'a', models: [rehearsalModel(() => report())] });
    const sessionId = '\u{10FFFF}last';
    await startSession(agent, { prompt: 'Go.', journal, sessionId, logger }).result;
    expect((await listSessions(journal, { idPrefix: '\u{10FFFF}' })).map((row) => row.sessionId)).toEqual([sessionId]);
    expect((await readSession(journal, sessionId)).status).toBe('succeeded');
    expect(await listSessions(journal, { since: Date.now() - 60_000.5 })).toHaveLength(1);
    expect(() => startSession(agent, { prompt: 'Go.', journal, sessionId: 'a\0b', logger })).toThrow('has no NUL');
    await journal.close();
  });
});
