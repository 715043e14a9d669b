import type { CallAnswer, CallFacts, CallName } from './calls.ts';
import type { Measured, SizedResult } from './context.ts';
import type { Message } from './conversation.ts';
import type { Fault } from './faults.ts';
import type { Json, JsonObject } from './json.ts';
import type { RequestsLeft, Spent } from './limits.ts';
import type { Reply, Usage } from './reply.ts';
import type { ReportVerdict } from './report.ts';
import type { Slug } from './slugs.ts';
import type { WorkflowEffectKinds } from './work.ts';

/**
 * The effects: the machines' requests to the outside world (D-1). A leaf of the actor tree requests an effect
 * under a unique key built from counters, and the host answers with one delivery. Requests and outcomes are plain JSON.
 */
export type EffectKinds = SessionEffectKinds & WorkflowEffectKinds;

export type SessionEffectKinds = {
  /** Open the tools and check the given conversation. Key `prepare`. */
  prepare: { request: Record<string, never>; outcome: PrepareOutcome };
  /** Plan the next turn, for an agent with `prepareTurn` or `handoffs`. Key `turn-2/plan`. */
  plan: { request: PlanRequest; outcome: PlanOutcome };
  /** Put one message in the place of earlier ones (T-9). Key `turn-2/compact`. */
  compact: { request: CompactRequest; outcome: CompactOutcome };
  /** Wait until an attempt may begin (P-7, B-8). Key `turn-2/attempt-1/admission`. */
  admission: { request: AdmissionRequest; outcome: AdmissionOutcome };
  /** One LLM request. Key `turn-2/attempt-1/model`. */
  model: { request: ModelRequest; outcome: ModelOutcome };
  /** One invocation of a tool. Key `turn-2/attempt-1/tool-0`. */
  tool: { request: CallName; outcome: ToolOutcome };
  /** An approval decision on a tool call. Key `turn-2/attempt-1/approval-0`. */
  approval: { request: CallName; outcome: ApprovalOutcome };
  /** Wait until a given time. Key `turn-2/attempt-2/wait`, or `deadline`. */
  wait: { request: WaitRequest; outcome: Record<string, never> };
  /** Close the tools. Key `close`. */
  close: { request: Record<string, never>; outcome: Record<string, never> };
};

export type EffectKind = keyof EffectKinds;
export type EffectOf<K extends EffectKind> = { kind: K; key: string; request: EffectKinds[K]['request'] };
export type Effect = { [K in EffectKind]: EffectOf<K> }[EffectKind];

/** The payload of a delivery: the outcome, the delivery time (epoch ms) and a random number in [0, 1). */
export type Delivered<K extends EffectKind> = { at: number; chance: number; outcome: EffectKinds[K]['outcome'] };

/** Builds what an effect delivers: its outcome at a time (epoch ms), and the chance, from 0 to below 1, for a backoff. */
export function delivered<Outcome>(outcome: Outcome, at: number, chance: number) {
  return { at, chance, outcome };
}

export type PrepareOutcome =
  /**
   * `instructions` is the system prompt built for this session. `tokens` is the size of the first request, and
   * `results` are the tool results in it; 0 and empty if nothing is measured (T-6). `unavailable` holds the targets, by
   * index, that cannot be had at all (P-2).
   */
  | {
      ok: true;
      instructions: string | null;
      /** The conversation in place of the given one (G-1); null keeps it. */
      messages: Message[] | null;
      tokens: number;
      results: SizedResult[];
      /** Estimated tokens of the given text that may be left out (T-6). */
      oldText: number;
      unavailable: { target: number; message: string }[];
      /** The targets, by index, whose gates must be asked from the first attempt on (P-7); without it, none. */
      gated?: number[];
    }
  | { ok: false; slug: Slug; message: string };

/** The turn that a plan is for; it comes next. `target` is the one in use, by index. */
export type PlanRequest = { turn: number; isLastTurn: boolean; target: number };

/** A turn's plan (T-7); null leaves everything as the session has it. */
export type TurnPlan = {
  /** The agent that has the conversation, by its name in `handoffs` (T-8); null for the one that it began with. */
  speaker: string | null;
  /** The targets that may be tried, by index, in order of preference. */
  targets: number[] | null;
  /** Whether the turn chose its targets: then the next one starts where it would have without this one. */
  once: boolean;
  /** The instructions of the agent that the conversation was handed to; null for the one that it began with. */
  own: string | null;
  /** Instructions for this turn in place of the agent's. */
  instructions: string | null;
  /** The names of the tools that the turn may call, the built-in ones among them. */
  tools: string[] | null;
  /** The names of the tools that its requests offer: at least those (B-5). */
  offered: string[] | null;
  /** Settings of its requests, in addition to the agent's. */
  settings: JsonObject | null;
  /** Which call its replies must make; absent if the model decides (B-5b). */
  toolChoice?: ToolChoice;
};

/** That a reply must make a call, or one to this tool. */
export type ToolChoice = 'required' | { tool: string };

/** `growth` estimates how many tokens the plan adds to the next request (T-6); less than 0 if it takes some away. */
export type PlanOutcome = { ok: true; plan: TurnPlan; growth: number } | { ok: false; slug: Slug; message: string };

/** The turn that the compaction precedes. `target` is the one in use, by index, and `windowTokens` its context window. */
export type CompactRequest = { turn: number; target: number; windowTokens: number | null };

/** The one LLM request for a summary, and what it used; `guessedTokens` where its provider does not say. */
export type SummaryRequest = { target: string; usage: Usage; guessedTokens: number; costUsd: number | null };

/**
 * `message` takes the place of the messages at the positions of `ranges`, each from its first number to before its second.
 * `tokens`, `results` and `oldText` are the size of the next request, as a preparation measures it. A compaction that is
 * not `ok` changes nothing; `asked` is null if no model was.
 */
export type CompactOutcome =
  | {
      ok: true;
      ranges: [from: number, to: number][];
      message: string;
      asked: SummaryRequest | null;
      tokens: number;
      results: SizedResult[];
      oldText: number;
    }
  | { ok: false; detail: string; asked: SummaryRequest | null };

/** The attempt that is to begin. `target` is an index; `tokens` estimates the size of its request. */
export type AdmissionRequest = { turn: number; attempt: number; target: number; tokens: number };

/**
 * How many more requests the shared budget allows (B-8): `one` is for the report, and at `none` no attempt begins.
 * `isGated`: whether the target's gate must be asked again before the next attempt (P-7).
 */
export type AdmissionOutcome = { left: RequestsLeft; isGated: boolean };

/** The tools that a request offers, or the calls that its reply may make (B-5). */
export type Permission = 'all' | 'report';

export type ModelRequest = {
  turn: number;
  attempt: number;
  /** Index of the target. */
  target: number;
  /** The one ephemeral user message, or null (N-2). */
  notice: string | null;
  offer: Permission;
  /** The calls that its reply may make: where that is the report alone, no other call is asked for (B-5b). */
  permission: Permission;
  /** Whether the reply's text may be the report, and so is validated (F-4). */
  textMayReport: boolean;
  /** Ids of the calls whose results are left out of the prompt (T-6). */
  omit: string[];
  /** Estimated tokens of old text that is left out of the prompt, from the oldest on (T-6). */
  omitText: number;
};

/** The outcome of one LLM request: a reply, a fault, or both if the stream broke. */
export type ModelOutcome = {
  reply: Reply | null;
  fault: Fault | null;
  /** The calls in the reply, in order, followed by those inside its batches. */
  calls: CallFacts[];
  /** The format validator's verdict on the reply's text; null if it did not run. */
  textReport: ReportVerdict | null;
  /** Set if the reply's text is, or ends in, the markup of a tool call (F-4). */
  callAsText?: true;
  usage: Usage;
  /** US dollars, of an estimate if the provider did not count the tokens; null when the target has no prices. */
  costUsd: number | null;
  /** Estimated tokens, for the budget, of a request that the provider did not count. */
  guessedTokens?: number;
  /** The size of the request and its reply; null if nothing arrived, or is measured (T-6). */
  measured: Measured | null;
};

/**
 * A tool's outcome. It was invoked unless its input was rejected (`invalid_tool_input`, `check_failed`), or it is a
 * sub-agent and the tree's budget is spent (`budget_exhausted`).
 */
export type ToolOutcome = Omit<CallAnswer, 'executed' | 'slug'> & {
  slug: Extract<
    Slug,
    'tool_exec_failed' | 'tool_timeout' | 'interrupted' | 'invalid_tool_input' | 'check_failed' | 'budget_exhausted'
  > | null;
  /** A sub-agent's spending, including its sub-agents (B-7). */
  spent: Spent;
};

export type ApprovalOutcome =
  | { decision: 'approved'; reason: string | null }
  | { decision: 'denied'; reason: string | null }
  | { decision: 'timeout'; reason: null };

/** `dueAt` is epoch ms. Other work continues during a `deadline`, not during a `backoff`. */
export type WaitRequest = { dueAt: number; kind: 'backoff' | 'deadline' };

/** External events that do not answer an effect (D-2). */
export type SessionStop = { type: 'session.stop' };
/** A stop passed down to turn, attempt and tool calls. `at` (epoch ms) is set if the deadline caused it. */
export type TurnStop = { type: 'turn.stop'; slug: StopSlug; at: number | null };
/** An abort passed down; its reason stays with the session. */
export type TurnAbort = { type: 'session.abort' };
export type StopSlug = 'stopped' | 'budget_exhausted';
export type SessionAbort = { type: 'session.abort'; reason: string };
export type SessionSteer = { type: 'session.steer'; text: string };
/** Asks for a compaction before the next turn (T-9). */
export type SessionCompact = { type: 'session.compact' };
/** Before its next attempt on a target, given by index, a session asks the target's gate (P-7). */
export type SessionGated = { type: 'session.gated'; target: number };
export type SessionCommand = SessionStop | SessionAbort | SessionSteer | SessionCompact | SessionGated;
export type WorkflowAbort = { type: 'workflow.abort'; reason: string };

/** A journal entry. The same session input and the same entries, in order, reproduce the session (D-3). */
export type Delivery<Command = SessionCommand> =
  | { at: number; chance: number; key: string; outcome: Json }
  | { at: number; key: string; defect: string }
  | { at: number; event: Command };
