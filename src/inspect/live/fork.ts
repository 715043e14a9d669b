import type { Delivery } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { expected, PawlError } from '../../errors.ts';
import type { Journal, JournalEntry } from '../../journal/journal.ts';
import { unknownSession } from '../../journal/journal-errors.ts';
import { createFork } from '../../session/recovery/fork-session.ts';
import { resumeSession } from '../../session/recovery/resume-session.ts';
import { type Change, whatIf } from '../study/what-if.ts';

/** A session that left another at a changed delivery. `resumed`: it goes on here; otherwise it waits to be resumed. */
export type Forked = { sessionId: string; resumed: boolean };

/**
 * Makes a session of its own of a change: the same up to it, with the machines' decision on it, and its origin in its
 * metadata (`forkedFrom`). The other stays as it is. It goes on here if its agent is among `agents`.
 */
export async function forkAt(
  journal: Journal,
  agents: readonly Agent[],
  sessionId: string,
  given: Change,
): Promise<Forked> {
  const entries = await journal.read(sessionId);
  const [first] = entries;
  if (first?.type !== 'started') throw unknownSession(sessionId);
  const change = checked(given, entries);
  const { entries: kept } = whatIf(entries, change, { stops: true });
  const [begun, ...rest] = kept;
  if (begun?.type !== 'started') throw unknownSession(sessionId);
  const metadata = { ...begun.head.metadata, forkedFrom: sessionId };
  const forkId = crypto.randomUUID();
  await createFork(journal, sessionId, forkId, [{ ...begun, head: { ...begun.head, metadata } }, ...rest]);
  const agent = agents.find(({ name }) => name === first.head.agent);
  if (agent !== undefined) await resumeSession(agent, { journal, sessionId: forkId });
  return { sessionId: forkId, resumed: agent !== undefined };
}

/** A change names a delivery of the session, and answers the same effect or is a command. */
function checked({ entry, delivery }: Change, entries: readonly JournalEntry[]): Change {
  const recorded = entries[entry - 1];
  const isDelivery =
    typeof delivery === 'object' && delivery !== null && ('event' in delivery || 'outcome' in delivery);
  if (!isDelivery) throw new PawlError('invalid_options', expected('change.delivery', delivery, 'a delivery'));
  const key = keyOf(delivery);
  if (recorded?.type === 'delivered' && (key === null || key === keyOf(recorded.delivery))) return { entry, delivery };
  throw new PawlError('invalid_options', expected('change.entry', entry, 'the number of the delivery that is changed'));
}

const keyOf = (delivery: Delivery) => ('key' in delivery ? delivery.key : null);
