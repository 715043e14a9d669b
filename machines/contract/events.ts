import type { CallAnswer, CallFacts, CallName } from './calls.ts';
import type { Message } from './conversation.ts';
import type { Permission, SummaryRequest, TurnPlan } from './effects.ts';
import type { Fault, RefusedPiece } from './faults.ts';
import type { Json } from './json.ts';
import type { CollapseReason, RequestsLeft } from './limits.ts';
import type { Reply, Usage } from './reply.ts';
import type { ReportSource } from './report.ts';
import type { Slug } from './slugs.ts';

/**
 * The facts that the machines emit, in order (D-1). The event stream, the log, the counters, the
 * conversation, the turn records and the slices are all folds over them.
 */
export type Fact =
  | { type: 'session.started'; maxTurns: number; maxRetries: number; targets: string[] }
  /**
   * The tools are open; `instructions` is the system prompt of every request. `messages` is the conversation in place of
   * the given one (G-1), or null.
   */
  | { type: 'session.prepared'; instructions: string | null; messages: Message[] | null }
  /** The next turn is planned (T-7); `targets` are names. */
  | ({ type: 'turn.planned'; turn: number; targets: string[] | null } & Omit<TurnPlan, 'targets'>)
  | { type: 'session.steered'; text: string }
  /** `message` took the place of the messages at these positions, before this turn (T-9). */
  | {
      type: 'conversation.compacted';
      turn: number;
      ranges: [from: number, to: number][];
      message: string;
      asked: SummaryRequest | null;
    }
  /** The conversation stays as it was, and the context guard does what is left to do (T-9). */
  | { type: 'compaction.failed'; turn: number; detail: string; asked: SummaryRequest | null }
  | { type: 'session.stopping' }
  | { type: 'session.aborting'; reason: string }
  /** `maxTurns` shrank from `from` to `to` (B-4). */
  | { type: 'session.collapsed'; turn: number; from: number; to: number; reason: CollapseReason }
  | { type: 'session.succeeded'; turns: number }
  | { type: 'session.failed'; turns: number; failure: Failure }
  | { type: 'session.aborted'; turns: number; failure: Failure }
  | { type: 'turn.started'; turn: number; isLastTurn: boolean }
  | { type: 'turn.progressed'; turn: number; attempts: number }
  | { type: 'turn.finished'; turn: number; attempts: number }
  | { type: 'turn.exhausted'; turn: number; attempts: number; slugs: Slug[] }
  | { type: 'turn.aborted'; turn: number; attempts: number }
  /** No living target is free before `dueAt` (epoch ms), so the next attempt waits until then (P-3). */
  | { type: 'wait.started'; turn: number; attempt: number; target: string; dueAt: number }
  | { type: 'wait.ended'; turn: number; attempt: number }
  /** The next attempt waits for the gate of its target, or draws on the shared budget (P-7, B-8). */
  | { type: 'admission.requested'; turn: number; attempt: number; target: string }
  /** At `none`, the shared budget allows no attempt. */
  | { type: 'admission.ended'; turn: number; attempt: number; left: RequestsLeft }
  /**
   * The results of these calls, and about so many tokens of old text, do not fit the context window, so they are left out
   * from now on (T-6).
   */
  | { type: 'results.omitted'; turn: number; attempt: number; callIds: string[]; textTokens: number }
  /** A piece that a provider refused is replaced by a stub from now on (P-2). */
  | { type: 'piece.replaced'; turn: number; attempt: number; target: string; piece: RefusedPiece; detail: string }
  /** Recorded before the request is sent (B-6). `notice` is its ephemeral message, if any (N-1); `offer` are its tools (B-5). */
  | {
      type: 'attempt.started';
      turn: number;
      attempt: number;
      target: string;
      notice: string | null;
      offer: Permission;
    }
  | {
      type: 'attempt.replied';
      turn: number;
      attempt: number;
      target: string;
      reply: Reply | null;
      fault: Fault | null;
      calls: CallFacts[];
      usage: Usage;
      costUsd: number | null;
    }
  | { type: 'attempt.finished'; turn: number; attempt: number; target: string }
  | { type: 'attempt.progressed'; turn: number; attempt: number; target: string }
  | { type: 'attempt.failed'; turn: number; attempt: number; target: string; slugs: Slug[]; detail: string | null }
  | { type: 'attempt.aborted'; turn: number; attempt: number; target: string }
  /** The target gets no more requests in this session (P-2); `detail` says why in one sentence. */
  | { type: 'target.excluded'; target: string; slug: Slug; detail: string }
  | ({ type: 'tool.requested'; kind: CallFacts['tool'] } & CallName)
  | ({ type: 'tool.approvalRequested' } & CallName)
  | ({ type: 'tool.approved'; reason: string | null } & CallName)
  | ({ type: 'tool.denied'; reason: string | null } & CallName)
  | ({ type: 'tool.started' } & CallName)
  /** The one answer to a call (C-1), whether it succeeded or failed (C-4). `slug` is the reason for a failure. */
  | ({ type: 'tool.answered' } & CallName & CallAnswer)
  /** The model reported its progress. */
  | { type: 'progress.reported'; turn: number; attempt: number; callId: string; message: string }
  | { type: 'report.rejected'; turn: number; attempt: number; callId: string | null; slug: Slug; reasons: string }
  | {
      type: 'report.accepted';
      turn: number;
      attempt: number;
      callId: string | null;
      source: ReportSource;
      content: Json;
    };

/** Why a session did not succeed; the decisive slug is first. `retryAt` (epoch ms) is set if waiting would help. */
export type Failure = { slugs: Slug[]; retryAt: number | null; detail: string | null };
