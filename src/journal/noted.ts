import type { JournalEntry } from './journal.ts';

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
