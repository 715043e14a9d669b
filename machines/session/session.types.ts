import type { ContextWindow } from '../contract/context.ts';
import type { Fact, Failure } from '../contract/events.ts';
import type { Bound, Budget, CollapseReason, Spent } from '../contract/limits.ts';
import type { Slug } from '../contract/slugs.ts';
import type { TargetState } from '../contract/targets.ts';

/** What a session is started with: plain JSON, the bodies left outside (D-6). */
export type SessionInput = {
  bound: Bound;
  maxToolCalls: number;
  /** Names of the targets, in order of preference. */
  targets: string[];
  finish: 'report' | 'text';
  budget: Budget;
  window: ContextWindow;
  /** Epoch ms of the start. */
  at: number;
};

export type SessionContext = Pick<SessionInput, 'maxToolCalls' | 'finish' | 'budget' | 'window' | 'at'> & {
  maxRetries: number;
  /** Shrinks and never grows (B-4). */
  maxTurns: number;
  /** The turn under way, or the one before while the session advances; 0 before the first. */
  turn: number;
  targets: TargetState[];
  current: number;
  spent: Spent;
  /** Tokens of the conversation, of the tool results in it that may be left out, and of those that are (T-6). */
  contextTokens: number;
  /** Of the tool results in the conversation, but for those of the last turn. */
  answerTokens: number;
  /** Of the last turn's. */
  freshAnswerTokens: number;
  omitTokens: number;
  /** What brought the last turn nearer. */
  lastTurnSlugs: Slug[];
  stopRequested: boolean;
  /** Why somebody aborted it; null while nobody has. */
  abortReason: string | null;
  /** How the session ends, from the moment that it is known. */
  ending: Ending | null;
};

export type Ending = { status: 'succeeded' } | { status: 'failed' | 'aborted'; failure: Failure };

/** Why the session is to end soon; the slugs tell the model. */
export type CollapseCause = { reason: CollapseReason; slugs: readonly Slug[] };

/** What a turn asks of the session while it goes on (B-4). */
export type CollapseRequest = { type: 'collapse.requested' } & CollapseCause;

/** What a rule does to the session: what it knows then (null: nothing new), and what has happened. */
export type Measures = { change: Partial<SessionContext>; facts: Fact[] };

export type SessionOutput = Ending;
