import { DatabaseSync } from 'node:sqlite';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type Journal, sqliteJournal } from '../../src/index.ts';
import { freshFile } from '../support/journaled.ts';

const create = (journal: Journal, sessionId: string) =>
  journal.create(
    { sessionId, agent: 'tested', metadata: {} },
    { owner: 'one', entries: [{ scope: '', type: 'begun', key: 'first', at: 1 }] },
  );

it('D-3: the file of a journal is told from another one on another device, or with an inode that a number does not hold', async () => {
  const file = freshFile();
  const fs = process.getBuiltinModule('node:fs');
  const found = { dev: 1n, ino: 2n ** 60n };
  const stat = vi.spyOn(fs, 'statSync') as unknown as { mockImplementation: (use: unknown) => void };
  const as = (value: bigint, isExact: boolean) => (isExact ? value : Number(value));
  stat.mockImplementation((_: string, { bigint }: { bigint: boolean }) => ({
    dev: as(found.dev, bigint),
    ino: as(found.ino, bigint),
  }));
  onTestFinished(() => void vi.restoreAllMocks());
  const journal = sqliteJournal(file);
  await create(journal, 'one');
  found.dev = 2n;
  const refused = { message: `The journal ${file} was replaced by another file while it was open.` };
  await expect(create(journal, 'two')).rejects.toMatchObject(refused);
  Object.assign(found, { dev: 1n, ino: 2n ** 60n + 1n });
  await expect(create(journal, 'three')).rejects.toMatchObject(refused);
  found.ino = 2n ** 60n;
  await create(journal, 'four');
  await journal.close();
});

it('D-3: a lease ends with its last millisecond', async () => {
  let now = 1_000;
  vi.spyOn(Date, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());
  const journal = sqliteJournal(':memory:', { leaseMs: 5_000 });
  await create(journal, 's');
  const [statuses, taken]: [unknown[], boolean[]] = [[], []];
  for (now of [5_999, 6_000]) {
    statuses.push((await journal.list({})).map(({ status }) => status));
    taken.push(await journal.lease('s', 'two'));
  }
  expect([statuses, taken]).toEqual([
    [['running'], ['suspended']],
    [false, true],
  ]);
  await journal.close();
});

it('D-3: a write that SQLite itself takes back, as on a full disk, fails with its own reason', async () => {
  const file = freshFile();
  const journal = sqliteJournal(file);
  await create(journal, 'one');
  const other = new DatabaseSync(file);
  other.exec(`CREATE TRIGGER full BEFORE INSERT ON entries BEGIN SELECT RAISE(ROLLBACK, 'the disk is full'); END`);
  await expect(create(journal, 'two')).rejects.toMatchObject({
    code: 'journal_failed',
    message: `The journal ${file} cannot be written: the disk is full.`,
  });
  other.exec('DROP TRIGGER full');
  other.close();
  await create(journal, 'two');
  expect((await journal.list({})).map(({ sessionId }) => sessionId).toSorted()).toEqual(['one', 'two']);
  await journal.close();
});

it('B-1: a lease that is too short is refused by its field', () => {
  expect(() => sqliteJournal(':memory:', { leaseMs: 0 })).toThrow(
    expect.objectContaining({
      code: 'invalid_options',
      message: expect.stringMatching(/^`options\.leaseMs` must be /),
    }),
  );
});
