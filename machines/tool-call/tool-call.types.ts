import type { CallFacts, StopSlug } from '../contract/effects.ts';
import type { CallAnswer, CallName } from '../contract/events.ts';
import type { Spent } from '../contract/limits.ts';
import type { Slug } from '../contract/slugs.ts';

/** What happens with a call, decided before anything is executed (C-1, C-5). */
export type Disposition =
  /** Answered with the reason; never executed. */
  | { kind: 'refuse'; slug: Slug; message: string }
  /** The progress report, or the accepted final report: answered at once. */
  | { kind: 'acknowledge'; message: string }
  /** Executed by the provider, whose result stands in the reply. */
  | { kind: 'provided'; slug: Slug | null }
  /** Somebody has to decide first. */
  | { kind: 'approve' }
  | { kind: 'run' };

/** What a call's disposition depends on beside the call itself. */
export type Circumstances = {
  replyComplete: boolean;
  replyTruncated: boolean;
  /** On the last turn only the report is permitted (B-5). */
  permission: 'all' | 'report';
  /** Calls of real tools that a turn may bring. */
  maxToolCalls: number;
  /** Why nobody is asked for an approval any more; null: somebody is. */
  stopSlug: StopSlug | null;
};

export type ToolCallInput = CallName & { tool: CallFacts['tool']; progress: string; disposition: Disposition };

export type ToolCallContext = ToolCallInput & { answer: AnswerSummary | null };

/** What the attempt's verdict reads of an answer (T-4); the answer itself leaves as a fact. */
export type AnswerSummary = {
  executed: boolean;
  slug: Slug | null;
  /** Estimated tokens of what the model reads. */
  tokens: number;
  /** By a sub-agent (B-7). */
  spent: Spent;
  /** Epoch ms of the last delivery to the call; null when it was answered without one. */
  at: number | null;
};

export type ToolCallOutput = AnswerSummary & { index: number };

/** An answer on its way out: as a fact, and in short for the attempt. */
export type Answer = CallAnswer & { spent: Spent; at: number | null };
