import type { RestatePromise } from '@restatedev/restate-sdk';
import type { Effect, EffectOf } from '../../machines/index.ts';
import type { Outcome } from '../host/driver-core.ts';
import type { SessionMessage } from '../journal/journal.ts';
import type { SessionResult } from '../session/session.ts';

/** A message from another process, with its time (epoch ms). */
export type TimedMessage = { at: number; message: SessionMessage };

/** A cancelled invocation aborts its session. */
export function cancellation(at: number, reason: string): TimedMessage {
  return { at, message: { type: 'session.abort', reason } };
}

/** What the driver needs from its session. */
export type RestateOwner = {
  /** The outcome of an effect that an earlier attempt of the engine had begun; null if it is performed again (D-4). */
  interrupted(effect: Effect): Outcome | null;
  /** How long an approval may take, in ms; null for no limit. */
  approvalTimeoutMs: number | null;
  /** Hands out a call of a client-side tool. Returns what its end in time is; null for a call of any other tool. */
  handOut(effect: EffectOf<'tool'>): { timeoutMs: number | null; outcome: Outcome } | null;
  /** Handles a message, which becomes a command or an answer through this driver. */
  receive(message: SessionMessage): void;
  hasEnded(): boolean;
  /** Opens the tools again, in a process that did not prepare the session. Rejects if it cannot; the engine retries. */
  openTools(): Promise<void>;
  /** Called once, when the engine has replayed its journal. */
  caughtUp(): void;
  /** Takes the log lines of the last step and returns a function that writes them; null if it logged nothing. */
  takeLines(): (() => void) | null;
  /** The most bytes that the engine stores as one value. */
  maxValueBytes: number;
  children: RestateChildren;
};

/** A sub-agent that has begun. */
export type BegunChild = {
  invocation: RestatePromise<SessionResult>;
  /**
   * Takes the invocation's result, or why it has none: what is left of its grant becomes available to the others. Without a
   * result, all of it counts as spent. Returns the outcome of its call; null if performing the call gives it.
   */
  ended(end: SessionResult | string): Outcome | null;
};

/** Begins a sub-agent at this time (epoch ms). */
export type BeginChild = (at: number) => BegunChild;

/** The sub-agents of a session. Each runs as its own invocation. */
export type RestateChildren = {
  /**
   * Requests a grant for a call; `settle` receives what begins the invocation, or null if the budget is spent. Returns
   * false, and requests nothing, if the call is not one to a sub-agent.
   */
  ask(effect: EffectOf<'tool'>, settle: (begin: BeginChild | null) => void): boolean;
  /** Settles the requested grants. */
  share(): void;
  areRunning(): boolean;
  /** Passes on a message for a call of the session that it names, or of the only sub-agent that runs. */
  send(message: Extract<SessionMessage, { callId: string }>): void;
  /** Stops the sub-agents that run, and those that begin later. */
  stop(): void;
  /** Withdraws the request of a call, or aborts its sub-agent; other effects are left alone. */
  cancel(key: string): void;
  /** Withdraws all requests, and aborts all that run. */
  abort(): void;
};
