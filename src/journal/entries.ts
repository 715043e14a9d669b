import { PawlError } from '../errors.ts';
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

function isWhole(entry: unknown): boolean {
  if (!isObject(entry) || typeof entry.scope !== 'string') return false;
  const { type, head, delivery, sighting } = entry;
  switch (type) {
    case 'started':
    case 'run':
      return isObject(head) && typeof head.sessionId === 'string';
    case 'delivered':
    case 'run.delivered':
      return isObject(delivery) && (!('outcome' in delivery) || isObject(delivery.outcome));
    case 'sighted':
      return isObject(sighting) && ['string', 'undefined'].includes(typeof sighting.childSessionId);
    default:
      return typeof type === 'string';
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
