import type { AttemptOutput } from '../attempt/attempt.types.ts';
import type { ContextWindow, RequestSize } from '../contract/context.ts';
import type { StopSlug } from '../contract/effects.ts';
import type { Budget, Spent } from '../contract/limits.ts';
import type { Slug } from '../contract/slugs.ts';
import type { TargetState } from '../contract/targets.ts';

export type TurnInput = {
  turn: number;
  isLastTurn: boolean;
  /** Why this is the last turn, other than the turn limit. */
  lastTurnSlugs: Slug[];
  /** Maximum attempts in the turn, including the first (B-1). */
  maxAttempts: number;
  maxToolCalls: number;
  finish: 'report' | 'text';
  targets: TargetState[];
  /** The targets that the turn may try, by index; it starts with the first. */
  order: number[];
  /** The names of the tools that the turn may call, if its requests offer more; else null (B-5). */
  permits: string[] | null;
  /** The target of the last attempt, in this turn or before it. */
  current: number;
  budget: Budget;
  spent: Spent;
  /** Epoch ms of the last delivery before the turn. */
  at: number;
  window: ContextWindow;
  /** The size of the next request (T-6). */
  size: RequestSize;
  /** The targets, by index, whose gates are asked before an attempt (P-7). */
  gated: number[];
  /** Whether each attempt draws on a shared budget (B-8). */
  sharesBudget: boolean;
  /** Why approvals are no longer requested; null while they are. */
  stopSlug: StopSlug | null;
};

export type TurnContext = TurnInput & {
  /** The current attempt, or the previous one while the turn chooses; 0 before the first. */
  attempt: number;
  /** Only the report is permitted: on the last turn, or with one request left (see `requestsLeft`). */
  reportOnly: boolean;
  /** The previous attempt; null before the first. */
  last: AttemptOutput | null;
  /** The next attempt's target and time while the turn waits for it, or asks whether it may begin. */
  waiting: { target: number; dueAt: number } | null;
};

/** Why a turn could not continue. */
export type Exhaustion = {
  /**
   * `limited`: every living target is limited for longer than the longest wait. `context`: the next request does not
   * fit the context window.
   */
  why: 'attempts' | 'budget' | 'targets' | 'limited' | 'context';
  /** When a target is next free (epoch ms), if beyond the longest wait (P-3); else null. */
  retryAt: number | null;
};

export type TurnOutput = {
  status: 'finished' | 'progressed' | 'exhausted' | 'aborted';
  exhaustion: Exhaustion | null;
  /** Slugs of the last attempt, if it failed. */
  slugs: Slug[];
  /** Why the last attempt failed, in one sentence, if something was thrown or went wrong; null otherwise. */
  detail: string | null;
  attempts: number;
  targets: TargetState[];
  current: number;
  spent: Spent;
  at: number;
  /** The size of the next request, after the turn. */
  size: RequestSize;
  gated: number[];
};
