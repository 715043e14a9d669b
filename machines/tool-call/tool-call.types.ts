import type { CallAnswer, CallName } from '../contract/calls.ts';
import type { Spent } from '../contract/limits.ts';
import type { Slug } from '../contract/slugs.ts';

/** The decision about a call, made before anything is executed (C-1, C-5). */
export type Disposition = Settled | Pending;

/** The call needs no effect and is answered at once. */
export type Settled =
  /** Answered with the reason; never executed. */
  | { kind: 'refuse'; slug: Slug; message: string }
  /** A progress report, a batch or the accepted final report; answered immediately. */
  | { kind: 'acknowledge'; message: string }
  /** Executed by the provider; the result is in the reply. */
  | { kind: 'provided'; slug: Slug | null };

/** The call needs an effect. One that must be approved first, or that a client answers, has a machine. */
export type Pending = { kind: 'run' | 'approve'; isClientSide: boolean };

export type ToolCallInput = CallName & { needsApproval: boolean; isClientSide: boolean };

export type ToolCallContext = ToolCallInput & { answer: AnswerSummary | null };

/** The part of an answer that the attempt's verdict reads (T-4); the full answer is emitted as a fact. */
export type AnswerSummary = {
  executed: boolean;
  slug: Slug | null;
  /** Estimated tokens in the output that the model reads. */
  tokens: number;
  /** A sub-agent's spending (B-7). */
  spent: Spent;
  /** Time of the last delivery to the call (epoch ms); null if there was none. */
  at: number | null;
};

export type ToolCallOutput = AnswerSummary & { index: number };

/** A complete answer: emitted as a fact, and summarized for the attempt. */
export type Answer = CallAnswer & { spent: Spent; at: number | null };
