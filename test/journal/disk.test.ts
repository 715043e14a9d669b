import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type JournalEntry, resumeSession, sqliteJournal } from '../../src/index.ts';
import { assertInvariants } from '../../src/testing/index.ts';
import { freshFile, workingAgent } from '../support/journaled.ts';
import { chances } from '../support/kills.ts';

const entry = (index: number): JournalEntry => {
  // Some take a page of the file, some take many.
  return { scope: '', type: 'begun', key: `${index} ${'x'.repeat(index % 3 === 0 ? 20_000 : 50)}`, at: index };
};

type Disk = { database: Buffer; log: Buffer; entries: number };

const bytesOf = (file: string) => (existsSync(file) ? readFileSync(file) : Buffer.alloc(0));

/** What is on the disk each time that a write was acknowledged. */
async function* disks(): AsyncGenerator<Disk, never> {
  const file = freshFile();
  const journal = sqliteJournal(file);
  await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'one', entries: [entry(0)] });
  for (let entries = 1; ; entries += 1) {
    yield { database: bytesOf(file), log: bytesOf(`${file}-wal`), entries };
    await journal.append('s', { owner: 'one', after: entries, entries: [entry(entries)] });
  }
}

/** The entries that a process finds on this disk. */
async function foundOn(database: Buffer, log: Buffer): Promise<JournalEntry[]> {
  const file = freshFile();
  writeFileSync(file, database);
  writeFileSync(`${file}-wal`, log);
  const journal = sqliteJournal(file);
  const entries = await journal.read('s');
  await journal.close();
  return entries;
}

describe('D-3: nothing that was acknowledged is lost', () => {
  it('when the power fails at each write in turn, which is torn, or leaves garbage', async () => {
    const chance = chances(11);
    const all = disks();
    let { value: disk } = await all.next();
    while (disk.entries < 40) {
      const { database, log, entries } = disk;
      const { value: next } = await all.next();
      disk = next;
      const written = next.log.subarray(log.length);
      const cut = Math.floor(chance() * written.length);
      const garbage = Buffer.from(Array.from({ length: 3_000 }, () => Math.floor(chance() * 256)));
      const zeros = Buffer.alloc(written.length - cut);
      for (const tail of [
        Buffer.alloc(0),
        written.subarray(0, cut),
        Buffer.concat([written.subarray(0, cut), garbage]),
        Buffer.concat([written.subarray(0, cut), zeros]),
      ]) {
        const found = await foundOn(database, Buffer.concat([log, tail]));
        // What was not acknowledged may be there, but only whole.
        expect(found.length === entries || found.length === entries + 1).toBe(true);
        expect(found).toEqual(Array.from({ length: found.length }, (_, at) => entry(at)));
      }
      expect(await foundOn(database, next.log)).toHaveLength(entries + 1);
    }
  });

  it('when the power fails while the log is moved into the file, at any page', async () => {
    const all = disks();
    let { value: before } = await all.next();
    let { value: last } = await all.next();
    // The log has been moved when the file grows.
    while (last.database.length <= before.database.length || last.entries < 3) {
      before = last;
      last = (await all.next()).value;
    }
    const page = 4_096;
    const chance = chances(12);
    for (let round = 0; round < 20; round += 1) {
      const torn = Buffer.from(last.database);
      for (let at = 0; at < torn.length; at += page) {
        if (at < before.database.length && chance() < 0.5) before.database.copy(torn, at, at, at + page);
      }
      const found = await foundOn(
        torn.subarray(0, Math.max(before.database.length, Math.floor(chance() * torn.length))),
        before.log,
      );
      expect(found.length).toBeGreaterThanOrEqual(before.entries);
      expect(found).toEqual(Array.from({ length: found.length }, (_, at) => entry(at)));
    }
  });

  it('when the disk is full at any size: the session is suspended, and resumes when there is room', async () => {
    const seen = new Set<string>();
    for (const blocks of [1, 60, 120, 200, 240, 280, 320, 1_600]) {
      const file = freshFile();
      const program = ['test/support/journaled-run.ts', file];
      const { stdout } = spawnSync(
        'sh',
        ['-c', `ulimit -f ${blocks}; exec "$0" --no-warnings "$@"`, process.execPath, ...program],
        {
          encoding: 'utf8',
        },
      );
      const ended = JSON.parse(stdout);
      seen.add(ended.status);
      if (ended.status === 'refused' || ended.status === 'failed') {
        expect(ended.detail).toContain('cannot be');
        expect(ended.requests ?? 0).toBe(0);
        continue;
      }
      if (ended.status === 'suspended') expect(ended.slugs).toEqual(['journal_failed']);
      const copy = freshFile();
      for (const end of ['', '-wal']) if (existsSync(file + end)) copyFileSync(file + end, copy + end);
      const { agent, worked } = workingAgent({ instructions: 'much ado '.repeat(800) });
      const journal = sqliteJournal(copy, { leaseMs: 1_000 });
      const owner = (await journal.list({}))[0];
      if (owner === undefined) {
        // It could not even be asked whether it has begun.
        expect([ended.status, ended.requests]).toEqual(['suspended', 0]);
        await journal.close();
        continue;
      }
      if (owner.status === 'running') while (!(await journal.lease('s', 'heir'))) await new Promise(setImmediate);
      await journal.release('s', 'heir');
      const result = await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result;
      assertInvariants(result);
      expect(result.success).toBe(true);
      expect(worked.length + ended.worked).toBeLessThanOrEqual(1);
      await journal.close();
    }
    expect([...seen]).toEqual(expect.arrayContaining(['refused', 'suspended', 'succeeded']));
  });
});
