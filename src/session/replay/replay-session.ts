import { z } from 'zod';
import { attemptIn, attemptName, modelKey, turnName } from '../../../machines/index.ts';
import { check } from '../../input/check.ts';
import { PawlError, unexpected } from '../../input/errors.ts';
import { texts } from '../../input/shapes.ts';
import { checkEntries } from '../../journal/entries.ts';
import { checkSession } from '../../journal/given.ts';
import type { Journal, JournalEntry, JournaledSession } from '../../journal/journal.ts';
import { unknownSession } from '../../journal/journal-errors.ts';
import { lazily } from '../../platform/lazily.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { recordedHead } from './recorded-entries.ts';
import { Recording } from './recording.ts';
import type { ReplayedSession } from './replayed.ts';

export type ReplayOptions = {
  /** Stops at the start of a turn or attempt, such as `turn-3` or `turn-3/attempt-2`. Default: at the end. */
  until?: string;
  /**
   * Texts that no event may show, such as the agent's secrets (S-5). The journal itself holds what came. Give the agent all
   * its secrets when it runs: one that it did not know then, and that two writes of the journal split, shows in its deltas.
   */
  secrets?: readonly string[];
};

const aPlace = 'turn-N or turn-N/attempt-M';
const optionsSchema = lazily(() =>
  z.strictObject({
    until: z.string({ error: aPlace }).optional(),
    secrets: texts.optional(),
  } satisfies Record<keyof ReplayOptions, z.ZodType>),
);
const readOptionsSchema = lazily(() => optionsSchema().omit({ until: true }));

/**
 * Runs a recorded session again, offline: the machines and the folds alone, without its agent, any model or tool. Throws
 * `PawlError`: `session_unknown`; `invalid_journal`; `invalid_options`, also for an `until` that the session does not
 * reach.
 */
export async function replaySession(
  journal: Journal,
  sessionId: string,
  options: ReplayOptions = {},
): Promise<ReplayedSession> {
  checkSession(journal, sessionId);
  check(optionsSchema(), options, 'options', 'invalid_options');
  const entries = await journal.read(sessionId);
  if (entries.length === 0) throw unknownSession(sessionId);
  return replayedInTurns(entries, options);
}

/** What a journal tells of a session: its row, and what its events add up to. */
export type RecordedSession = JournaledSession &
  Pick<ReplayedSession, 'events' | 'requests' | 'counters' | 'conversation' | 'turns'>;

/**
 * Reads a session, whether it runs, is suspended or has ended. Throws `PawlError`: `session_unknown`; `machines_changed`
 * (D-6); `invalid_journal`; `invalid_options`.
 */
export async function readSession(
  journal: Journal,
  sessionId: string,
  options: Pick<ReplayOptions, 'secrets'> = {},
): Promise<RecordedSession> {
  const { secrets } = checkReading(journal, sessionId, options);
  const entries = await journal.read(sessionId);
  const [row] = await journal.list({ sessionId });
  if (row === undefined) throw unknownSession(sessionId);
  recordedHead(entries, sessionId);
  const { events, requests, counters, conversation, turns } = await replayedInTurns(entries, { secrets });
  return { ...row, events, requests, counters, conversation, turns };
}

/** Checks what `readSession` is given. Throws `invalid_options`. */
export function checkReading(journal: unknown, sessionId: unknown, options: unknown): { secrets: readonly string[] } {
  checkSession(journal, sessionId);
  const { secrets = [] } = check(readOptionsSchema(), options, 'options', 'invalid_options');
  return { secrets };
}

/** Replays the entries of a journal; see `replaySession`. */
export function replayEntries(
  entries: readonly JournalEntry[],
  { until, secrets = [] }: ReplayOptions = {},
): ReplayedSession {
  const [toPlay, rest] = cut(entries, until);
  const recording = new Recording(writtenSecrets(secrets));
  recording.play(toPlay);
  return recording.played(rest);
}

/** Does as `replayEntries` does; the event loop has its turn between the steps. */
async function replayedInTurns(
  entries: readonly JournalEntry[],
  { until, secrets = [] }: ReplayOptions,
): Promise<ReplayedSession> {
  const [toPlay, rest] = cut(entries, until);
  const recording = new Recording(writtenSecrets(secrets));
  await recording.playInTurns(toPlay);
  return recording.played(rest);
}

/** The entries up to a place, and those after it. Throws for entries that cannot be played. */
function cut(entries: readonly JournalEntry[], until: string | undefined): [JournalEntry[], JournalEntry[]] {
  checkEntries(entries);
  const upTo = until === undefined ? entries.length : entriesUntil(entries, until);
  return [entries.slice(0, upTo), entries.slice(upTo)];
}

/** Returns the number of entries up to the step that starts a turn or attempt of the session itself, with that step. */
export function entriesUntil(entries: readonly JournalEntry[], until: string, name = 'until'): number {
  const place = attemptIn(until);
  if (place === null || ![attemptName(place), turnName(place.turn)].includes(until))
    throw unexpected('invalid_options', name, until, aPlace);
  const key = modelKey(place);
  const begun = entries.findIndex((entry) => entry.type === 'begun' && entry.scope === '' && entry.key === key);
  if (begun === -1) throw new PawlError('invalid_options', `The session has no ${until}.`);
  return begun;
}
