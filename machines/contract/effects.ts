import type { ToolOutput } from './conversation.ts';
import type { Fault } from './faults.ts';
import type { Json } from './json.ts';
import type { Spent } from './limits.ts';
import type { Reply, Usage } from './reply.ts';
import type { ReportVerdict } from './report.ts';
import type { Slug } from './slugs.ts';
import type { ToolResult } from './tool-result.ts';
import type { WorkflowEffectKinds } from './work.ts';

/**
 * The effects: all that the machines ask of the world (D-1). A leaf of the actor tree requests one under a unique key
 * built from counters; the host answers it with one delivery. Requests and outcomes are plain JSON.
 */
export type EffectKinds = SessionEffectKinds & WorkflowEffectKinds;

export type SessionEffectKinds = {
  /** Open the tools and look at the conversation handed in. Key `prepare`. */
  prepare: { request: Record<string, never>; outcome: PrepareOutcome };
  /** One LLM request. Key `turn-2/attempt-1/model`. */
  model: { request: ModelRequest; outcome: ModelOutcome };
  /** One invocation of a tool. Key `turn-2/attempt-1/tool-0`. */
  tool: { request: ToolRequest; outcome: ToolOutcome };
  /** Somebody's decision about a tool call. Key `turn-2/attempt-1/approval-0`. */
  approval: { request: ToolRequest; outcome: ApprovalOutcome };
  /** Let time pass. Key `turn-2/attempt-2/wait`, or `deadline`. */
  wait: { request: WaitRequest; outcome: Record<string, never> };
  /** Close the tools. Key `close`. */
  close: { request: Record<string, never>; outcome: Record<string, never> };
};

export type EffectKind = keyof EffectKinds;
export type EffectOf<K extends EffectKind> = { kind: K; key: string; request: EffectKinds[K]['request'] };
export type Effect = { [K in EffectKind]: EffectOf<K> }[EffectKind];

/** What a delivery brings to its leaf: the outcome, when it was delivered (epoch ms), and a number in [0, 1). */
export type Delivered<K extends EffectKind> = { at: number; chance: number; outcome: EffectKinds[K]['outcome'] };

export type PrepareOutcome =
  /** `contextTokens`: the size of the first request; `answerTokens`: of the tool results in it. */
  { ok: true; contextTokens: number; answerTokens: number } | { ok: false; slug: Slug; message: string };

/** Which tools a request offers, and which calls of its reply are permitted (B-5). */
export type Permission = 'all' | 'report';

export type ModelRequest = {
  turn: number;
  attempt: number;
  /** Index of the target. */
  target: number;
  /** The one ephemeral user message, or none (N-2). */
  notice: string | null;
  offer: Permission;
  /** Whether the reply's text may be the report, so that its validator is asked (F-4). */
  textMayReport: boolean;
  /** Tokens of old tool results to leave out of the prompt (T-6). */
  omitTokens: number;
};

/** One LLM request's outcome: a reply, or a fault, or both when the stream broke. */
export type ModelOutcome = {
  reply: Reply | null;
  fault: Fault | null;
  /** One for each call in the reply, in order; then those inside its batches. */
  calls: CallFacts[];
  /** What the format's validator says of the reply's text; null where it was not asked. */
  textReport: ReportVerdict | null;
  usage: Usage;
  /** US dollars; null when the target has no prices. */
  costUsd: number | null;
  /** Tokens of the conversation with this reply in it, as the provider counted or as estimated. */
  contextTokens: number;
  /** Tokens of the tool results that were left out: whole results, so perhaps more than was asked for (T-6). */
  omittedTokens: number;
};

/** What was found out about one tool call, for the rule that disposes of it. Small: the input stays outside. */
export type CallFacts = {
  callId: string;
  name: string;
  tool: 'unknown' | 'real' | 'batch' | 'progress' | 'report' | 'provider';
  /** Whether the input is a JSON object that satisfies the tool's schema; `detail` says why it is not. */
  input: 'valid' | 'malformed' | 'invalid';
  /** What the model should know: which tools there are, what is wrong with the input; of a progress report, its text. */
  detail: string;
  /** Whether the input is a JSON object that came whole, not nothing. */
  wholeInput: boolean;
  needsApproval: boolean;
  /** Why a valid call is not to be executed all the same: a policy denies it, say, or the tree is too deep. */
  refusal: { slug: Extract<Slug, 'tool_not_permitted' | 'depth_exceeded'>; reason: string } | null;
  /** For a call inside a batch: the index of the batch. */
  within: number | null;
  /** For the report tool: what the format's validator says. */
  report: ReportVerdict | null;
  /** For a tool that the provider executed: whether its result came, and was a success. */
  provided: 'success' | 'failure' | 'missing' | null;
};

/** The facts of a call of which nothing else is known yet. */
export function callFacts(callId: string, name: string, tool: CallFacts['tool']): CallFacts {
  return {
    callId,
    name,
    tool,
    input: 'valid',
    detail: '',
    wholeInput: false,
    needsApproval: false,
    refusal: null,
    within: null,
    report: null,
    provided: null,
  };
}

export type ToolRequest = { turn: number; attempt: number; index: number; callId: string; name: string };

/** An invoked tool's outcome. `output` is what the model reads; `tokens` estimates it. */
export type ToolOutcome = {
  slug: Extract<Slug, 'tool_exec_failed' | 'tool_timeout' | 'interrupted'> | null;
  result: ToolResult;
  output: ToolOutput;
  tokens: number;
  /** What a sub-agent spent, its own sub-agents included (B-7). */
  spent: Spent;
};

export type ApprovalOutcome =
  | { decision: 'approved'; reason: string | null }
  | { decision: 'denied'; reason: string | null }
  | { decision: 'timeout'; reason: null };

/** `dueAt` is epoch ms. */
export type WaitRequest = { dueAt: number };

/** The events from outside that are no answer to an effect (D-2). */
export type SessionStop = { type: 'session.stop' };
/** The stop as it goes down to turn, attempt and tool calls: why, and since when (epoch ms) where the deadline brought it. */
export type StopBelow = { type: 'session.stop'; slug: StopSlug; at: number | null };
export type StopSlug = 'stopped' | 'budget_exhausted';
export type SessionAbort = { type: 'session.abort'; reason: string };
export type SessionSteer = { type: 'session.steer'; text: string };
export type SessionCommand = SessionStop | SessionAbort | SessionSteer;
export type WorkflowAbort = { type: 'workflow.abort'; reason: string };

/** The entries of a session's journal, in order: with the same input they bring about the same session (D-3). */
export type Delivery<Command = SessionCommand> =
  | { at: number; chance: number; key: string; outcome: Json }
  | { at: number; key: string; defect: string }
  | { at: number; event: Command };

export function attemptKey(turn: number, attempt: number): string {
  return `turn-${turn}/attempt-${attempt}`;
}
