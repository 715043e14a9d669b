import type { Fact, SessionCommand, SessionOutput } from '../../machines/index.ts';
import { contextOf } from '../agent/context.ts';
import type { Agent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { type Clock, systemClock } from '../host/clock.ts';
import type { MakeDriver, Perform } from '../host/driver.ts';
import { JournaledDriver } from '../host/journaled.ts';
import { memoryDriver } from '../host/memory.ts';
import { RunningMachine } from '../host/run-machine.ts';
import { messageOf } from '../input/errors.ts';
import type { SessionHead } from '../journal/journal.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import { loggerOf } from '../observe/log/logger.ts';
import { Observer, type Parent } from '../observe/observer.ts';
import { GuardedTelemetry, type TelemetrySession } from '../observe/telemetry.ts';
import { ownCopy } from '../platform/own-copy.ts';
import { redact, withoutSecrets } from '../secrets/redact.ts';
import { SessionEffects } from './effects/effects.ts';
import type { SessionOptions } from './options.ts';
import { SessionOwner } from './owner.ts';
import { effectPolicy } from './recovery/after-crash.ts';
import { sessionActor } from './session-machine.ts';
import { type Lineage, root, type SubSession } from './sub-agents/sub-session.ts';
import { type SubSessions, subSessionsOf } from './sub-agents/sub-sessions.ts';

/** The parts of a session. */
export type SessionParts<Report> = {
  agent: Agent<Report>;
  options: SessionOptions;
  /** What the session begins with, or began with before a crash. */
  head: SessionHead;
  /** Where the session is written down; null for a session in memory. */
  log: ScopeLog | null;
  lineage?: Lineage;
  parent?: Parent;
  /** A replay; see `Observer`. */
  beforeFact?: () => void;
  /** For tests: a driver in memory. */
  driver?: MakeDriver;
};

/** A session's parts, connected. */
export type Wired = {
  clock: Clock;
  secrets: readonly string[];
  observer: Observer;
  subSessions: SubSessions | null;
  effects: SessionEffects;
  machine: RunningMachine<SessionCommand, Fact, SessionOutput>;
  /** Null for a session in memory. */
  journaled: JournaledDriver | null;
};

/** Connects the machines, the effects and the folds. `begin` starts a sub-agent's session. */
export function wire(parts: SessionParts<unknown>, begin: (parts: SessionParts<unknown>) => SubSession): Wired {
  const { agent, options, head, log, lineage = root, beforeFact = null } = parts;
  const { clock = systemClock } = options;
  const logger = loggerOf(options.logger);
  const context = contextOf(agent, options.context);
  const secrets = secretsOf(agent.definition, lineage.secrets);
  const times = { deliveredAt: head.input.at, now: () => clock.now() };
  const about = {
    sessionId: head.sessionId,
    agent: agent.name,
    metadata: Object.freeze(withoutSecrets(head.metadata, secrets)),
    parent: parentOf(head, lineage),
    messages: () => ownCopy(withoutSecrets(observer.folds.conversation.messages, secrets)),
    instructions: () => withoutSecrets(observer.folds.conversation.instructions, secrets),
    input: (index: number) => withoutSecrets(observer.folds.conversation.inputOf(index), secrets),
  };
  const telemetry = options.telemetry === undefined ? null : new GuardedTelemetry(options.telemetry, about);
  const observer: Observer = new Observer({
    sessionId: head.sessionId,
    agent: agent.name,
    metadata: head.metadata,
    parentSessionId: lineage.parentSessionId,
    secrets,
    messages: [...head.messages],
    logger,
    onEvent: options.onEvent ?? null,
    telemetry,
    context,
    slices: agent.definition.slices ?? {},
    tools: agent.tools,
    resultBytes: head.resultBytes,
    recorder: log,
    parent: parts.parent ?? null,
    beforeFact,
    times,
  });
  const above = { ...parts, options: { ...options, logger, clock }, observer, lineage, secrets };
  const subSessions = subSessionsOf(above, begin);
  const subAgents = subSessions?.subAgents ?? null;
  const contextFor = contextsOf(agent, options.context, context);
  const effects = new SessionEffects({ agent, head, observer, subAgents, clock, secrets, log, contextFor });
  const perform: Perform = (effect, context) => effects.perform(effect, context);
  const policy = effectPolicy(effects.catalog, () => (subAgents?.tree().length ?? 0) > 0);
  const journaled = log === null ? null : new JournaledDriver(log, policy, beforeFact !== null);
  const inMemory = parts.driver ?? memoryDriver;
  const machine = new RunningMachine<SessionCommand, Fact, SessionOutput>({
    actor: sessionActor(head.input),
    perform: telemetry?.performing(perform) ?? perform,
    driver: journaled === null ? inMemory : (...attached) => journaled.attach(...attached),
    clock,
    random: options.random ?? Math.random,
    signal: options.signal,
    abortCommand: (reason) => abortion(reason, secrets),
    inspect: options.inspect,
    owner: new SessionOwner({ observer, secrets, times, onDelivery: options.onDelivery, subAgents }),
  });
  return { clock, secrets, observer, subSessions, effects, machine, journaled };
}

/** Returns what gives each agent of a session its context, as its own schema makes it. */
function contextsOf(agent: Agent, given: unknown, own: unknown): (speaker: string | null) => unknown {
  const others = agent.voices.filter(({ name }) => name !== null);
  if (others.length === 0) return () => own;
  const contexts = new Map(
    others.map(({ name, definition, checkContext }) => [
      name,
      contextOf({ name: definition.name, checkContext }, given),
    ]),
  );
  return (speaker) => (speaker === null ? own : contexts.get(speaker));
}

/** Returns the call that a sub-agent answers. */
function parentOf({ call }: SessionHead, { parentSessionId }: Lineage): TelemetrySession['parent'] {
  return call === null || parentSessionId === null ? null : { sessionId: parentSessionId, callId: call.callId };
}

export function abortion(reason: unknown, secrets: readonly string[]): SessionCommand {
  return { type: 'session.abort', reason: redact(messageOf(reason), secrets) };
}
