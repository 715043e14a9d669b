import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Journal, JournalEntry } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { postgresFolder, startPostgres } from '../support/postgres.ts';

const entry = (key: string): JournalEntry => ({ scope: '', type: 'begun', key, at: 1 });

describe.skipIf(postgresFolder === null)('D-3: what the journal in PostgreSQL refuses', async () => {
  const server = postgresFolder === null ? null : await startPostgres(postgresFolder);
  const url = server?.url ?? '';
  const admin = new Client(url);
  let journal: Journal;
  beforeAll(async () => {
    await admin.connect();
    journal = postgresJournal(url);
    await journal.create(
      { sessionId: 's', agent: 'tested', metadata: {} },
      { owner: 'one', entries: ['a', 'b', 'c'].map(entry) },
    );
  });
  afterAll(() => server?.stop());
  afterAll(async () => {
    await journal.close();
    await admin.end();
  });

  it('an append of a process that does not own the session, or of a session that is gone', async () => {
    const append = (sessionId: string) => journal.append(sessionId, { owner: 'two', after: 3, entries: [] });
    await expect(append('s')).rejects.toMatchObject({
      code: 'session_taken',
      message: expect.stringMatching(/^Another process has taken the session s,/),
    });
    await expect(append('gone')).rejects.toMatchObject({
      code: 'session_taken',
      message: 'The session gone is no longer in the journal.',
    });
  });

  it('to read a session with missing entries; the error gives both counts', async () => {
    await admin.query('DELETE FROM pawl.entries WHERE position = 2');
    await expect(journal.read('s')).rejects.toMatchObject({
      code: 'invalid_journal',
      message: 'The journal holds 2 entries of the session s, which had 3.',
    });
    await expect(journal.read('s', 1)).rejects.toMatchObject({
      message: 'The journal holds 2 entries of the session s, which had 3.',
    });
    expect(await journal.read('s', 2)).toEqual([entry('c')]);
    expect([await journal.read('s', 9), await journal.read('none')]).toEqual([[], []]);
  });

  it('tables of another release', async () => {
    const other = postgresJournal(url, { schema: 'elsewhere' });
    await other.list({});
    await admin.query('UPDATE elsewhere.version SET version = 99');
    const later = postgresJournal(url, { schema: 'elsewhere' });
    await expect(later.list({})).rejects.toMatchObject({
      code: 'invalid_journal',
      message: expect.stringMatching(/^The schema elsewhere is a journal of version 99; this release of Pawl reads /),
    });
    await admin.query('DELETE FROM elsewhere.version');
    await expect(later.list({})).rejects.toMatchObject({
      code: 'invalid_journal',
      message: expect.stringMatching(/^The schema elsewhere is a journal of an unknown version; /),
    });
    for (const one of [other, later]) {
      expect(one.isClosed).toBe(false);
      await one.close();
      expect(one.isClosed).toBe(true);
    }
  });
});
