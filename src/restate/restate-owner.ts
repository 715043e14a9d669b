import type { RestatePromise } from '@restatedev/restate-sdk';
import type { Effect } from '../../machines/index.ts';
import type { Outcome } from '../host/driver-core.ts';
import type { EffectPolicy } from '../host/journaled.ts';
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
  policy: EffectPolicy;
  /** How long an approval may take, in ms; null for no limit. */
  approvalTimeoutMs: number | null;
  /** Hands out a call of a client-side tool. Returns what its end in time is; null for any other effect. */
  handOut(effect: Effect): { timeoutMs: number | null; outcome: Outcome } | null;
  /** Handles a message, which becomes a command or an answer through this driver. */
  receive(message: SessionMessage): void;
  hasEnded(): boolean;
  /** Opens the tools again, in a process that did not prepare the session. Rejects if it cannot; the engine retries. */
  openTools(): Promise<void>;
  /** Called once, when the engine has replayed its journal. */
  caughtUp(): void;
  /** Takes the log lines of the last step and returns a function that writes them; null if it logged nothing. */
  takeLines(): (() => void) | null;
  children: RestateChildren;
};

/** Begins the invocation of a sub-agent at this time (epoch ms). */
export type BeginChild = (at: number) => RestatePromise<SessionResult>;

/** The sub-agents of a session. Each runs as its own invocation. */
export type RestateChildren = {
  /** Whether an effect is a call to a sub-agent. */
  isOne(effect: Effect): boolean;
  /** Requests a grant for a call; `settle` receives what begins the invocation, or null if the budget is spent. */
  ask(effect: Effect, settle: (begin: BeginChild | null) => void): void;
  /** Settles the requested grants. */
  share(): void;
  /**
   * Takes an invocation's result: what is left of its grant becomes available to the others. One that failed (`why` says
   * how) leaves nothing. Returns the outcome of its call; null if performing the call gives it.
   */
  ended(effect: Effect, end: { result: SessionResult | null; why: string }): Outcome | null;
  areRunning(): boolean;
  /** Passes on a message for a call of the session that it names, or of the only sub-agent that runs. */
  send(message: Extract<SessionMessage, { callId: string }>): void;
  /** Stops the sub-agents that run, and those that begin later. */
  stop(): void;
  /** Withdraws the request of a call, or aborts its sub-agent; other effects are left alone. */
  cancel(effect: Effect): void;
  /** Withdraws all requests, and aborts all that run. */
  abort(): void;
};
