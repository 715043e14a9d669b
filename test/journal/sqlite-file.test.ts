import { chmodSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { tool } from 'ai';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { defineAgent, type Journal, type JournalEntry, runSession, sqliteJournal } from '../../src/index.ts';
import { UnsentError } from '../../src/journal/journal-errors.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { counters, report } from '../support/session.ts';
import { errorOf } from '../support/temporary.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

const entry = (key: string): JournalEntry => ({ scope: '', type: 'begun', key, at: 1 });
const entries = [entry('first')];
const create = (journal: Journal, sessionId: string, more: object = {}) =>
  journal.create({ sessionId, agent: 'tested', metadata: {}, ...more }, { owner: 'one', entries });

/** Runs SQL in the file of a journal, as another program would. */
function alter(file: string, sql: string) {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

describe('D-3: the file of a journal', () => {
  it('is readable by its owner alone; an existing file keeps its permissions', async () => {
    const file = freshFile();
    await sqliteJournal(file).close();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o640);
    const again = sqliteJournal(file);
    expect([statSync(file).mode & 0o777, again.leaseMs]).toEqual([0o640, 10_000]);
    await again.close();
    await again.close();
    const database = new DatabaseSync(file);
    expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    database.close();
  });

  it('in memory has no file', async () => {
    await sqliteJournal(':memory:').close();
    expect(existsSync(':memory:')).toBe(false);
  });

  it.each<[string, string, string]>([
    ['tables of another program', 'CREATE TABLE mine (a TEXT)', 'is a database, but not a journal of Pawl.'],
    ['the id of another program', 'PRAGMA application_id = 7', 'is a database, but not a journal of Pawl.'],
    ['a version, but no id', 'PRAGMA user_version = 2', 'is a database, but not a journal of Pawl.'],
    [
      'another version',
      'PRAGMA application_id = 0x5061776c; PRAGMA user_version = 1',
      'is a journal of version 1; this release of Pawl reads version 4.',
    ],
  ])('with %s is refused and stays as it is', (_, sql, message) => {
    const file = freshFile();
    alter(file, sql);
    const before = statSync(file).size;
    const error = { code: 'invalid_journal', message: expect.stringContaining(`${file} ${message}`) };
    expect(() => sqliteJournal(file)).toThrow(expect.objectContaining(error));
    expect(statSync(file).size).toBe(before);
  });

  it.each(['postgres://user:hunter2word@db/prod', 'file:pawl.db', 'HTTPS://user:hunter2word@db/', ' '])(
    'is a path: %j is refused, and no password shown',
    (file) => {
      const refused = errorOf(() => sqliteJournal(file));
      expect(refused).toMatchObject({
        code: 'invalid_options',
        message: expect.stringMatching(/^`file` must be a path/),
      });
      expect(String(refused)).not.toContain('hunter2word');
    },
  );

  it.each(['node:sqlite', 'node:fs'])('requires %s from the runtime', (missing) => {
    const { getBuiltinModule } = process;
    vi.spyOn(process, 'getBuiltinModule').mockImplementation(((name: string) =>
      name === missing ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule);
    onTestFinished(() => void vi.restoreAllMocks());
    const message = 'The journal :memory: cannot be opened: it needs Node 22.13 or later, for node:sqlite.';
    expect(() => sqliteJournal(':memory:')).toThrow(expect.objectContaining({ code: 'journal_failed', message }));
  });

  it('rejects reads and writes after it is closed', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    await create(journal, 's');
    await journal.close();
    const failed = (what: string) => ({
      code: 'journal_failed',
      message: `The journal ${file} cannot be ${what}: database is not open.`,
      cause: expect.any(Error),
    });
    await expect(journal.read('s')).rejects.toMatchObject(failed('read'));
    await expect(journal.inbox('s')).rejects.toMatchObject(failed('read'));
    await expect(journal.list({})).rejects.toMatchObject(failed('read'));
    await expect(create(journal, 't')).rejects.toMatchObject(failed('written'));
    // A closed journal cannot have sent the write; a read is no write at all.
    await expect(create(journal, 't')).rejects.toBeInstanceOf(UnsentError);
    await expect(journal.read('s')).rejects.not.toBeInstanceOf(UnsentError);
    await expect(journal.lease('s', 'one')).rejects.toMatchObject(failed('written'));
    const folder = `${file}-no/pawl.db`;
    expect(() => sqliteJournal(folder)).toThrow(`The journal ${folder} cannot be opened: `);
  });

  it('reports how many entries are missing', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    await create(journal, 's');
    await journal.append('s', { owner: 'one', after: 1, entries: [entry('b'), entry('c')] });
    alter(file, 'DELETE FROM entries WHERE position = 2');
    await expect(journal.read('s')).rejects.toMatchObject({
      code: 'invalid_journal',
      message: `The journal ${file} holds 2 entries of the session s, which had 3.`,
    });
    await expect(journal.read('s', 1)).rejects.toMatchObject({ code: 'invalid_journal' });
    expect(await journal.read('s', 2)).toEqual([entry('c')]);
    await journal.close();
  });
});

describe('D-3: what a store refuses', () => {
  it('an append of a process that does not own the session, or of a session that is gone', async () => {
    const journal = sqliteJournal(':memory:');
    await create(journal, 's');
    await expect(journal.append('s', { owner: 'two', after: 1, entries })).rejects.toThrow(
      'Another process has taken the session s, so this one no longer writes to its journal.',
    );
    await expect(journal.append('t', { owner: 'one', after: 1, entries })).rejects.toThrow(
      'The session t is no longer in the journal.',
    );
    await expect(create(journal, 's')).rejects.toThrow(
      'The journal already holds a session s. Resume it, or pass another `sessionId`.',
    );
  });

  it('an append fails as a whole, and the next one works', async () => {
    const journal = sqliteJournal(':memory:');
    await create(journal, 's');
    const broken = { ...entry('c'), at: 1n as never };
    await expect(
      journal.append('s', { owner: 'one', after: 1, entries: [entry('b'), broken], change: { status: 'failed' } }),
    ).rejects.toMatchObject({ code: 'journal_failed' });
    expect(await journal.read('s')).toEqual(entries);
    expect(await journal.list({})).toMatchObject([{ status: 'running', entries: 1 }]);
    await journal.append('s', { owner: 'one', after: 1, entries: [entry('b')] });
    expect(await journal.read('s')).toEqual([...entries, entry('b')]);
  });

  it('deleting a session that runs; one that has ended, or whose lease is over, goes with all it had', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    for (const sessionId of ['runs', 'ended', 'left', 'other']) await create(journal, sessionId);
    for (const sessionId of ['ended', 'left', 'other']) await journal.post(sessionId, { type: 'session.stop' });
    await journal.append('ended', { owner: 'one', after: 1, entries: [], change: { status: 'succeeded' } });
    alter(file, "UPDATE sessions SET leased = 1 WHERE id = 'left'");
    await expect(journal.delete('runs')).rejects.toThrow('Another process runs the session runs, or died a moment ago');
    expect([await journal.delete('ended'), await journal.delete('left')]).toEqual([true, true]);
    expect((await journal.list({})).map(({ sessionId }) => sessionId)).toEqual(['other', 'runs']);
    await journal.close();
    const database = new DatabaseSync(file);
    const count = (table: string) => database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count;
    expect([count('entries'), count('inbox')]).toEqual([2, 1]);
    database.close();
  });

  it('a message to a session that has ended', async () => {
    const journal = sqliteJournal(':memory:');
    await create(journal, 's');
    await journal.post('s', { type: 'session.stop' });
    await journal.append('s', {
      owner: 'one',
      after: 1,
      entries: [],
      change: { status: 'failed', slugs: ['aborted'] },
    });
    expect(await journal.post('s', { type: 'session.stop' })).toBe(false);
    // A later change of something else leaves its end as it is.
    await journal.append('s', {
      owner: 'one',
      after: 1,
      entries: [],
      change: { waitingCalls: waitingCalls('s', ['c']) },
    });
    expect(await journal.list({})).toMatchObject([{ status: 'failed', slugs: ['aborted'], waiting: ['c'] }]);
    expect(await journal.inbox('s')).toHaveLength(1);
  });
});

describe('D-3: leases', () => {
  it('one that is over can be taken, and renewed until then', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file, { leaseMs: 60_000 });
    await create(journal, 's');
    const left = () => {
      const database = new DatabaseSync(file);
      const row = database.prepare('SELECT leased FROM sessions').get();
      database.close();
      return Number(row?.leased) - Date.now();
    };
    expect(left()).toBeGreaterThan(50_000);
    alter(file, 'UPDATE sessions SET leased = 1');
    expect(await journal.renew('s', 'two')).toBe(false);
    expect(left()).toBeLessThan(0);
    expect(await journal.renew('s', 'one')).toBe(true);
    expect(left()).toBeGreaterThan(50_000);
    alter(file, 'UPDATE sessions SET leased = 1');
    await journal.append('s', { owner: 'one', after: 1, entries: [] });
    expect(left()).toBeGreaterThan(50_000);
    expect(await journal.lease('s', 'two')).toBe(false);
    alter(file, 'UPDATE sessions SET leased = 1');
    expect(await journal.list({})).toMatchObject([{ status: 'suspended' }]);
    expect(await journal.lease('s', 'two')).toBe(true);
    expect(left()).toBeGreaterThan(50_000);
    await journal.release('s', 'one');
    expect(await journal.lease('s', 'one')).toBe(false);
    await journal.release('s', 'two');
    expect(await journal.lease('s', 'one')).toBe(true);
    await journal.close();
  });
});

describe('D-3: lists', () => {
  it('by id, agent, time and prefix, the latest first', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    for (const [sessionId, agent] of [
      ['a_1', 'x'],
      ['a%2', 'y'],
      ['b', 'x'],
      ['a_10', 'x'],
    ] as const)
      await create(journal, sessionId, { agent });
    alter(file, "UPDATE sessions SET updated = 5; UPDATE sessions SET updated = 9 WHERE id = 'a%2'");
    const ids = async (query: Parameters<Journal['list']>[0]) =>
      (await journal.list(query)).map(({ sessionId }) => sessionId);
    expect(await ids({})).toEqual(['a%2', 'a_10', 'b', 'a_1']);
    expect(await ids({ idPrefix: 'a_1' })).toEqual(['a_10', 'a_1']);
    expect(await ids({ idPrefix: 'a%' })).toEqual(['a%2']);
    expect(await ids({ idPrefix: '' })).toHaveLength(4);
    expect(await ids({ sessionId: 'a_1' })).toEqual(['a_1']);
    expect(await ids({ agent: 'x' })).toEqual(['a_10', 'b', 'a_1']);
    expect(await ids({ since: 9 })).toEqual(['a%2']);
    expect(await ids({ since: 5 })).toHaveLength(4);
    expect(await ids({ since: 10 })).toEqual([]);
    expect(await ids({ agent: 'x', idPrefix: 'a', since: 5, status: 'running' })).toEqual(['a_10', 'a_1']);
    await journal.close();
  });
});

describe('D-3: a file that is another by now', () => {
  it.each<[string, (file: string) => void, string]>([
    ['deleted', (file) => rmSync(file), 'moved or deleted'],
    ['renamed', (file) => renameSync(file, `${file}.old`), 'moved or deleted'],
    [
      'replaced, as by a restore',
      (file) => {
        alter(file, `VACUUM INTO '${file}.copy'`);
        renameSync(`${file}.copy`, file);
      },
      'replaced by another file',
    ],
  ])('%s: nothing more is written, and the session is suspended', async (_, change, why) => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    const work = tool({ inputSchema: z.object({}), execute: () => change(file) });
    const call = { calls: [{ name: 'work', input: {} }] };
    const agent = defineAgent({ name: 'moved', models: [rehearsalModel([call, call, report()])], tools: { work } });
    const result = await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    const detail = `The journal ${file} was ${why} while it was open.`;
    expect([result.status, result.slugs, result.failure?.detail]).toEqual(['suspended', ['journal_failed'], detail]);
    expect(result.counters).toEqual(
      counters({ turns: 1, attempts: 1, tokens: result.counters.tokens, costUsd: null, toolCalls: { requested: 1 } }),
    );
    expect(await journal.lease('s', 'other').catch((error: unknown) => error)).toMatchObject({
      code: 'journal_failed',
      message: detail,
    });
    await journal.close();
  });
});

it('D-2: other work has its turn while a journal is read again and again', async () => {
  const journal = sqliteJournal(':memory:');
  await create(journal, 's1');
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const startedAt = performance.now();
  while (performance.now() < startedAt + 60) await journal.read('s1');
  isOver = true;
  expect(turns).toBeGreaterThan(3);
  await journal.close();
});
