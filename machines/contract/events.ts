import type { ToolOutput } from './conversation.ts';
import type { CallFacts } from './effects.ts';
import type { Fault } from './faults.ts';
import type { Json } from './json.ts';
import type { CollapseReason } from './limits.ts';
import type { Reply, Usage } from './reply.ts';
import type { ReportSource } from './report.ts';
import type { Slug } from './slugs.ts';
import type { ToolResult } from './tool-result.ts';

/**
 * The facts: what the machines say has happened, in the order it happened (D-1). The event stream, the log, the
 * counters, the conversation, the turn records and the slices are all folds over them.
 */
export type Fact =
  | { type: 'session.started'; maxTurns: number; maxRetries: number; targets: string[] }
  | { type: 'session.steered'; text: string }
  | { type: 'session.stopping' }
  | { type: 'session.aborting'; reason: string }
  /** `maxTurns` shrank from `from` to `to` (B-4). */
  | { type: 'session.collapsed'; turn: number; from: number; to: number; reason: CollapseReason }
  | { type: 'session.succeeded'; turns: number }
  | { type: 'session.failed'; turns: number; failure: Failure }
  | { type: 'session.aborted'; turns: number; failure: Failure }
  | { type: 'turn.started'; turn: number; isLastTurn: boolean }
  | { type: 'turn.succeeded'; turn: number; attempts: number }
  | { type: 'turn.finished'; turn: number; attempts: number }
  | { type: 'turn.exhausted'; turn: number; attempts: number; slugs: Slug[] }
  | { type: 'turn.aborted'; turn: number; attempts: number }
  /** No living target is free before `dueAt` (epoch ms): the next attempt waits until then (P-3). */
  | { type: 'wait.started'; turn: number; attempt: number; target: string; dueAt: number }
  | { type: 'wait.ended'; turn: number; attempt: number }
  /** Written down before the request is sent (B-6). `notice` is the ephemeral message of the request, if any (N-1). */
  | { type: 'attempt.started'; turn: number; attempt: number; target: string; notice: string | null }
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
  | { type: 'attempt.succeeded'; turn: number; attempt: number; target: string }
  | { type: 'attempt.failed'; turn: number; attempt: number; target: string; slugs: Slug[]; detail: string | null }
  | { type: 'attempt.aborted'; turn: number; attempt: number; target: string }
  /** The target takes no more requests in this session (P-2). */
  | { type: 'target.excluded'; target: string; slug: Slug }
  | ({ type: 'tool.requested'; kind: CallFacts['tool'] } & CallName)
  | ({ type: 'tool.approvalRequested' } & CallName)
  | ({ type: 'tool.approved'; reason: string | null } & CallName)
  | ({ type: 'tool.denied'; reason: string | null } & CallName)
  | ({ type: 'tool.started' } & CallName)
  /** The one answer of a call (C-1), a failed one like a successful one (C-4). `slug` says why it is not a success. */
  | ({ type: 'tool.answered' } & CallName & CallAnswer)
  /** The model said how it is getting on. */
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

export type CallName = { turn: number; attempt: number; index: number; callId: string; name: string };

export type CallAnswer = {
  executed: boolean;
  slug: Slug | null;
  result: ToolResult;
  output: ToolOutput;
  /** Estimated tokens of `output`. */
  tokens: number;
};

/** Why a session did not succeed: the slugs, the deciding one first. `retryAt` is epoch ms, where waiting would help. */
export type Failure = { slugs: Slug[]; retryAt: number | null; detail: string | null };
