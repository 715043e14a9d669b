import { restingSleep } from '../host/clock.ts';
import { PawlError } from '../input/errors.ts';
import { type Append, giveBack, type Journal, type JournalEntry, type SessionChange } from './journal.ts';

const firstWaitMs = 250;
const longestWaitMs = 30_000;

/**
 * Writes the end of a session whose append `failed`, with what was noted meanwhile, until it is written, or another process
 * has the session, or the journal is closed (D-5c). Does nothing if the session has not ended. It reports nothing: an event
 * has said that the end is not written.
 */
export function endLater(
  journal: Journal,
  sessionId: string,
  failed: Append,
  notes: JournalEntry[],
  end: SessionChange,
): void {
  if (end.status === undefined) return;
  const { owner, after, entries } = failed;
  const rest = { owner, after: after + entries.length, entries: notes, change: end, taken: [] };
  void writeLater(journal, sessionId, [failed, rest]);
}

/** Writes one append after another. Never rejects. */
async function writeLater(journal: Journal, sessionId: string, appends: readonly Append[]): Promise<void> {
  const [next, ...rest] = appends;
  if (next === undefined) return;
  for (let waitMs = firstWaitMs; journal.isClosed !== true; waitMs = Math.min(2 * waitMs, longestWaitMs)) {
    await restingSleep(waitMs);
    try {
      await journal.append(sessionId, next);
    } catch (error) {
      if (error instanceof PawlError && error.code === 'journal_failed') continue;
      // Another process has gone on, which then refuses the rest, too; or the first try was done although no answer came.
    }
    if (rest.length > 0) return writeLater(journal, sessionId, rest);
    await giveBack(journal, sessionId, next.owner);
    return;
  }
}
