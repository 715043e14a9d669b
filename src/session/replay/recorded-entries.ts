import { PawlError } from '../../input/errors.ts';
import { checkEntries } from '../../journal/entries.ts';
import type { JournalEntry, SessionHead } from '../../journal/journal.ts';
import { notASession, unknownSession } from '../../journal/journal-errors.ts';
import { checkHead } from '../head.ts';

/**
 * Returns what a recorded session began with. Throws `session_unknown`; `machines_changed` (D-6); `invalid_journal` for
 * malformed entries.
 */
export function recordedHead(entries: readonly JournalEntry[], sessionId: string): SessionHead {
  const [first] = entries;
  if (first === undefined) throw unknownSession(sessionId);
  checkEntries(entries);
  if (first.type === 'run') throw notASession(sessionId);
  if (first.type !== 'started' || first.scope !== '')
    throw new PawlError('invalid_journal', `The journal of the session ${sessionId} does not begin with its start.`);
  checkHead(first.head);
  return first.head;
}

/** Whether the end was recorded. If it was only delivered, the resumed session reports it. */
export function hasEnded(entries: readonly JournalEntry[]): boolean {
  const ends = ['session.succeeded', 'session.failed', 'session.aborted'];
  return entries.some(
    (entry) => entry.type === 'stepped' && entry.scope === '' && entry.facts.some(({ type }) => ends.includes(type)),
  );
}

/** Whether nothing came after the session was suspended, so that nothing of it was lost. */
export function wasSuspended(entries: readonly JournalEntry[]): boolean {
  const last = entries.at(-1);
  return last?.type === 'sighted' && last.sighting.type === 'session.suspended';
}
