import type { Journal } from './journal.ts';

/** The sessions that this process suspended on purpose, such as before it ends. */
const left = new WeakMap<Journal, Set<string>>();

export function noteLeft(journal: Journal, sessionId: string): void {
  const ids = left.get(journal) ?? new Set();
  left.set(journal, ids.add(sessionId));
}

export function forgetLeft(journal: Journal, sessionId: string): void {
  left.get(journal)?.delete(sessionId);
}

export function leftHere(journal: Journal): ReadonlySet<string> {
  return left.get(journal) ?? new Set();
}
