import type { Observer } from '../../observe/observer.ts';
import { SessionEffects } from '../effects/effects.ts';
import type { SubSession } from '../sub-agents/sub-session.ts';
import { type SubSessions, subSessionsOf } from '../sub-agents/sub-sessions.ts';
import { type Driving, drive } from './driving.ts';
import { identityOf, type SessionIdentity, type SessionParts } from './identity.ts';
import { observe, type Times } from './observing.ts';

/** A session's parts, connected. */
export type Wired<Report> = {
  identity: SessionIdentity<Report>;
  observer: Observer;
  times: Times;
  /** What makes its sub-agents; null for an agent without any. */
  subSessions: SubSessions | null;
  effects: SessionEffects;
  /** Before it sends anything; `goesOn`: after a replay. Its gates tell it to ask them (P-7). */
  joinGates: (how: { goesOn: boolean }) => void;
} & Driving;

/** Connects the folds, the effects and the machines. `begin` starts a sub-agent's session. */
export function wire<Report>(
  parts: SessionParts<Report>,
  begin: (parts: SessionParts<unknown>) => SubSession,
): Wired<Report> {
  const identity = identityOf(parts);
  const observation = observe(identity, parts);
  const { observer, times } = observation;
  const subSessions = subSessionsOf(identity, observer, begin);
  const subAgents = subSessions?.subAgents ?? null;
  const effects = new SessionEffects(identity, observer, subAgents);
  const driving = drive(identity, observation, effects, subAgents);
  const joinGates = (how: { goesOn: boolean }) =>
    effects.admissions.open((command) => driving.machine.command(command), how);
  return { identity, observer, times, subSessions, effects, joinGates, ...driving };
}
