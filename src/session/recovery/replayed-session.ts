import type { Agent } from '../../agent/definition.ts';
import { PawlError } from '../../input/errors.ts';
import type { JournalEntry, SessionHead } from '../../journal/journal.ts';
import { cannotBeReplayed, unknownSession } from '../../journal/journal-errors.ts';
import { type MakePlayer, type Player, Replay } from '../../journal/replay/replay.ts';
import { ScopeLog } from '../../journal/scope-log.ts';
import { TreeLog } from '../../journal/tree-log.ts';
import { recordedBudget } from '../joined-budget.ts';
import type { ResumeOptions } from '../options.ts';
import { type RootSession, RunningSession } from '../running-session.ts';
import { surroundingsOf } from '../wiring/surroundings.ts';

type Played = Player & { readonly session: RootSession };

/**
 * Plays a session's journal, while the event loop has its turns. The log and the listener receive nothing, and nothing is
 * written. The lease is renewed meanwhile, unless the session has ended: that is told as it was recorded, whatever the
 * machines decide today (D-6). Sessions that have ended conclude once `conclude` is called.
 */
export async function replayed<Report>(
  agent: Agent<Report>,
  options: ResumeOptions,
  head: SessionHead,
  entries: readonly JournalEntry[],
  owner: string,
  { hasEnded }: { hasEnded: boolean },
): Promise<{ session: RunningSession<Report>; tree: TreeLog; conclude: () => void }> {
  const tree = new TreeLog(options.journal, head, owner, entries);
  const { promise: played, resolve: conclude } = Promise.withResolvers<void>();
  const account = hasEnded ? null : recordedBudget(agent, head, options);
  const around = surroundingsOf(options, agent.definition.telemetry, account);
  let root: RunningSession<Report> | null = null;
  const make: MakePlayer<Played> = (begun, above, source) => {
    const log = new ScopeLog(tree, begun);
    if (above === null) {
      root = new RunningSession({ agent, around, head: begun, log, replay: source, played });
      return playerOf(root);
    }
    const { subSessions, sessionId } = above.session;
    const name = begun.call?.name ?? '';
    if (subSessions?.agentOf(name) === undefined) throw withoutSubAgent(sessionId, name);
    return playerOf(subSessions.restore(log, (parts) => new RunningSession({ ...parts, replay: source, played })));
  };
  const replay = new Replay<Played>(make, { readsOn: hasEnded });
  if (!hasEnded) tree.keep();
  const difference = await replay.playInTurns(entries).catch((error) => {
    tree.close();
    throw error;
  });
  if (difference !== null && !hasEnded) {
    tree.close();
    throw cannotBeReplayed(head, difference);
  }
  if (root === null) throw unknownSession(head.sessionId);
  return { session: root, tree, conclude };
}

function playerOf(session: RootSession): Played {
  return Object.assign(session.player(), { session });
}

function withoutSubAgent(sessionId: string, name: string): PawlError {
  return new PawlError(
    'agent_changed',
    `The agent is not the one that began the session ${sessionId}: the sub-agent ${name} is missing.`,
  );
}
