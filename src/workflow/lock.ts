import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf, PawlError } from '../errors.ts';
import { readIfThere } from './files.ts';

export type Lock = { release(): void };

/** Holders are told apart by it; `items` is held while an item is created, `run` for as long as a run lasts. */
type LockName = 'items' | 'run';

/**
 * Takes a lock of a backlog, or says who holds it: null. It is one of SQLite's on a file of its own, so the operating system
 * lets it go when the process ends, however it ends.
 */
async function tryLock(backlog: string, name: LockName): Promise<Lock | { holder: string }> {
  try {
    return await exclusiveLock(backlog, name);
  } catch (error) {
    const message = `backlog is ${backlog}, which cannot be locked: ${messageOf(error)}.`;
    throw new PawlError('backlog_failed', message, { cause: error });
  }
}

async function exclusiveLock(backlog: string, name: LockName): Promise<Lock | { holder: string }> {
  const { DatabaseSync } = await import('node:sqlite');
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
    return { holder: readIfThere(told)?.trim() ?? 'a process that has not said which' };
  }
  return { release: () => database.close() };
}

/** Two runs on one backlog at once are refused. */
export async function lockRun(backlog: string): Promise<Lock> {
  const lock = await tryLock(backlog, 'run');
  if ('release' in lock) return lock;
  throw new PawlError('backlog_locked', `backlog is ${backlog}, on which another run is at work: ${lock.holder}.`);
}

const waitMs = 15_000;

/** Does `work` while no other creator is at it; several wait for each other, for up to 15 s. */
export async function whileLocked<T>(backlog: string, work: () => Promise<T>): Promise<T> {
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
      throw new PawlError('backlog_locked', `backlog is ${backlog}, to which items are being written: ${lock.holder}.`);
    }
    const pauseMs = 5 + Math.random() * 20;
    await sleep(pauseMs);
    waitedMs += pauseMs;
  }
}
