import { PawlError } from '../errors.ts';
import type { JournalEntry } from './journal.ts';

/** The field of an entry that holds an object, by the type of the entry. */
const objects = new Map<string, string>([
  ['started', 'head'],
  ['run', 'head'],
  ['delivered', 'delivery'],
  ['run.delivered', 'delivery'],
  ['sighted', 'sighting'],
]);

/**
 * Checks what is read of entries before the machines play them; what they hold is checked by playing them. Throws
 * `invalid_journal`, with the number of the first that is none.
 */
export function checkEntries(entries: readonly JournalEntry[]): void {
  for (const [index, entry] of entries.entries()) {
    if (isEntry(entry)) continue;
    throw new PawlError('invalid_journal', `Entry ${index + 1} of the journal is not an entry, or not a whole one.`);
  }
}

function isEntry(entry: unknown): boolean {
  if (!isObject(entry) || typeof entry.type !== 'string' || typeof entry.scope !== 'string') return false;
  const field = objects.get(entry.type);
  return field === undefined || isObject(entry[field]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
