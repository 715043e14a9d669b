import type { Fact } from '../../../machines/index.ts';
import { giveBack, type Journal } from '../../journal/journal.ts';
import { runsElsewhere } from '../../journal/journal-errors.ts';
import { randomId } from '../../platform/random-id.ts';
import { hasEnded } from '../replay/recorded-entries.ts';
import { replaySession } from '../replay/replay-session.ts';

/**
 * Ends a suspended session that no process can continue, such as after a change of its agent: it is aborted with this
 * reason, and told so from then on (D-6c). Throws `session_taken` while another process has it.
 */
export async function endForGood(journal: Journal, sessionId: string, reason: string): Promise<void> {
  const owner = randomId();
  if (!(await journal.lease(sessionId, owner))) throw runsElsewhere(sessionId);
  try {
    const entries = await journal.read(sessionId);
    if (hasEnded(entries)) return;
    const { events, counters } = await replaySession(journal, sessionId);
    const failure = { slugs: ['aborted' as const], retryAt: null, detail: reason };
    const fact: Fact = { type: 'session.aborted', turns: counters.turns, failure };
    const seq = events.at(-1)?.seq ?? 0;
    await journal.append(sessionId, {
      owner,
      after: entries.length,
      entries: [{ scope: '', type: 'stepped', seq, end: seq + 1, facts: [fact] }],
      change: { status: 'aborted', slugs: failure.slugs, waitingCalls: [] },
    });
  } finally {
    await giveBack(journal, sessionId, owner);
  }
}
