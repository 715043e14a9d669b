import { describe, expect, it } from 'vitest';
import { deleteSession, listSessions, pruneSessions, runSession, sqliteJournal } from '../../src/index.ts';
import { journalConformance } from '../../src/testing/index.ts';
import { freshFile, workingAgent } from '../support/journaled.ts';

describe('D-3: the SQLite journal keeps what every journal must', () => {
  const file = freshFile();
  for (const { name, check } of journalConformance((options) => sqliteJournal(file, options))) it(name, check);
});

describe('sessions in a journal', () => {
  it('are listed, deleted and pruned', async () => {
    const journal = sqliteJournal(':memory:');
    const { agent } = workingAgent();
    for (const sessionId of ['a', 'b', 'c'])
      await runSession(agent, { prompt: 'Go.', journal, sessionId, logger: false });
    const broken = workingAgent({ limits: { maxTurns: 1, maxRetries: 1 } }).agent;
    const failed = await runSession(broken, { prompt: 'Go.', journal, sessionId: 'd', logger: false });
    expect((await listSessions(journal)).map(({ sessionId }) => sessionId)).toEqual(['d', 'c', 'b', 'a']);
    expect(await listSessions(journal, { status: 'failed' })).toMatchObject([{ sessionId: 'd', slugs: failed.slugs }]);
    expect((await listSessions(journal, { agent: 'working', status: 'succeeded' })).length).toBe(3);
    await expect(listSessions(journal, { status: 'lost' as 'failed' })).rejects.toMatchObject({
      code: 'invalid_options',
    });
    expect(await deleteSession(journal, 'a')).toBe(true);
    expect(await deleteSession(journal, 'a')).toBe(false);
    expect(await pruneSessions(journal, { before: 1 })).toEqual([]);
    expect((await pruneSessions(journal, { before: Date.now() + 1 })).toSorted()).toEqual(['b', 'c', 'd']);
    expect(await listSessions(journal)).toEqual([]);
    await expect(pruneSessions(journal, { before: Number.NaN })).rejects.toMatchObject({ code: 'invalid_options' });
  });
});
