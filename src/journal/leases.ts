import type { Journal } from './journal.ts';

/** Gives a session back. If the journal does not take it, its lease runs out by itself, so that is no error. */
export async function giveBack(journal: Journal, sessionId: string, owner: string): Promise<void> {
  try {
    await journal.release(sessionId, owner);
  } catch {}
}
