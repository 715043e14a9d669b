import { z } from 'zod';
import { check } from '../../input/check.ts';
import { nonBlank } from '../../input/shapes.ts';
import { checkSession } from '../../journal/given.ts';
import { giveBack, type Journal, type JournalEntry, type SessionHead } from '../../journal/journal.ts';
import { lazily } from '../../platform/lazily.ts';
import { randomId } from '../../platform/random-id.ts';
import { sessionIdShape } from '../input.ts';
import { recordedHead } from '../replay/recorded-entries.ts';
import { entriesUntil } from '../replay/replay-session.ts';

export type ForkOptions = {
  /** Where the new session leaves the old one: at the start of a turn or attempt, such as `turn-3`. */
  at: string;
  /** The new session's id. Default: a random UUID. */
  sessionId?: string;
};

const optionsSchema = lazily(() =>
  z.strictObject({
    at: nonBlank,
    sessionId: sessionIdShape.optional(),
  } satisfies Record<keyof ForkOptions, z.ZodType>),
);

/**
 * Starts a new session from a turn or attempt of a recorded one, which stays as it is. Returns the new session's id; it
 * is suspended, and `resumeSession` resumes it. Throws `session_unknown`, `session_exists`, `machines_changed` (D-6),
 * `invalid_journal` or `invalid_options`.
 */
export async function forkSession(journal: Journal, sessionId: string, options: ForkOptions): Promise<string> {
  checkSession(journal, sessionId);
  const { at, sessionId: forkId = randomId() } = check(optionsSchema(), options, 'options', 'invalid_options');
  const entries = await journal.read(sessionId);
  recordedHead(entries, sessionId);
  await createFork(journal, sessionId, forkId, entries.slice(0, entriesUntil(entries, at, 'at')));
  return forkId;
}

/** Writes down a new, suspended session of the first entries of another, or of what they might have been. */
export async function createFork(
  journal: Journal,
  sessionId: string,
  forkId: string,
  entries: readonly JournalEntry[],
): Promise<void> {
  const { agent, metadata } = recordedHead(entries, sessionId);
  const fork = { of: sessionId, entries: entries.length };
  const kept = entries.map((entry) => ofFork(renamed(entry, sessionId, forkId), fork));
  const owner = randomId();
  await journal.create({ sessionId: forkId, agent, metadata }, { owner, entries: kept });
  await giveBack(journal, forkId, owner);
}

function ofFork(entry: JournalEntry, fork: NonNullable<SessionHead['fork']>): JournalEntry {
  return entry.type === 'started' && entry.scope === '' ? { ...entry, head: { ...entry.head, fork } } : entry;
}

/** Gives an entry's session, and its sub-agents, their new ids. */
function renamed(entry: JournalEntry, from: string, to: string): JournalEntry {
  const own = (id: string) => (id === from || id.startsWith(`${from}/`) ? to + id.slice(from.length) : id);
  if (entry.type === 'started') return { ...entry, head: { ...entry.head, sessionId: own(entry.head.sessionId) } };
  if (entry.type !== 'sighted' || !('childSessionId' in entry.sighting)) return entry;
  const { sighting } = entry;
  return { ...entry, sighting: { ...sighting, childSessionId: own(sighting.childSessionId) } };
}
