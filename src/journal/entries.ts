import { isPreparing, slugTable } from '../../machines/index.ts';
import { eventLoop } from '../host/event-loop.ts';
import { PawlError } from '../input/errors.ts';
import { isRecord } from '../platform/plain-json.ts';
import type { JournalEntry } from './journal.ts';

/**
 * Checks what is read of entries before the machines play them; playing checks the rest. `before`: how many entries came
 * earlier. Throws `invalid_journal`, with the number of the first entry that is malformed.
 */
export function checkEntries(entries: readonly JournalEntry[], before = 0): void {
  for (const [index, entry] of entries.entries()) {
    if (isWhole(entry)) continue;
    throw new PawlError('invalid_journal', `Entry ${before + index + 1} of the journal is malformed.`);
  }
}

/** Parses entries, while the event loop has its turns. */
export async function parsedInTurns(texts: readonly string[]): Promise<JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for (const text of texts) {
    if (eventLoop.isDue) await eventLoop.turn();
    entries.push(JSON.parse(text));
  }
  return entries;
}

function isWhole(entry: unknown): boolean {
  if (!isRecord(entry) || typeof entry.scope !== 'string') return false;
  const { type, head, delivery, sighting, facts } = entry;
  switch (type) {
    case 'started':
    case 'run':
      return isRecord(head) && typeof head.sessionId === 'string';
    case 'delivered':
    case 'run.delivered':
      return isRecord(delivery) && (!('outcome' in delivery) || isOutcome(String(delivery.key), delivery.outcome));
    case 'stepped':
      return Array.isArray(facts) && facts.every((fact) => isRecord(fact) && typeof fact.type === 'string');
    case 'sighted':
      return isRecord(sighting) && ['string', 'undefined'].includes(typeof sighting.childSessionId);
    default:
      return typeof type === 'string';
  }
}

/** Whether an outcome says how its effect ended. For the last one, the journal has no facts with which to compare it. */
function isOutcome(key: string, outcome: unknown): boolean {
  if (!isRecord(outcome)) return false;
  const { ok, slug = null } = outcome;
  if (isPreparing(key) && (typeof ok !== 'boolean' || (!ok && slug === null))) return false;
  return slug === null || (typeof slug === 'string' && Object.hasOwn(slugTable, slug));
}

/** Deltas wait for the next write, since a reply has very many. */
export function isDelta(entry: JournalEntry): boolean {
  return entry.type === 'sighted' && entry.sighting.type === 'model.delta';
}

/** The call whose preliminary output an entry shows; null for other entries. */
export function progressIn(entry: JournalEntry): { callId: string | null } {
  return entry.type === 'sighted' && entry.sighting.type === 'tool.progressed' ? entry.sighting : { callId: null };
}

/** Returns one entry for two adjacent deltas of a part; null if they are not. */
export function joinedDelta(last: JournalEntry, entry: JournalEntry): JournalEntry | null {
  if (last.type !== 'sighted' || entry.type !== 'sighted' || last.scope !== entry.scope) return null;
  const [one, other] = [last.sighting, entry.sighting];
  if (one.type !== 'model.delta' || other.type !== 'model.delta') return null;
  const isSamePart = one.turn === other.turn && one.attempt === other.attempt && one.part === other.part;
  if (!isSamePart || last.seq + one.delta.length !== entry.seq) return null;
  return { ...last, at: entry.at, sighting: { ...one, delta: one.delta + other.delta } };
}

/** Drops an earlier preliminary output of the same call: only the latest matters. */
export function withoutEarlierProgress(notes: JournalEntry[], next: JournalEntry): JournalEntry[] {
  const { callId } = progressIn(next);
  if (callId === null) return notes;
  return notes.filter((note) => note.scope !== next.scope || progressIn(note).callId !== callId);
}
