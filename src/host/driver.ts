import type { Delivery, Effect, EffectKind, EffectKinds, SessionCommand } from '../../machines/index.ts';
import type { Host } from './host.ts';

/** An effect under way: its key, and the signal that aborts when the machines take it back. */
export type EffectContext = { readonly key: string; readonly signal: AbortSignal };

/** The implementations of some kinds of effect. A rejection is a defect, never an expected fault (P-1, D-5). */
export type Effects<K extends EffectKind> = {
  [Kind in K]: (request: EffectKinds[Kind]['request'], context: EffectContext) => Promise<EffectKinds[Kind]['outcome']>;
};

/**
 * Performs an effect of any kind. The request and the folds over the facts must hold all it needs (D-1): a driver may
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
  /** Called before each delivery, in order: a journal holds these (D-3). */
  delivering(delivery: Delivery<Command>): void;
  /** Describes a defect, without secrets. */
  describeDefect(error: unknown): string;
  /** A result came for a settled effect, and was dropped (D-2). A result that comes after its effect was cancelled isn't counted. */
  late(key: string): void;
};

/**
 * A driver starts the effects that the host drains, and delivers what comes back, one delivery at a time:
 * - Commands and results are delivered in the order in which they were given (D-2).
 * - A command given in a step is delivered before any effect that the step asked for begins.
 * - A cancelled effect's signal aborts before the next delivery, and its result is dropped.
 */
export type Driver<Command = SessionCommand> = {
  /** Starts the actor tree. Commands given meanwhile are delivered after. */
  start(startTree: () => void): void;
  command(event: Command): void;
  /** Answers an effect, such as approval, from outside. */
  answer(key: string, outcome: EffectKinds[EffectKind]['outcome']): void;
};

export type MakeDriver = <Command>(host: Host, perform: Perform, owner: DriverOwner<Command>) => Driver<Command>;
