/** What a status means for a run. `waiting` items are left until a person or another item unblocks them. */
export type Meaning = 'open' | 'waiting' | 'done';

const words: Record<Meaning, readonly string[]> = {
  open: [
    ...['new', 'open', 'todo', 'to_do', 'ready', 'planned', 'accepted', 'triaged', 'assigned', 'reopened', 'active'],
    ...['in_progress', 'started', 'partial', 'failed', 'test_failure', 'tests_failing', 'not_started', 'pending'],
  ],
  waiting: [
    ...['blocked', 'waiting', 'on_hold', 'hold', 'paused', 'deferred', 'postponed', 'speculative', 'someday'],
    ...['needs_review', 'in_review', 'review', 'needs_info', 'needs_human', 'draft', 'proposed'],
  ],
  done: [
    ...['done', 'complete', 'completed', 'resolved', 'closed', 'fixed', 'implemented', 'verified', 'merged', 'shipped'],
    ...['released', 'archived', 'superseded', 'obsolete', 'duplicate', 'cancelled', 'canceled', 'rejected', 'invalid'],
    ...['deprecated', 'wontfix', 'wont_fix', 'wont_do', 'not_planned', 'abandoned'],
  ],
};

const meanings = new Map<string, Meaning>(
  (['open', 'waiting', 'done'] as const).flatMap((meaning) => words[meaning].map((word) => [word, meaning])),
);

/**
 * Returns what a status means. Its first words decide; symbols, dates and remarks around them are ignored. Returns null for
 * an unknown status.
 */
export function meaningOf(status: string): Meaning | null {
  const plain = status
    .toLowerCase()
    .replaceAll(/['’`*]/g, '')
    .split(/[([:;,.]|\s[–—-]\s/)[0];
  const [first = '', second = ''] = (plain ?? '').match(/[\p{L}\p{N}]+/gu) ?? [];
  return meanings.get(`${first}_${second}`) ?? meanings.get(first) ?? null;
}
