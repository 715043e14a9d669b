import type { ContextWindow, RequestSize } from '../contract/context.ts';
import type { Fact, Failure } from '../contract/events.ts';
import type { Bound, Budget, Spent } from '../contract/limits.ts';
import type { Change } from '../contract/record.ts';
import type { Slug } from '../contract/slugs.ts';
import type { TargetState } from '../contract/targets.ts';

/** A session's input: plain JSON, without the bodies (D-6). */
export type SessionInput = {
  bound: Bound;
  maxToolCalls: number;
  /** Target names, in order of preference. */
  targets: string[];
  finish: 'report' | 'text';
  budget: Budget;
  window: ContextWindow;
  /** The context windows of targets that have their own, in tokens, by name. */
  windows?: Record<string, number>;
  /** Whether each turn is planned before it begins (T-7). */
  plansTurns: boolean;
  /** The share of the context window's room from which on the conversation is compacted; without it, it never is (T-9). */
  compactsAt?: number;
  /** Whether each attempt draws on a budget that is shared with other sessions (B-8); default: false. */
  sharesBudget?: boolean;
  /** Epoch ms of the start. */
  at: number;
};

export type SessionContext = Pick<
  SessionInput,
  'maxToolCalls' | 'finish' | 'budget' | 'window' | 'plansTurns' | 'at'
> & {
  maxRetries: number;
  /** Only ever shrinks (B-4). */
  maxTurns: number;
  /** The current turn, or the previous one while the session advances; 0 before the first. */
  turn: number;
  targets: TargetState[];
  current: number;
  /** The target to return to after turns that chose their own; null if none did. */
  home: number | null;
  /** The targets of the next turn as it is planned, by index; null for all, from the current one on. */
  planned: number[] | null;
  /** The names of the tools that the next turn may call, if its requests offer more; else null (B-5). */
  permits: string[] | null;
  spent: Spent;
  /** The size of the next request (T-6). */
  size: RequestSize;
  /** Null if the conversation is never compacted. */
  compactsAt: number | null;
  /** Whether a compaction was asked for, and is still to come. */
  compactRequested: boolean;
  /** The size of the next request after the last compaction, or when one failed; 0 before the first. */
  compactedTokens: number;
  /** The turn for which a summary took the request of an attempt; 0 if none did. */
  summarised: number;
  /** The targets, by index, whose gates are asked before an attempt (P-7). */
  gated: number[];
  sharesBudget: boolean;
  /** Why the last turn is early. */
  lastTurnSlugs: Slug[];
  stopRequested: boolean;
  /** Why the session was aborted; null if it was not. */
  abortReason: string | null;
  /** How the session ends; null until that is known. */
  ending: Ending | null;
};

export type Ending = { status: 'succeeded' } | { status: 'failed' | 'aborted'; failure: Failure };

export type Measures = Change<SessionContext, Fact>;

export type SessionOutput = Ending;
