import type { Fact, SessionCommand, SessionOutput } from '../../../machines/index.ts';
import type { Perform } from '../../host/driver.ts';
import { JournaledDriver } from '../../host/journaled.ts';
import { memoryDriver } from '../../host/memory.ts';
import { ResumedDriver } from '../../host/resumed.ts';
import { RunningMachine } from '../../host/run-machine.ts';
import { messageOf } from '../../input/errors.ts';
import type { Observer } from '../../observe/observer.ts';
import { redact } from '../../secrets/redact.ts';
import type { SessionEffects } from '../effects/effects.ts';
import { effectPolicy } from '../recovery/after-crash.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';
import type { SessionIdentity } from './identity.ts';
import type { ObservedSession } from './observing.ts';
import { SessionOwner } from './owner.ts';
import { sessionActor } from './session-machine.ts';

export type SessionMachine = RunningMachine<SessionCommand, Fact, SessionOutput>;

/** What drives a session. */
export type Driving = {
  machine: SessionMachine;
  /** The driver that writes it down; null for a session in memory. */
  journaled: JournaledDriver | ResumedDriver | null;
  /** The same driver, if the session is resumed; else null. */
  resumed: ResumedDriver | null;
};

/** The last step of wiring a session: its machine, with the driver that performs its effects. */
export function drive(
  { around, head, log, secrets, driver = memoryDriver }: SessionIdentity,
  { observer, telemetry, times }: ObservedSession,
  effects: SessionEffects,
  subAgents: SubAgents | null,
): Driving {
  const perform: Perform = (effect, context) => effects.perform(effect, context);
  const policy = effectPolicy(effects.catalog, observer.folds, () => (subAgents?.tree().length ?? 0) > 0);
  const resumed = log !== null && observer.isSilent ? new ResumedDriver(log, policy) : null;
  const journaled = log === null ? null : (resumed ?? new JournaledDriver(log, policy));
  const machine: SessionMachine = new RunningMachine<SessionCommand, Fact, SessionOutput>({
    actor: sessionActor(head.input),
    perform: telemetry?.performing(perform) ?? perform,
    driver: journaled === null ? driver : (...attached) => journaled.attach(...attached),
    clock: around.clock,
    random: around.random,
    signal: around.signal,
    abortCommand: (reason) => abortion(reason, secrets),
    inspect: around.inspect,
    owner: new SessionOwner({ observer, secrets, times, onDelivery: around.onDelivery, subAgents }),
  });
  return { machine, journaled, resumed };
}

/** Whether a request may still carry what is said now (D-2e). */
export function isSteerable({ machine, observer }: { machine: SessionMachine; observer: Observer }): boolean {
  // A listener may ask in the middle of a step, when the machine's state is still that before it.
  return machine.hasTag('steerable') && observer.folds.records.mayRequest;
}

/** Returns the command that aborts a session, whose reason may be anything. */
export function abortion(reason: unknown, secrets: readonly string[]): SessionCommand {
  return { type: 'session.abort', reason: redact(messageOf(reason), secrets) };
}
