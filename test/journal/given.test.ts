import { describe, expect, it } from 'vitest';
import {
  abortSession,
  answerSession,
  approveSession,
  defineAgent,
  deleteSession,
  exportSession,
  forkSession,
  type Journal,
  listSessions,
  PawlError,
  pruneSessions,
  readSession,
  replaySession,
  resumeAll,
  resumeSession,
  sqliteJournal,
  steerSession,
  stopSession,
} from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { followSession } from '../../src/ui/index.ts';

const agent = defineAgent({ name: 'clerk', models: [rehearsalModel([])] });
const logger = false as const;

/** All that takes a journal and the id of a session. */
const ofSession: Record<string, (journal: Journal, sessionId: string) => Promise<unknown>> = {
  approveSession: (journal, id) => approveSession(journal, id, 'a', { approved: true }),
  answerSession: (journal, id) => answerSession(journal, id, 'a', 1),
  steerSession: (journal, id) => steerSession(journal, id, 'Go on.'),
  stopSession,
  abortSession: (journal, id) => abortSession(journal, id),
  deleteSession,
  exportSession,
  forkSession: (journal, id) => forkSession(journal, id, { at: 'turn-1' }),
  replaySession: (journal, id) => replaySession(journal, id),
  readSession: (journal, id) => readSession(journal, id),
  resumeSession: (journal, sessionId) => resumeSession(agent, { journal, sessionId, logger }),
};

const ofJournal: Record<string, (journal: Journal) => Promise<unknown>> = {
  listSessions: (journal) => listSessions(journal),
  pruneSessions: (journal) => pruneSessions(journal, { before: 1 }),
  resumeAll: (journal) => resumeAll([agent], { journal, logger }),
};

/** Returns the message of the rejection. A promise is returned in any case, so that `catch` sees the error. */
async function problemOf(act: () => Promise<unknown>): Promise<string> {
  const rejected: unknown = await act().then(
    () => 'accepted',
    (error) => error,
  );
  if (rejected instanceof PawlError && rejected.code === 'invalid_options') return rejected.message;
  throw rejected;
}

describe('a journal and a session that a caller gives', () => {
  const methods = ['create', 'append', 'read', 'lease', 'renew', 'release', 'post', 'inbox', 'list', 'delete', 'close'];
  const without = (missing: string) =>
    Object.fromEntries(methods.map((name) => [name, name === missing ? 'no function' : () => undefined]));
  const bad = [undefined, null, 'pawl.db', {}, ...methods.map(without)] as never[];

  it.each([...Object.keys(ofSession), ...Object.keys(ofJournal)])('%s takes only a journal', async (name) => {
    for (const journal of bad) {
      const act = () => ofSession[name]?.(journal, 's') ?? ofJournal[name]?.(journal) ?? Promise.resolve();
      expect(await problemOf(act)).toMatch(
        /`(options\.)?journal` (must be|is required:) a journal, such as sqliteJournal/,
      );
    }
  });

  it.each(Object.keys(ofSession))('%s takes only the id of a session', async (name) => {
    const journal = sqliteJournal(':memory:');
    for (const id of [undefined, null, 7, '', ' '] as never[])
      expect(await problemOf(() => ofSession[name]?.(journal, id) ?? Promise.resolve())).toMatch(
        /`(options\.)?sessionId` (must be|is required:) a string that is not blank/,
      );
    await journal.close();
  });

  it('sessions are resumed by agents, of which no two have the same name', async () => {
    const journal = sqliteJournal(':memory:');
    const problem = (agents: unknown) => problemOf(() => resumeAll(agents as never, { journal, logger }));
    expect(await problem(undefined)).toBe('`agents` is required: an array of agents.');
    expect(await problem(agent)).toContain('`agents` must be an array of agents; got');
    expect(await problem([agent, {}])).toBe('`agents[1]` must be an agent made by defineAgent; got {}.');
    expect(await problem(new Array(1))).toBe('`agents[0]` is required: an agent made by defineAgent.');
    expect(await problem([agent, { ...agent }])).toBe('`agents` must have different names; two are named clerk.');
    expect(await resumeAll([agent, agent], { journal, logger })).toEqual({
      ...{ sessions: [], refused: [], running: [], waiting: [] },
      close: expect.any(Function),
    });
    await journal.close();
  });

  it('followSession takes a function for what comes after a suspension', async () => {
    const follow = () => followSession(sqliteJournal(':memory:'), 's', { suspended: 5 as never });
    expect(await problemOf(follow)).toBe('`options.suspended` must be a function; got 5.');
  });

  it.each<[string, (options: never) => Promise<unknown>]>([
    ['replaySession', (options) => replaySession(sqliteJournal(':memory:'), 's', options)],
    ['readSession', (options) => readSession(sqliteJournal(':memory:'), 's', options)],
    ['followSession', (options) => followSession(sqliteJournal(':memory:'), 's', options)],
  ])('%s takes only the options that there are, before it reads', async (_, act) => {
    const refused = (options: unknown) => problemOf(() => act(options as never));
    expect(await refused(null)).toBe('`options` must be an object; got null.');
    expect(await refused({ secrets: 'sesame' })).toBe('`options.secrets` must be an array of strings; got a string.');
    expect(await refused({ secret: [] })).toContain('Unknown option `options.secret`. Did you mean `secrets`?');
  });

  it('the place at which a replay ends is a text', async () => {
    const replay = () => replaySession(sqliteJournal(':memory:'), 's', { until: 2 as never });
    expect(await problemOf(replay)).toBe('`options.until` must be turn-N or turn-N/attempt-M; got 2.');
  });
});
