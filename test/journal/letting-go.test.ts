import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import {
  PawlError,
  readSession,
  resumeSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { journalWith } from '../support/dying-journal.ts';
import { freshFile, holding, inputSchema, quiet, until, workingAgent } from '../support/journaled.ts';
import { keptLog } from '../support/session.ts';

describe('D-5: who lets go of a session says so once', () => {
  it('a process that stalled does not get its lease back from one that went on and let go', async () => {
    const file = freshFile();
    const [one, other] = [sqliteJournal(file, { leaseMs: 100 }), sqliteJournal(file)];
    const { held, agent } = holding();
    const renewed = { may: false };
    const stalled = journalWith(one, {
      renew: async (sessionId, owner) => {
        while (!renewed.may) await new Promise(setImmediate);
        return one.renew(sessionId, owner);
      },
    });
    const session = startSession(agent, { ...quiet(stalled), prompt: 'Go.' });
    await until(() => held.runs === 1);
    const taken = async () => {
      for (;;) {
        const resumed = await resumeSession(agent, quiet(other)).catch(() => null);
        if (resumed !== null) return resumed;
      }
    };
    await (await taken()).suspend({ graceMs: 0 });
    renewed.may = true;
    expect(await session.result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect((await other.list({}))[0]?.status).toBe('suspended');
    await Promise.all([one.close(), other.close()]);
  });

  it('when only the end cannot be written, the session ended all the same, with its one line', async () => {
    for (const limits of [{}, { maxTurns: 1, maxRetries: 1 }]) {
      const journal = sqliteJournal(':memory:');
      const failing = journalWith(journal, {
        append: (sessionId, append) =>
          append.change?.status === undefined
            ? journal.append(sessionId, append)
            : Promise.reject(new PawlError('journal_failed', 'The disk is full.')),
      });
      const { lines, logger } = keptLog();
      const seen: SessionEvent[] = [];
      const { agent } = workingAgent({ limits });
      const session = startSession(agent, {
        journal: failing,
        sessionId: 's',
        logger,
        prompt: 'Go.',
        onEvent: (event) => void seen.push(event),
      });
      const result = await session.result;
      expect(lines.filter(({ level }) => level >= 50)).toHaveLength(result.success ? 0 : 1);
      expect(seen.at(-1)).toMatchObject({ type: 'observer.failed', observer: 'journal' });
      expect(seen.map(({ type }) => type)).not.toContain('session.suspended');
    }
  });

  it('suspend twice is one suspension; what it accepted meanwhile is delivered, and later nothing is accepted', async () => {
    const { held, agent } = holding();
    const journal = sqliteJournal(':memory:');
    const { lines, logger } = keptLog();
    const session = startSession(agent, { journal, sessionId: 's', logger, prompt: 'Go.' });
    await until(() => held.runs === 1);
    const suspending = [session.suspend(), session.suspend({ graceMs: 1 })];
    expect(session.steer('Be quick.')).toBe(true);
    held.finish('done');
    await Promise.all(suspending);
    expect(session.steer('Too late.')).toBe(false);
    expect(lines.filter(({ event }) => event === 'session.suspended')).toHaveLength(1);
    const result = await (await resumeSession(agent, quiet(journal))).result;
    expect(JSON.stringify(result.conversation)).toContain('Be quick.');
    expect(JSON.stringify(result.conversation)).not.toContain('Too late.');
  });

  it('suspend of a session that is ending waits until its end is durable', async () => {
    const journal = sqliteJournal(':memory:');
    const slow = journalWith(journal, {
      append: async (sessionId, append) => {
        for (let tick = 0; tick < 30; tick += 1) await new Promise(setImmediate);
        return journal.append(sessionId, append);
      },
    });
    const { agent } = workingAgent();
    const held: { ended: boolean } = { ended: false };
    const onEvent = ({ type }: SessionEvent) => {
      held.ended ||= type === 'session.succeeded';
    };
    const session = startSession(agent, { ...quiet(slow), prompt: 'Go.', onEvent });
    await until(() => held.ended);
    await session.suspend();
    expect(await journal.list({})).toMatchObject([{ status: 'succeeded' }]);
    expect((await session.result).success).toBe(true);
  });

  it('a first write whose answer was lost: the session can be resumed, so it did not fail', async () => {
    const journal = sqliteJournal(':memory:');
    const losing = journalWith(journal, {
      create: async (session, append) => {
        await journal.create(session, append);
        throw new PawlError('journal_failed', 'The connection was reset.');
      },
    });
    const { agent, worked } = workingAgent();
    const result = await startSession(agent, { ...quiet(losing), prompt: 'Go.' }).result;
    expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'], counters: { requests: 0 } });
    expect((await (await resumeSession(agent, quiet(journal))).result).success).toBe(true);
    expect(worked).toEqual(['worked']);
  });

  it('preliminary output takes no more room than the last of it', async () => {
    const journal = sqliteJournal(':memory:');
    const grow = tool({
      inputSchema,
      async *execute() {
        for (let size = 10; size <= 20_000; size += 10) yield 'x'.repeat(size);
      },
    });
    const { agent } = workingAgent({ tools: { work: grow } });
    expect((await startSession(agent, { ...quiet(journal), prompt: 'Go.' }).result).success).toBe(true);
    const entries = await journal.read('s');
    expect(JSON.stringify(entries).length).toBeLessThan(500_000);
    const { events } = await readSession(journal, 's');
    expect(events.filter(({ type }) => type === 'tool.progressed').length).toBeGreaterThan(0);
  });

  it('S-5: a recorded session shows no secret that the reader names', async () => {
    const journal = sqliteJournal(':memory:');
    const tell = tool({ inputSchema, execute: () => 'the key is sesame-42' });
    const { agent } = workingAgent({ tools: { work: tell } });
    await startSession(agent, { ...quiet(journal), prompt: 'Go.' }).result;
    const shown = JSON.stringify((await readSession(journal, 's', { secrets: ['sesame-42'] })).events);
    expect(shown).toContain('the key is [redacted]');
    expect(shown).not.toContain('sesame-42');
  });
});
