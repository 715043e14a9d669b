import type { InspectionEvent } from 'xstate';
import type { Counters, Delivery, Failure, FilePart, Message, Slug } from '../../machines/index.ts';
import type { SessionOverrides } from '../agent/narrow.ts';
import type { Clock } from '../host/clock.ts';
import type { Journal } from '../journal/journal.ts';
import type { InputMessage } from '../model/messages.ts';
import type { EventListener, SessionEvent } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { TurnRecord } from '../observe/records.ts';
import type { Telemetry } from '../observe/telemetry.ts';

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
  /** Aborts the session. */
  signal?: AbortSignal;
  /** Pino, or any object with `debug`, `info`, `warn` and `error`; false logs nothing. Default: pino at warn on stderr. */
  logger?: LoggerOption;
  budget?: SessionBudget;
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

/** The report that the agent delivered. */
export type AcceptedReport<Report> = {
  source: 'tool_call' | 'text_fallback';
  format: string;
  content: Report;
  accepted: true;
  /** The files of the accepted reply, such as images, if it held any. */
  files?: readonly FilePart[];
};

/** The report that Pawl writes for a session that did not succeed. */
export type SyntheticReport = { source: 'synthetic'; format: string; content: string; accepted: false };

/** The report that every session ends with (F-5). */
export type SessionReport<Report> = AcceptedReport<Report> | SyntheticReport;

/** The account of a session. `success` tells its two kinds apart, for the type checker too. */
export type SessionResult<Report = unknown> = {
  sessionId: string;
  agent: string;
  /** Why the session did not succeed, the deciding reason first; empty on success. */
  slugs: Slug[];
  counters: Counters;
  conversation: Message[];
  /** The agent that the conversation was handed to last, by its name in `handoffs` (T-8); null if it was not. */
  handedTo: string | null;
  turns: TurnRecord[];
  slices: Record<string, unknown>;
} & (
  | { success: true; status: 'succeeded'; report: AcceptedReport<Report>; failure?: never }
  | {
      success: false;
      /** `suspended`: the session was let go of, and can be resumed from its journal. */
      status: 'failed' | 'aborted' | 'suspended';
      report: SyntheticReport;
      failure: Failure;
    }
);

/** An agent whose context has a type requires it. */
export type WithContext<Context> = unknown extends Context ? { context?: unknown } : { context: Context };

/** The options of `resumeSession`: the session's own, which a journal does not hold. */
export type ResumeOptions = Pick<
  SessionOptions,
  'context' | 'signal' | 'logger' | 'onEvent' | 'telemetry' | 'inspect' | 'clock' | 'random' | 'onDelivery'
> & { journal: Journal; sessionId: string };

export type SuspendOptions = { graceMs?: number };

/** `isError`: the tool failed, and the output says how. `sessionId`: see `approve`. */
export type AnswerOptions = { isError?: boolean; sessionId?: string };

export type ApprovalInput = { approved: boolean; reason?: string; sessionId?: string };

export type Session<Report = unknown> = {
  readonly sessionId: string;
  /** All events, from the first, for each reader at its own pace (S-6). */
  readonly events: AsyncIterable<SessionEvent>;
  /** The events from position `seq` (see `SessionEvent`), such as the one after the last that a page has seen. */
  eventsFrom(seq: number): AsyncIterable<SessionEvent>;
  /** Never rejects (F-5). */
  readonly result: Promise<SessionResult<Report>>;
  /** Live while the session runs; do not modify. */
  readonly counters: Readonly<Counters>;
  /**
   * Adds a user message to the next request and to the conversation. Returns false once a report is accepted or the
   * session has ended, since no request would carry the message.
   */
  steer(text: string): boolean;
  /** Lets running work finish, then asks for the report on the next turn. */
  stop(): void;
  /** Ends the session now. Every call received so far is answered. */
  abort(reason?: string): void;
  /**
   * Decides a call that awaits approval, here or in a sub-agent. Returns false if no call matches, or several do: Pawl
   * makes call ids if a model sends none, so sub-agents may share one. Then also pass the event's `sessionId`.
   */
  approve(callId: string, decision: ApprovalInput): boolean;
  /**
   * Answers a call of a client-side tool (one without `execute`), which the event `tool.handedOut` named, with JSON.
   * Returns false if no such call waits, here or in a sub-agent, or several do (see `approve`).
   */
  answer(callId: string, output: unknown, options?: AnswerOptions): boolean;
  /**
   * Lets go of a session with a journal, so that another process can resume it at once: begins nothing more, waits
   * until the running requests and tools have ended, writes all down and gives back the lease. What still runs after
   * `graceMs` (default: 10,000) counts as interrupted (D-4). `result` then has the status `suspended`.
   */
  suspend(options?: SuspendOptions): Promise<void>;
};
