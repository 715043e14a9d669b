import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { lockRun, whileLocked } from '../../src/workflow/backlog/lock.ts';
import { temporaryFolder } from '../support/temporary.ts';

let backlog: string;
beforeEach(() => {
  backlog = temporaryFolder();
});
const place = (name: string) => join(backlog, 'agent_runs/.locks', name);

/** Takes a lock as another process would. Returns what gives it back. */
function heldElsewhere(name: string): () => void {
  mkdirSync(place('.'), { recursive: true });
  const database = new DatabaseSync(place(name));
  database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  writeFileSync(place(`${name}.holder`), 'process 7, since yesterday\n');
  const giveBack = () => database.isOpen && database.close();
  onTestFinished(() => void giveBack());
  return giveBack;
}

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

describe('one run uses a backlog at a time', () => {
  it('another is refused, and told of the first, until that ends', async () => {
    const first = await lockRun(backlog);
    await expect(lockRun(backlog)).rejects.toMatchObject({
      code: 'backlog_locked',
      message: expect.stringMatching(
        new RegExp(`^Another run is using the backlog ${backlog} \\(process ${process.pid}, since 20.*Z\\)\\.$`),
      ),
    });
    first.release();
    (await lockRun(backlog)).release();
    expect(readFileSync(place('.gitignore'), 'utf8')).toBe('*\n');
  });

  it('even if the first left no note about itself', async () => {
    heldElsewhere('run');
    rmSync(place('run.holder'));
    await expect(lockRun(backlog)).rejects.toThrow('(unknown process).');
  });

  it('items may be written meanwhile, and runs over other backlogs may begin', async () => {
    const lock = await lockRun(backlog);
    expect(await whileLocked(backlog, async () => 'written')).toBe('written');
    (await lockRun(temporaryFolder())).release();
    lock.release();
  });

  it('a backlog that cannot be locked is an error that says why', async () => {
    writeFileSync(join(backlog, 'agent_runs'), 'a file');
    const failed = { code: 'backlog_failed', message: expect.stringContaining(`Cannot lock the backlog ${backlog}: `) };
    await expect(lockRun(backlog)).rejects.toMatchObject(failed);
    await expect(whileLocked(backlog, async () => 1)).rejects.toMatchObject(failed);
  });

  it('so is a file that is not a lock', async () => {
    mkdirSync(place('.'), { recursive: true });
    writeFileSync(place('run'), 'not a database, but a text that is long enough to look like one'.repeat(20));
    await expect(lockRun(backlog)).rejects.toMatchObject({ code: 'backlog_failed' });
  });
});

describe('items are written one at a time', () => {
  it('in this process, in the order asked for, whether or not one fails', async () => {
    const done: string[] = [];
    const step = (name: string, fails = false) =>
      whileLocked(backlog, async () => {
        done.push(`${name} begins`);
        await new Promise(setImmediate);
        done.push(`${name} ends`);
        if (fails) throw new Error(`${name} failed`);
      });
    const all = await Promise.allSettled([step('first'), step('second', true), step('third')]);
    expect(done).toEqual(['first', 'second', 'third'].flatMap((name) => [`${name} begins`, `${name} ends`]));
    expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('after the writer of another process has ended', async () => {
    fakeTimers();
    const giveBack = heldElsewhere('items');
    let begun = false;
    const work = whileLocked(backlog, async () => {
      begun = true;
      return 'written';
    });
    await vi.advanceTimersByTimeAsync(200_000);
    expect(begun).toBe(false);
    giveBack();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await work).toBe('written');
  });

  it('or not at all, if that takes longer than a git command may take', async () => {
    fakeTimers();
    const giveBack = heldElsewhere('items');
    let end: unknown = null;
    const work = whileLocked(backlog, async () => 'written').catch((error) => {
      end = error;
    });
    await vi.advanceTimersByTimeAsync(305_000);
    expect(end).toBeNull();
    await vi.advanceTimersByTimeAsync(6_000);
    await work;
    expect(end).toMatchObject({
      code: 'backlog_locked',
      message: `Items are being written to the backlog ${backlog} (process 7, since yesterday).`,
    });
    giveBack();
    expect(await whileLocked(backlog, async () => 'written')).toBe('written');
  });
});
