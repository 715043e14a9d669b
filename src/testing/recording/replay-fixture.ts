import { readFile } from 'node:fs/promises';
import { PawlError, reasonOf } from '../../input/errors.ts';
import { readTape } from '../../journal/tape.ts';
import { type ReplayOptions, replayEntries } from '../../session/replay/replay-session.ts';
import type { ReplayedSession } from '../../session/replay/replayed.ts';

/**
 * Replays a session that `pawl export` or `exportSession` wrote to a file: a session from production as a test, offline
 * and in milliseconds. Throws an error that names the first step at which the machines take another way than they did.
 */
export async function replayFixture(file: string, options: ReplayOptions = {}): Promise<ReplayedSession> {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new PawlError('invalid_journal', `The exported session ${file} cannot be read: ${reasonOf(error)}.`);
  });
  const replayed = replayEntries(readTape(text), options);
  const { difference } = replayed;
  if (difference === null) return replayed;
  const { entry, recorded, replayed: now } = difference;
  throw new Error(`The session takes another way at entry ${entry}: it was "${recorded}", and is "${now}".`);
}
