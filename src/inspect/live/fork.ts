import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { check } from '../../input/check.ts';
import { type PawlError, unexpected } from '../../input/errors.ts';
import type { Journal, JournalEntry } from '../../journal/journal.ts';
import { randomId } from '../../platform/random-id.ts';
import { createFork } from '../../session/recovery/fork-session.ts';
import { resumeSession } from '../../session/recovery/resume-session.ts';
import { recordedHead } from '../../session/replay/recorded-entries.ts';
import { type DeliveryChange, whatIf } from '../study/what-if.ts';

/** A session forked at a changed delivery. `resumed`: whether it runs in this process; otherwise it is suspended. */
export type Forked = { sessionId: string; resumed: boolean };

/**
 * Forks a session at a change: a new session with the same entries up to it, then the machines' decision on it. The
 * original stays as it is. The fork resumes in this process if its agent is in `agents`.
 */
export async function forkAt(
  journal: Journal,
  agents: readonly Agent[],
  sessionId: string,
  given: unknown,
): Promise<Forked> {
  const entries = await journal.read(sessionId);
  const head = recordedHead(entries, sessionId);
  const change = checked(given, entries);
  const { entries: kept } = whatIf(entries, change, { stops: true });
  const forkId = randomId();
  await createFork(journal, sessionId, forkId, kept);
  const agent = agents.find(({ name }) => name === head.agent);
  if (agent !== undefined) {
    await resumeSession(agent, { journal, sessionId: forkId }).catch(async (error) => {
      await journal.delete(forkId);
      throw error;
    });
  }
  return { sessionId: forkId, resumed: agent !== undefined };
}

const at = z.number({ error: 'a time in epoch ms' });
const text = z.string({ error: 'a text' });
const aChance = { error: 'a number from 0 to less than 1' };
const chance = z.number(aChance).min(0, aChance).lt(1, aChance);
const changeSchema = z.strictObject({
  entry: z.int({ error: 'the number of a delivery' }),
  delivery: z.union(
    [
      z.strictObject({ key: text, at, chance, outcome: z.record(z.string(), z.json()) }),
      z.strictObject({ at, event: z.strictObject({ type: z.literal('session.stop') }) }),
      z.strictObject({ at, event: z.strictObject({ type: z.literal('session.abort'), reason: text }) }),
      z.strictObject({ at, event: z.strictObject({ type: z.literal('session.steer'), text }) }),
    ],
    { error: 'a delivery: the key and outcome of an effect, or a command' },
  ),
});

/** A change names a delivery of the session; it answers the same effect, with the same fields, or is a command. */
function checked(given: unknown, entries: readonly JournalEntry[]): DeliveryChange {
  const { entry, delivery } = check(changeSchema, given, 'change', 'invalid_options');
  const recorded = entries[entry - 1];
  if (recorded?.type !== 'delivered') throw refused('change.entry', entry, 'the number of a delivery');
  if (!('outcome' in delivery)) return { entry, delivery };
  if (!('outcome' in recorded.delivery) || delivery.key !== recorded.delivery.key) {
    throw refused('change.delivery.key', delivery.key, 'the key of the delivery that is changed');
  }
  const lacking = Object.keys(recorded.delivery.outcome ?? {}).filter((name) => !(name in delivery.outcome));
  if (lacking.length === 0) return { entry, delivery };
  throw refused('change.delivery.outcome', delivery.outcome, `an outcome with ${lacking.join(', ')}`);
}

function refused(field: string, value: unknown, what: string): PawlError {
  return unexpected('invalid_options', field, value, what);
}
