import { DatabaseSync } from 'node:sqlite';
import { tool } from 'ai';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  type Journal,
  PawlError,
  resumeSession,
  runSession,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { assertInvariants } from '../../src/testing/index.ts';
import { dyingJournal, journalWith } from '../support/dying-journal.ts';
import { freshFile, holding, inputSchema, quiet, until, workingAgent } from '../support/journaled.ts';
import { keptLog } from '../support/session.ts';

/** A journal that fails from its write number `at`. */
function failingJournal(journal: Journal, at: number, reason = 'The disk is full.'): Journal {
  let writes = 0;
  const write = <T>(act: () => Promise<T>): Promise<T> => {
    writes += 1;
    return writes < at ? act() : Promise.reject(new PawlError('journal_failed', reason));
  };
  return journalWith(journal, {
    create: (session, append) => write(() => journal.create(session, append)),
    append: (sessionId, append) => write(() => journal.append(sessionId, append)),
  });
}

describe('D-5: a journal that fails never reaches a machine', () => {
  it('before anything ran, the session fails with journal_failed, one ERROR line and no request', async () => {
    const { agent, model } = workingAgent();
    const { lines, logger } = keptLog();
    const journal = failingJournal(sqliteJournal(':memory:'), 1);
    const result = await runSession(agent, { prompt: 'Go.', journal, logger });
    assertInvariants(result);
    expect(result).toMatchObject({
      status: 'failed',
      slugs: ['journal_failed'],
      counters: { requests: 0, attempts: 0, turns: 0, toolCalls: { requested: 0, answered: 0 } },
    });
    expect(lines.map(({ level, event, detail }) => [level, event, detail])).toEqual([
      [50, 'session.failed', 'The disk is full.'],
    ]);
    expect(model.requests).toEqual([]);
  });

  it('S-5: what the journal says of its failure is told without its credentials', async () => {
    const { agent } = workingAgent();
    const reason = 'cannot reach postgres://clerk:hunter2-of-mine@db/main';
    const journal = failingJournal(sqliteJournal(':memory:'), 3, reason);
    const events: SessionEvent[] = [];
    const { logger, lines } = keptLog();
    const session = startSession(agent, {
      prompt: 'Go.',
      journal,
      logger,
      onEvent: (event) => void events.push(event),
    });
    const result = await session.result;
    expect(result.failure).toMatchObject({ slugs: ['journal_failed'] });
    expect(JSON.stringify(result.failure)).toContain('postgres://clerk:[redacted]@db/main');
    for (const told of [result, events, lines]) expect(JSON.stringify(told)).not.toContain('hunter2');
  });

  it('at each later write, the session is suspended with journal_failed, and can be resumed when the journal is back', async () => {
    for (let at = 2; at <= 12; at += 1) {
      const { agent, worked } = workingAgent();
      const journal = sqliteJournal(':memory:');
      const { lines, logger } = keptLog();
      const result = await runSession(agent, {
        prompt: 'Go.',
        journal: failingJournal(journal, at),
        sessionId: 's',
        logger,
      });
      const errors = lines.filter(({ level }) => level >= 30).map(({ level, event, slugs }) => [level, event, slugs]);
      if (result.status === 'suspended') {
        expect([at, result.slugs]).toEqual([at, ['journal_failed']]);
        expect(errors).toEqual([[50, 'session.suspended', ['journal_failed']]]);
        expect(String(result.report.content)).toContain('The disk is full.');
      } else {
        // Only the row that says so was not written.
        expect([at, result.success]).toEqual([at, true]);
      }
      const resumed = await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result;
      assertInvariants(resumed);
      expect([at, resumed.success, resumed.report.content]).toEqual([at, true, 'All done.']);
      expect(worked.length).toBeLessThanOrEqual(1);
      expect(await journal.list({})).toMatchObject([{ status: 'succeeded' }]);
    }
  });

  it('a session id that the journal already holds is refused, and the session in it stays as it was', async () => {
    const journal = sqliteJournal(':memory:');
    const first = await runSession(workingAgent().agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    const { agent, model } = workingAgent();
    const result = await runSession(agent, { prompt: 'Again.', journal, sessionId: 's', logger: false });
    expect(result).toMatchObject({ status: 'failed', slugs: ['journal_failed'] });
    expect(result.failure?.detail).toContain('already holds a session s');
    expect(model.requests).toEqual([]);
    expect(
      (await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result).conversation,
    ).toEqual(first.conversation);
  });
});

describe('D-3: one owner a session', () => {
  it('a second process is refused while the lease lasts; the first continues', async () => {
    const file = freshFile();
    const [one, other] = [sqliteJournal(file), sqliteJournal(file)];
    let finish = () => {};
    const work = tool({
      inputSchema,
      execute: () => new Promise<string>((resolve) => (finish = () => resolve('done'))),
    });
    const { agent, model } = workingAgent({ tools: { work } });
    const session = startSession(agent, { prompt: 'Go.', journal: one, sessionId: 's', logger: false });
    while (model.requests.length === 0) await new Promise(setImmediate);
    await expect(resumeSession(agent, { journal: other, sessionId: 's', logger: false })).rejects.toMatchObject({
      code: 'session_taken',
    });
    await expect(other.delete('s')).rejects.toMatchObject({ code: 'session_taken' });
    while (session.counters.toolCalls.requested === 0) await new Promise(setImmediate);
    await new Promise(setImmediate);
    finish();
    expect((await session.result).success).toBe(true);
    await Promise.all([one.close(), other.close()]);
  });

  it('a lease is renewed for as long as the session runs', async () => {
    const file = freshFile();
    vi.useFakeTimers({ toFake: ['Date', 'performance', 'setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const [one, other] = [sqliteJournal(file, { leaseMs: 10_000 }), sqliteJournal(file)];
    const { held, agent } = holding();
    const session = startSession(agent, { ...quiet(one), prompt: 'Go.' });
    await until(() => held.runs === 1);
    // Three leases would have run out.
    for (let seconds = 0; seconds < 32; seconds += 1) {
      await vi.advanceTimersByTimeAsync(1_000);
      await expect(resumeSession(agent, quiet(other))).rejects.toMatchObject({ code: 'session_taken' });
    }
    held.finish('done');
    expect((await session.result).success).toBe(true);
    await Promise.all([one.close(), other.close()]);
  });

  it('a journal that cannot be read for a while is reported once per outage, and the session continues', async () => {
    const journal = sqliteJournal(':memory:', { leaseMs: 60 });
    const state = { isAway: false, asked: 0 };
    const away = journalWith(journal, {
      renew: (sessionId, owner) => {
        state.asked += 1;
        return state.isAway
          ? Promise.reject(new PawlError('journal_failed', 'The server is away.'))
          : journal.renew(sessionId, owner);
      },
    });
    const { held, agent } = holding();
    const seen: SessionEvent[] = [];
    const session = startSession(agent, { ...quiet(away), prompt: 'Go.', onEvent: (event) => void seen.push(event) });
    await until(() => held.runs === 1);
    for (const outage of [1, 2]) {
      state.isAway = true;
      const asked = state.asked;
      await until(() => state.asked > asked + 3);
      expect(seen.filter(({ type }) => type === 'observer.failed')).toHaveLength(outage);
      state.isAway = false;
      await until(() => state.asked > asked + 6);
    }
    expect(seen.find(({ type }) => type === 'observer.failed')).toMatchObject({
      observer: 'journal',
      message: 'The server is away.',
    });
    held.finish('done');
    expect((await session.result).success).toBe(true);
  });

  it('who lost its lease does nothing more, and says so', async () => {
    const file = freshFile();
    // The first process does not renew its lease: it is busy, or stopped.
    const stopped = sqliteJournal(file, { leaseMs: 60_000 });
    const held: { release: (() => void) | null } = { release: null };
    const work = tool({
      inputSchema,
      execute: () => new Promise<string>((resolve) => (held.release = () => resolve('done'))),
    });
    const { agent, model } = workingAgent({ tools: { work } });
    const { lines, logger } = keptLog();
    const session = startSession(agent, { prompt: 'Go.', journal: stopped, sessionId: 's', logger });
    await until(() => held.release !== null);
    const database = new DatabaseSync(file);
    database.exec('UPDATE sessions SET leased = 1');
    database.close();
    const other = sqliteJournal(file);
    const resumed = await resumeSession(workingAgent().agent, { journal: other, sessionId: 's', logger: false });
    expect((await resumed.result).success).toBe(true);
    const sent = model.requests.length;
    held.release?.();
    const lost = await session.result;
    expect(lost).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(lost.failure?.detail).toContain('Another process has taken the session s');
    expect(model.requests).toHaveLength(sent);
    expect(lines.filter(({ level }) => level >= 50)).toHaveLength(1);
    expect(await other.list({})).toMatchObject([{ status: 'succeeded' }]);
    await Promise.all([stopped.close(), other.close()]);
  });

  it('twenty processes that go for one session: one has it, the others have run nothing', async () => {
    const file = freshFile();
    const { agent, worked } = workingAgent();
    const journal = sqliteJournal(file);
    const dying = dyingJournal(journal, 4, 'after');
    startSession(agent, { prompt: 'Go.', journal: dying.journal, sessionId: 's', logger: false });
    await dying.died;
    const journals = Array.from({ length: 20 }, () => sqliteJournal(file));
    const tries = await Promise.allSettled(
      journals.map(async (own) => (await resumeSession(agent, { journal: own, sessionId: 's', logger: false })).result),
    );
    const results = tries.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    expect(results.map(({ success }) => success)).not.toContain(false);
    expect(results.length).toBeGreaterThan(0);
    for (const one of tries) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'session_taken' });
    expect(worked).toEqual(['worked']);
    await Promise.all([journal, ...journals].map((one) => one.close()));
  });
});
