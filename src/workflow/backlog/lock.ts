import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep, systemClock } from '../../host/clock.ts';
import { messageOf, PawlError, reasonOf } from '../../input/errors.ts';
import { databaseOpened } from '../../journal/open-databases.ts';
import { oneAtATimePerKey } from '../../platform/promises.ts';
import { readIfThere } from './files.ts';
import { checkOwnPlaces } from './reading/links.ts';

export type Lock = { release(): void };

/** The name of a lock: `items` is held while an item is written, `run` for the duration of a run. */
type LockName = 'items' | 'run';

/**
 * Acquires a lock on a backlog, or returns its holder. It is a SQLite lock on a separate file, so the operating system
 * releases it when the process ends, even after a crash.
 */
async function tryLock(backlog: string, name: LockName): Promise<Lock | { holder: string }> {
  try {
    return await exclusiveLock(backlog, name);
  } catch (error) {
    const message = `Cannot lock the backlog ${backlog}: ${reasonOf(error)}.`;
    throw new PawlError('backlog_failed', message, { cause: error });
  }
}

async function exclusiveLock(backlog: string, name: LockName): Promise<Lock | { holder: string }> {
  const { DatabaseSync } = await import('node:sqlite');
  checkOwnPlaces(backlog);
  const folder = join(backlog, 'agent_runs', '.locks');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, '.gitignore'), '*\n');
  const database = new DatabaseSync(join(folder, name));
  const told = join(folder, `${name}.holder`);
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    writeFileSync(told, `process ${process.pid}, since ${new Date().toISOString()}\n`);
  } catch (error) {
    database.close();
    if (!messageOf(error).includes('locked')) throw error;
    return { holder: readIfThere(told)?.trim() ?? 'unknown process' };
  }
  const closed = databaseOpened(realpathSync(join(folder, name)));
  return {
    release: () => {
      database.close();
      closed();
    },
  };
}

/** Locks a backlog for a run. Throws `backlog_locked` if another run is using it. */
export async function lockRun(backlog: string): Promise<Lock> {
  const lock = await tryLock(backlog, 'run');
  if ('release' in lock) return lock;
  throw new PawlError('backlog_locked', `Another run is using the backlog ${backlog} (${lock.holder}).`);
}

/** Longer than one git command may take: hooks may run tests while an item is committed. */
const waitMs = 310_000;
/** The longest pause between two looks, in ms. */
const mostPauseMs = 500;

/** The writers of this process take turns, backlog by backlog. */
const inTurn = oneAtATimePerKey();

/** Runs `work` while nothing else writes items; waits for the writers of other processes for up to 310 s. */
export function whileLocked<T>(backlog: string, work: () => Promise<T>): Promise<T> {
  return inTurn(backlog, () => whileOthersWait(backlog, work));
}

async function whileOthersWait<T>(backlog: string, work: () => Promise<T>): Promise<T> {
  for (let waitedMs = 0; ; ) {
    const lock = await tryLock(backlog, 'items');
    if ('release' in lock) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (waitedMs >= waitMs) {
      throw new PawlError('backlog_locked', `Items are being written to the backlog ${backlog} (${lock.holder}).`);
    }
    const pauseMs = Math.min(mostPauseMs, (5 + waitedMs / 10) * (1 + Math.random()));
    await sleep(systemClock, pauseMs);
    waitedMs += pauseMs;
  }
}
