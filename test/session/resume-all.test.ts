import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { eventLoop } from '../../src/host/event-loop.ts';
import {
  type AgentDefinition,
  defineAgent,
  type Journal,
  resumeAll,
  runSession,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { counters, report, reportedAtOnce } from '../support/session.ts';

const logger = false as const;
const model = rehearsalModel([report()]);
const define = (name: string, over: Partial<AgentDefinition> = {}) => defineAgent({ name, models: [model], ...over });

/** Begins a session of an agent and lets go of it before its first request. */
async function suspended(journal: Journal, name: string, sessionId: string) {
  const session = startSession(define(name), { prompt: 'Go.', journal, sessionId, logger });
  await session.suspend({ graceMs: 0 });
}

describe('D-4: a process that starts resumes what the last one left', () => {
  it('each suspended session of its agents, and says which it could not', async () => {
    const file = freshFile();
    const [journal, other] = [sqliteJournal(file), sqliteJournal(file)];
    for (const [name, id] of [
      ['clerk', 'one'],
      ['clerk', 'two'],
      ['cook', 'changed'],
      ['guest', 'foreign'],
    ] as const)
      await suspended(journal, name, id);
    await runSession(define('clerk'), { prompt: 'Go.', journal, sessionId: 'ended', logger });
    const told: string[] = [];
    const agents = [define('clerk'), define('cook', { finish: 'text' })];
    const { sessions, refused } = await resumeAll(agents, {
      journal: other,
      logger,
      context: ({ sessionId, agent, status }) => told.push(`${sessionId} ${agent} ${status}`),
    });
    expect(sessions.map(({ sessionId }) => sessionId).toSorted()).toEqual(['one', 'two']);
    expect(refused).toEqual([{ sessionId: 'changed', error: expect.objectContaining({ code: 'agent_changed' }) }]);
    expect(told.toSorted()).toEqual(['changed cook suspended', 'one clerk suspended', 'two clerk suspended']);
    for (const { result } of sessions) {
      const { success, counters: counted } = await result;
      expect(success).toBe(true);
      expect(counted).toEqual(counters({ ...reportedAtOnce, tokens: counted.tokens }));
    }
    const left = (await journal.list({})).map(({ sessionId, status }) => `${sessionId} ${status}`).toSorted();
    expect(left).toEqual([
      'changed suspended',
      'ended succeeded',
      'foreign suspended',
      'one succeeded',
      'two succeeded',
    ]);
    await Promise.all([journal.close(), other.close()]);
  });

  it('or refuses options that it does not know, before any', async () => {
    const journal = sqliteJournal(':memory:');
    for (const [options, message] of [
      [{ loger: false }, /^Unknown option `options\.loger`\. Did you mean `logger`\?/],
      [{ context: 'ada' }, /^`options\.context` must be a function/],
      [{ sessionId: 's' }, /^Unknown option `options\.sessionId`/],
      [{ journal: null }, /^`options\.journal` must be a journal/],
    ] as const)
      await expect(resumeAll([define('clerk')], { journal, ...options } as never)).rejects.toMatchObject({
        code: 'invalid_options',
        message: expect.stringMatching(message),
      });
    await journal.close();
  });

  it('one that another process takes meanwhile is left to it', async () => {
    const journal = sqliteJournal(':memory:');
    await suspended(journal, 'clerk', 'one');
    const { sessions, refused } = await resumeAll([define('clerk')], {
      journal,
      logger,
      // Another process takes it, after it was listed.
      context: () => void journal.lease('one', 'another'),
    });
    expect([sessions, refused]).toEqual([[], []]);
    await journal.close();
  });

  it('between two sessions other work of the process has its turn', async () => {
    const journal = new MemoryJournal();
    for (const id of ['one', 'two', 'three']) await suspended(journal, 'clerk', id);
    let turns = 0;
    const turnsAtEach: number[] = [];
    const { sessions } = await resumeAll([define('clerk')], {
      journal,
      logger,
      context: () => {
        turnsAtEach.push(turns);
        setImmediate(() => {
          turns += 1;
        });
        // Each session takes all the time that the process may work without a turn of the loop.
        while (!eventLoop.isDue);
      },
    });
    expect(turnsAtEach).toEqual([0, 1, 2]);
    for (const { result } of sessions) expect((await result).success).toBe(true);
  });

  it('names those that run, and another call resumes the ones whose leases have run out', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    const journal = sqliteJournal(':memory:', { leaseMs: 10_000 });
    for (const id of ['crashed', 'taken', 'foreign'])
      await suspended(journal, id === 'foreign' ? 'guest' : 'clerk', id);
    // Their processes hold leases; those of two have died.
    for (const id of ['crashed', 'taken', 'foreign']) expect(await journal.lease(id, 'another')).toBe(true);
    const first = await resumeAll([define('clerk')], { journal, logger });
    expect([first.sessions, first.refused, first.running.toSorted()]).toEqual([[], [], ['crashed', 'taken']]);
    vi.setSystemTime(Date.now() + 9_000);
    expect(await journal.renew('taken', 'another')).toBe(true);
    vi.setSystemTime(Date.now() + 2_000);
    const { sessions, refused, running } = await resumeAll([define('clerk')], { journal, logger });
    expect([sessions.map(({ sessionId }) => sessionId), refused, running]).toEqual([['crashed'], [], ['taken']]);
    expect((await sessions[0]?.result)?.success).toBe(true);
    await journal.close();
  });
});
