import type { AttemptOutput } from '../attempt/attempt.types.ts';
import type { StopSlug } from '../contract/effects.ts';
import type { Budget, Spent } from '../contract/limits.ts';
import type { Slug } from '../contract/slugs.ts';
import type { TargetState } from '../contract/targets.ts';

export type TurnInput = {
  turn: number;
  isLastTurn: boolean;
  /** Why it came to the last turn, where it was not the number of turns alone. */
  lastTurnSlugs: Slug[];
  /** All attempts of the turn, the first included (B-1). */
  maxAttempts: number;
  maxToolCalls: number;
  finish: 'report' | 'text';
  /** In order of preference; `current` is the index that the turn begins with. */
  targets: TargetState[];
  current: number;
  budget: Budget;
  spent: Spent;
  /** Epoch ms of the last delivery before the turn. */
  at: number;
  omitTokens: number;
  /** Why nobody is asked for an approval any more; null: somebody is. */
  stopSlug: StopSlug | null;
};

export type TurnContext = TurnInput & {
  /** The attempt under way, or the one before while the turn chooses; 0 before the first. */
  attempt: number;
  /** The budget allows one more request, for the report (see `requestsLeft`). */
  reportOnly: boolean;
  /** The attempt before; null before the first. */
  last: AttemptOutput | null;
  /** Where the next attempt goes, and when, while the turn waits for it. */
  waiting: { target: number; dueAt: number } | null;
};

/** Why a turn could not go on. */
export type Exhaustion = {
  /** `limited`: all living targets asked to be left alone for longer than a wait may last. */
  why: 'attempts' | 'budget' | 'targets' | 'limited';
  /** Epoch ms until which they asked for it, where that is longer than a wait may last (P-3); else null. */
  retryAt: number | null;
};

export type TurnOutput = {
  status: 'finished' | 'succeeded' | 'exhausted' | 'aborted';
  exhaustion: Exhaustion | null;
  /** Of the last attempt, when it failed. */
  slugs: Slug[];
  /** Fault of the last attempt, in a sentence; null when there was none. */
  detail: string | null;
  attempts: number;
  targets: TargetState[];
  current: number;
  spent: Spent;
  at: number;
  contextTokens: number;
  /** Of tool results that the last request left out. */
  omittedTokens: number;
  answerTokens: number;
};
