import type { Delivery, Effect, EffectKind, EffectKinds, SessionCommand } from '../../machines/index.ts';
import type { Host } from './host.ts';

/**
 * A running effect: its key, the signal that aborts when the machines cancel it, and when it first began (epoch ms).
 * `isAgain`: that was in an earlier life of the session, in which it may have done what it does.
 */
export type EffectContext = {
  readonly key: string;
  readonly signal: AbortSignal;
  readonly since: number;
  readonly isAgain: boolean;
};

/** The implementations of some effect kinds. A rejection is a defect, never an expected fault (P-1, D-5). */
export type Effects<K extends EffectKind> = {
  [Kind in K]: (request: EffectKinds[Kind]['request'], context: EffectContext) => Promise<EffectKinds[Kind]['outcome']>;
};

/**
 * Performs an effect of any kind. The request and the folds over the facts must hold all its data (D-1): a driver may
 * perform it in another process. Rejects an unknown kind, which is a defect.
 */
export type Perform = (effect: Effect, context: EffectContext) => Promise<EffectKinds[EffectKind]['outcome']>;

/** Methods that a driver calls on the session or run that it drives. None of them may throw. */
export type DriverOwner<Command = SessionCommand> = {
  /** Epoch ms. */
  now(): number;
  /** In [0, 1). */
  chance(): number;
  /** Sends a command to the root of the actor tree. */
  command(event: Command): void;
  /** Called before each delivery, in order, for a journal (D-3). */
  delivering(delivery: Delivery<Command>): void;
  /** Describes a defect, without secrets. */
  describeDefect(error: unknown): string;
  /** A result for a settled effect arrived and was dropped (D-2). Results for cancelled effects don't count. */
  late(key: string): void;
};

/** A step of the actor tree that is still to be taken: its start (`delivery` is null), or a delivery. */
export type DriverStep = { delivery: Delivery | null; take(): void };

/**
 * A driver starts the effects drained from the host, and delivers the results, one at a time:
 * - Commands and results are delivered in the order of their arrival (D-2).
 * - A command sent in a step is delivered before any effect requested in that step begins.
 * - A cancelled effect's signal aborts before the next delivery, and its result is dropped.
 */
export type Driver<Command = SessionCommand> = {
  /** Starts the actor tree. Commands sent meanwhile are delivered later. */
  start(startTree: () => void): void;
  command(event: Command): void;
  /** Answers an effect from outside, as in approvals. */
  answer(key: string, outcome: EffectKinds[EffectKind]['outcome']): void;
};

export type MakeDriver<Command = SessionCommand> = (
  host: Host,
  perform: Perform,
  owner: DriverOwner<Command>,
) => Driver<Command>;
