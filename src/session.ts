import type { InspectionEvent } from 'xstate';
import type { Counters, Delivery, Failure, Message, Slug } from '../machines/index.ts';
import type { Clock } from './host/clock.ts';
import type { InputMessage } from './model/messages.ts';
import type { EventListener, SessionEvent } from './observe/events.ts';
import type { Logger } from './observe/log.ts';
import type { TurnRecord } from './observe/records.ts';

/** What a session may spend beside its bound. Once spent, one more request is made for the report if there may be one. */
export type SessionBudget = {
  /** All requests, the one for the report included. */
  requests?: number;
  /** Input and output together. */
  tokens?: number;
  /** Needs `pricing` for every model of the agent. */
  costUsd?: number;
  wallClockMs?: number;
};

export type SessionOptions = {
  /** The task. `prompt` or `messages` is needed. */
  prompt?: string;
  /** What came before: `result.conversation` of an earlier session, or AI SDK model messages. Put right where needed (C-6). */
  messages?: readonly InputMessage[];
  /** Aborts the session. */
  signal?: AbortSignal;
  /** Any pino logger; default pino at level warn on stderr. */
  logger?: Logger;
  budget?: SessionBudget;
  onEvent?: EventListener;
  /** An inspection observer of XState's, for every actor of the session and of its sub-agents: see `pawl/inspect`. */
  inspect?: (event: InspectionEvent) => void;
  /** Default a random UUID. */
  sessionId?: string;
  /** Default the system's. For tests. */
  clock?: Clock;
  /** In [0, 1), for the jitter of the backoff; default `Math.random`. For tests. */
  random?: () => number;
  /** Sees each delivery before it is made: with the same input they bring about the same session (D-3). */
  onDelivery?: (delivery: Delivery) => void;
};

/** The report that every session ends with (F-5). */
export type SessionReport<Report> =
  | { source: 'tool_call' | 'text_fallback'; format: string; content: Report; accepted: true }
  | { source: 'synthetic'; format: string; content: string; accepted: false };

export type SessionResult<Report = unknown> = {
  sessionId: string;
  agent: string;
  status: 'succeeded' | 'failed' | 'aborted';
  success: boolean;
  report: SessionReport<Report>;
  /** Why it did not succeed, the deciding reason first; empty on success. */
  slugs: Slug[];
  counters: Counters;
  conversation: Message[];
  turns: TurnRecord[];
  slices: Record<string, unknown>;
  failure?: Failure;
};

export type Session<Report = unknown> = {
  readonly sessionId: string;
  readonly events: AsyncIterable<SessionEvent>;
  /** Never rejects (F-5). */
  readonly result: Promise<SessionResult<Report>>;
  /** Live while the session runs; not to be changed. */
  readonly counters: Readonly<Counters>;
  /** Adds a user message, which goes with the next request and stays. False: the session has ended. */
  steer(text: string): boolean;
  /** Lets what runs come to its end, and asks for the report on the next turn. */
  stop(): void;
  /** Ends the session now; every call that had come is answered. */
  abort(reason?: string): void;
  /**
   * Decides about a call that waits for it, here or in a sub-agent. False: no such call waits, or more than one does (models
   * that give no ids have them made): then `sessionId`, which the event tells, says which is meant.
   */
  approve(callId: string, decision: { approved: boolean; reason?: string; sessionId?: string }): boolean;
};
