import type { RestatePromise } from '@restatedev/restate-sdk';
import type { Effect, Json } from '../../machines/index.ts';
import type { EffectPolicy } from '../host/journaled.ts';
import type { SessionMessage } from '../journal/journal.ts';

/** A message of another process, with its time (epoch ms). */
export type TimedMessage = { at: number; message: SessionMessage };

/** What the driver needs of its session. */
export type RestateOwner = {
  policy: EffectPolicy;
  /** Takes in a message; it becomes a command or an answer, through this driver. */
  receive(message: SessionMessage): void;
  hasEnded(): boolean;
  /** Opens the tools, which had been open in another process. Rejects if it cannot: then the engine tries again. */
  openTools(): Promise<void>;
  /** The engine has caught up: what happens from now on happens for the first time. */
  goLive(): void;
  /** Writes the log lines of the last step, if there are any. */
  lines: { take(): (() => void) | null };
  children: RestateChildren;
};

/** The sub-agents of a session, which are invocations of their own. */
export type RestateChildren = {
  /** Whether an effect is the call of a sub-agent. */
  isOne(effect: Effect): boolean;
  /** Asks for a place in the shared budget; `settle` gets the result of the sub-agent that began, or null for none. */
  ask(effect: Effect, settle: (result: RestatePromise<Json> | null) => void): void;
  /** Grants what was asked for. */
  share(): void;
  /** Takes in a result, so that the call can be performed. May let others begin. */
  ended(effect: Effect, result: Json): void;
  /** Sends a message to one sub-agent, or to all. */
  send(message: SessionMessage, effect?: Effect): void;
};
