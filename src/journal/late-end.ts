import { restingSleep } from '../host/clock.ts';
import { PawlError } from '../input/errors.ts';
import { type Append, giveBack, type Journal } from './journal.ts';

const firstWaitMs = 250;
const longestWaitMs = 30_000;

/**
 * Writes the end of a session that could not be written, until it is, or another process has the session, or the journal is
 * closed (D-5c). It reports nothing: an event has said that the end is not written. Never rejects.
 */
export async function writeLater(journal: Journal, sessionId: string, append: Append): Promise<void> {
  for (let waitMs = firstWaitMs; journal.isClosed !== true; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    await restingSleep(waitMs);
    try {
      await journal.append(sessionId, append);
      await giveBack(journal, sessionId, append.owner);
      return;
    } catch (error) {
      // Another process has gone on, or the first try was done although no answer came.
      if (!(error instanceof PawlError && error.code === 'journal_failed')) return;
    }
  }
}
