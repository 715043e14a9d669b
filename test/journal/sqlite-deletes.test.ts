import { readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { deleteSession, pruneSessions, runSession, sqliteJournal } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { freshFile, quiet, workingAgent } from '../support/journaled.ts';

const bytesOf = (file: string) =>
  ['', '-wal'].map((end) => statSync(`${file}${end}`, { throwIfNoEntry: false }) && readFileSync(`${file}${end}`));
const holds = (file: string, text: string) => bytesOf(file).some((bytes) => bytes?.includes(text));

describe('a session that is deleted', () => {
  it('leaves nothing to read in the file of the journal, which shrinks', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    const prompts = Array.from({ length: 20 }, (_, index) => `the secret of customer ${index}: ${'x'.repeat(9_000)}`);
    for (const [index, prompt] of prompts.entries())
      await runSession(workingAgent().agent, { ...quiet(journal), sessionId: `s${index}`, prompt });
    expect(prompts.filter((prompt) => holds(file, prompt.slice(0, 26)))).toHaveLength(20);
    const before = bytesOf(file)[0]?.length ?? 0;
    for (let index = 0; index < 10; index += 1) expect(await deleteSession(journal, `s${index}`)).toBe(true);
    const left = () => prompts.filter((prompt) => holds(file, prompt.slice(0, 26)));
    expect(left()).toHaveLength(10);
    expect(await pruneSessions(journal, { before: Date.now() + 1_000 })).toHaveLength(10);
    expect(left()).toEqual([]);
    expect(bytesOf(file)[0]?.length).toBeLessThan(before / 4);
    await journal.close();
  });

  it('is gone from the list though another process reads the file of recent writes, and from that at the next time', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    for (const sessionId of ['one', 'two'])
      await runSession(workingAgent().agent, { ...quiet(journal), sessionId, prompt: `the secret of ${sessionId}` });
    const reader = new DatabaseSync(file);
    reader.exec('BEGIN; SELECT * FROM sessions');
    expect(await deleteSession(journal, 'one')).toBe(true);
    expect(await journal.list({})).toMatchObject([{ sessionId: 'two' }]);
    reader.close();
    expect(await deleteSession(journal, 'two')).toBe(true);
    expect([holds(file, 'the secret of one'), holds(file, 'the secret of two')]).toEqual([false, false]);
    await journal.close();
  });

  it('is deleted while another process writes; what comes later waits for that as before', async () => {
    const file = freshFile();
    const journal = sqliteJournal(file);
    await runSession(workingAgent().agent, { ...quiet(journal), prompt: 'Go.' });
    const session = { sessionId: 'other', agent: 'a', metadata: {} };
    const writer = new DatabaseSync(file);
    // It begins to write between the deletion and what shrinks the file.
    const realExec = DatabaseSync.prototype.exec;
    let isBusy = false;
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
      if (sql.includes('incremental_vacuum') && !isBusy) {
        isBusy = true;
        realExec.call(writer, 'BEGIN IMMEDIATE');
      }
      realExec.call(this, sql);
    });
    onTestFinished(() => void exec.mockRestore());
    expect(await deleteSession(journal, 's')).toBe(true);
    expect(exec.mock.calls.at(-1)).toEqual(['PRAGMA busy_timeout = 5000']);
    writer.exec('COMMIT');
    writer.close();
    await journal.create(session, { owner: 'one', entries: [{ scope: '', type: 'begun', key: 'k', at: 1 }] });
    expect(await journal.list({})).toMatchObject([{ sessionId: 'other' }]);
    await journal.close();
  });
});

describe('D-3g: a clock that is set back', () => {
  it.each([
    ['SQLite', () => sqliteJournal(':memory:', { leaseMs: 60_000 })],
    ['memory', () => new MemoryJournal({ leaseMs: 60_000 })],
  ])('locks no session: %s', async (_, open) => {
    const journal = open();
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const session = { sessionId: 's', agent: 'a', metadata: {} };
    await journal.create(session, { owner: 'one', entries: [{ scope: '', type: 'begun', key: 'k', at: 1 }] });
    // By less than the lease, it may still be held.
    vi.setSystemTime(1_800_000_000_000 - 5_000);
    expect(await journal.lease('s', 'two')).toBe(false);
    vi.setSystemTime(1_800_000_000_000 - 3_600_000);
    expect(await journal.list({})).toMatchObject([{ status: 'suspended' }]);
    expect(await journal.lease('s', 'two')).toBe(true);
    await expect(journal.append('s', { owner: 'one', after: 1, entries: [] })).rejects.toMatchObject({
      code: 'session_taken',
    });
    await journal.close();
  });

  it('a lease is as long as its owner took it for, whatever others take', async () => {
    const file = freshFile();
    const [long, short] = [sqliteJournal(file, { leaseMs: 3_600_000 }), sqliteJournal(file, { leaseMs: 50 })];
    const session = { sessionId: 's', agent: 'a', metadata: {} };
    await long.create(session, { owner: 'one', entries: [{ scope: '', type: 'begun', key: 'k', at: 1 }] });
    expect(await short.lease('s', 'two')).toBe(false);
    expect(await short.list({})).toMatchObject([{ status: 'running' }]);
    expect(await long.renew('s', 'one')).toBe(true);
    expect(await short.lease('s', 'two')).toBe(false);
    await Promise.all([long.close(), short.close()]);
  });
});
