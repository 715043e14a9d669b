import type { InspectionEvent } from 'xstate';
import type { Delivery } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { SharedBudget } from '../journal/shared-budget.ts';
import type { InputMessage } from '../model/messages.ts';
import type { EventListener } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { SessionOverrides } from '../vocabulary/overrides.ts';

/** Limits in addition to the bound. When one is reached, a last request, if any is left, asks for the report. */
export type SessionBudget = {
  /** All requests, including the one for the report. */
  requests?: number;
  /** Input and output tokens together. */
  tokens?: number;
  /** Needs `pricing` for every model of the agent. */
  costUsd?: number;
  wallClockMs?: number;
};

export type SessionOptions<Context = unknown> = SessionOverrides & {
  /** The task. Pass `prompt`, `messages` or both. */
  prompt?: string;
  /** Earlier messages: a session's `result.conversation`, or AI SDK model messages. Repaired where needed (C-6). */
  messages?: readonly InputMessage[];
  /**
   * What the session's tools, policies, instructions and listeners are given, such as the user or a database. It is not
   * written down, and no model sees it. Its sub-agents get the same.
   */
  context?: Context;
  /**
   * Written down with the session, such as whose it is: in its journal, its result, its log lines and its spans. No model
   * sees it. Its sub-agents get the same.
   */
  metadata?: Metadata;
  /** Aborts the session. */
  signal?: AbortSignal;
  /** Pino, or any object with `debug`, `info`, `warn` and `error`; false logs nothing. Default: pino at warn on stderr. */
  logger?: LoggerOption;
  budget?: SessionBudget;
  /** A budget that it shares with other sessions, in addition to its own (B-8); see `sharedBudget`. */
  sharedBudget?: SharedBudget;
  /** Where sessions wait for the same target, the highest number goes first (P-7); default: 0. */
  priority?: number;
  onEvent?: EventListener;
  /** Spans and metrics of the session and its sub-agents, such as `openTelemetry()` of `pawl/otel`; default: none. */
  telemetry?: Telemetry;
  /** An XState inspection observer for every actor of the session and its sub-agents; see `pawl/inspect`. */
  inspect?: (event: InspectionEvent) => void;
  /** Default: a random UUID. */
  sessionId?: string;
  /**
   * Where the session is written down, such as `sqliteJournal('pawl.db')`, so that it can be resumed after a crash (D-3).
   * Default: nowhere, and a crash loses the session.
   */
  journal?: Journal;
  /** For tests; default: the system clock. */
  clock?: Clock;
  /** Returns a number in [0, 1) for the backoff's jitter. For tests; default: `Math.random`. */
  random?: () => number;
  /** Called before each delivery. The same input and deliveries reproduce the session (D-3). */
  onDelivery?: (delivery: Delivery) => void;
};

/** An agent whose context has a type requires it. */
export type WithContext<Context> = unknown extends Context ? { context?: unknown } : { context: Context };

/** The options of `resumeSession`: the session's own, which a journal does not hold. */
export type ResumeOptions = Pick<
  SessionOptions,
  | 'context'
  | 'sharedBudget'
  | 'priority'
  | 'signal'
  | 'logger'
  | 'onEvent'
  | 'telemetry'
  | 'inspect'
  | 'clock'
  | 'random'
  | 'onDelivery'
> & {
  journal: Journal;
  sessionId: string;
  /** For models that have another name now: the name of today, by the recorded one (D-6). */
  renamedModels?: Readonly<Record<string, string>>;
};
