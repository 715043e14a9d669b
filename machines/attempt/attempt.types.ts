import type { CallFacts, Permission, StopSlug } from '../contract/effects.ts';
import type { Fault } from '../contract/faults.ts';
import type { Spent } from '../contract/limits.ts';
import type { Usage } from '../contract/reply.ts';
import type { ReportSlug, ReportSource } from '../contract/report.ts';
import type { Slug } from '../contract/slugs.ts';
import type { AnswerSummary, Disposition } from '../tool-call/tool-call.types.ts';

/** All that an attempt knows (T-1): nothing of retries, waits or other targets. */
export type AttemptInput = {
  turn: number;
  attempt: number;
  target: { index: number; name: string };
  notice: string | null;
  /** Which tools the request offers, and which calls of the reply are permitted: not always the same (B-5). */
  offer: Permission;
  permission: Permission;
  /** By text: a reply without a tool call is its report, whatever the turn (F-4). */
  finish: 'report' | 'text';
  omitTokens: number;
  maxToolCalls: number;
  stopSlug: StopSlug | null;
};

/** One call of the reply, with what happens to it. */
export type Call = Pick<CallFacts, 'callId' | 'name' | 'tool'> & { progress: string; disposition: Disposition };

/** What the rules read of an outcome of the model effect; its bodies leave as a fact (D-6). */
export type Reading = {
  /** Epoch ms. */
  at: number | null;
  chance: number;
  fault: Fault | null;
  /** The effect itself broke: a defect of ours. */
  defect: string | null;
  /** The stream began, so that what ended it is an interruption. */
  began: boolean;
  /** The reply came whole (C-5). */
  complete: boolean;
  truncated: boolean;
  filtered: boolean;
  /** Text of an agent that finishes by text is an `answer`. */
  holds: 'nothing' | 'reasoning' | 'text' | 'answer' | 'other';
  calls: Call[];
  /** The report that counts (F-2); `index` is null for one by text. */
  accepted: { index: number | null; source: ReportSource } | null;
  rejected: { index: number | null; slug: ReportSlug; reasons: string }[];
  usage: Usage;
  costUsd: number | null;
  contextTokens: number;
  omittedTokens: number;
};

/** `answers` by index of the call, in the order of the calls; null where one is still awaited. */
export type AttemptContext = AttemptInput & { reading: Reading | null; answers: (AnswerSummary | null)[] };

export type Verdict = { outcome: 'finished' | 'succeeded' | 'failed' | 'aborted'; slugs: Slug[] };

export type AttemptOutput = {
  status: Verdict['outcome'];
  slugs: Slug[];
  fault: Fault | null;
  /** What was said of rejected reports: they collapse the session (F-2). */
  reportSlugs: ReportSlug[];
  at: number | null;
  chance: number;
  usage: Usage;
  costUsd: number | null;
  /** Tokens of the conversation with this attempt in it; 0 when nothing came. */
  contextTokens: number;
  omittedTokens: number;
  /** Tokens of the answers in it. */
  answerTokens: number;
  /** Beside the attempt's own request (B-7). */
  subAgentsSpent: Spent;
};
