import type { Agent } from '../../agent/definition.ts';
import { PawlError } from '../../input/errors.ts';
import type { JournalEntry, SessionHead } from '../../journal/journal.ts';
import { unknownSession } from '../../journal/journal-errors.ts';
import { type Player, Replay } from '../../journal/replay.ts';
import { ScopeLog } from '../../journal/scope-log.ts';
import { TreeLog } from '../../journal/tree-log.ts';
import type { ResumeOptions } from '../options.ts';
import { type RootSession, RunningSession } from '../running-session.ts';

/** Plays a session's journal. The log and the listener receive nothing, and nothing is written. */
export function replayed<Report>(
  agent: Agent<Report>,
  options: ResumeOptions,
  head: SessionHead,
  entries: readonly JournalEntry[],
  owner: string,
): { session: RunningSession<Report>; tree: TreeLog } {
  const tree = new TreeLog(options.journal, head, owner, entries);
  const { journal: _, sessionId: __, ...own } = options;
  let root: RunningSession<Report> | null = null;
  const replay = new Replay<SessionPlayer>((begun, above, beforeFact) => {
    const log = new ScopeLog(tree, begun);
    if (above !== null) {
      const { subSessions } = above.session.wired;
      const name = begun.call?.name ?? '';
      if (subSessions?.agentOf(name) === undefined) throw withoutSubAgent(above.session.sessionId, name);
      return new SessionPlayer(subSessions.restore(log, (parts) => new RunningSession({ ...parts, beforeFact })));
    }
    root = new RunningSession({ agent, options: own, head: begun, log, beforeFact });
    return new SessionPlayer(root);
  });
  const difference = replay.play(entries);
  if (difference !== null) {
    const { entry, recorded, replayed: now } = difference;
    throw new PawlError(
      'invalid_journal',
      `The journal of the session ${head.sessionId} cannot be replayed: entry ${entry} says "${recorded}", and the machines say "${now}".`,
    );
  }
  if (root === null) throw unknownSession(head.sessionId);
  return { session: root, tree };
}

function withoutSubAgent(sessionId: string, name: string): PawlError {
  return new PawlError(
    'agent_changed',
    `The agent is not the one that began the session ${sessionId}: the sub-agent ${name} is missing.`,
  );
}

/** A session that is replayed to go on. */
class SessionPlayer implements Player {
  readonly session: RootSession;

  constructor(session: RootSession) {
    this.session = session;
    session.wired.machine.start();
  }

  deliver: Player['deliver'] = (delivery) => this.session.wired.journaled?.replayDelivery(delivery);

  mark: Player['mark'] = (key, at) => this.session.wired.journaled?.replayMark(key, at);

  step: Player['step'] = () => {
    const { log, wired } = this.session;
    const facts = log?.retaking(() => wired.journaled?.replayStep() === true) ?? null;
    return facts === null && wired.machine.defect === undefined ? [] : facts;
  };

  resight: Player['resight'] = (sighting, at) => {
    const { observer, subSessions } = this.session.wired;
    observer.resight(sighting, at);
    if (sighting.type === 'subAgent.ended') subSessions?.subAgents.restoreEnd(sighting.callId);
  };

  position: Player['position'] = () => this.session.wired.observer.position;

  moveTo: Player['moveTo'] = (position) => this.session.wired.observer.moveTo(position);
}
