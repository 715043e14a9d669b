import type { CallFacts } from '../contract/calls.ts';
import type { Measured, SizedResult } from '../contract/context.ts';
import type { Permission, StopSlug } from '../contract/effects.ts';
import type { Fault } from '../contract/faults.ts';
import type { Spent } from '../contract/limits.ts';
import type { CutHere, Usage } from '../contract/reply.ts';
import type { ReportSlug, ReportSource } from '../contract/report.ts';
import type { Slug } from '../contract/slugs.ts';
import type { AnswerSummary, Disposition } from '../tool-call/tool-call.types.ts';

/** An attempt's entire input (T-1): nothing about retries, waits or other targets. */
export type AttemptInput = {
  turn: number;
  attempt: number;
  target: { index: number; name: string };
  notice: string | null;
  /** The tools that the request offers; `permission` (the calls its reply may make) can differ (B-5). */
  offer: Permission;
  permission: Permission;
  /** `text`: a reply without a tool call is the report, on any turn (F-4). */
  finish: 'report' | 'text';
  /** What the request leaves out (T-6): the results of these calls, and estimated tokens of old text. */
  omit: string[];
  omitText: number;
  maxToolCalls: number;
  stopSlug: StopSlug | null;
};

/** One call of the reply, with its disposition. */
export type Call = Pick<CallFacts, 'callId' | 'name' | 'tool' | 'within'> & {
  progress: string;
  disposition: Disposition;
};

/** The parts of a model effect's outcome that the rules read; the bodies are emitted as a fact (D-6). */
export type Reading = {
  /** Epoch ms. */
  at: number | null;
  chance: number;
  fault: Fault | null;
  /** Message of a defect in the effect's own code; null if there was none. */
  defect: string | null;
  /** The stream had begun, so a fault counts as an interruption. */
  began: boolean;
  /** The reply is complete (C-5). */
  complete: boolean;
  /** Why the reply did not come to its end; null if it did. */
  cut: CutHere | 'content_filtered' | null;
  /**
   * `answer` is text or a file from an agent that finishes by text; `call` is a tool call that was written as text; `open`
   * is a reply that the provider paused.
   */
  holds: 'nothing' | 'reasoning' | 'text' | 'answer' | 'call' | 'open' | 'other';
  calls: Call[];
  /** The accepted report (F-2); `index` is null for a text report. */
  accepted: { index: number | null; source: ReportSource } | null;
  rejected: { index: number | null; slug: ReportSlug | 'check_failed'; reasons: string }[];
  usage: Usage;
  /** Estimated tokens of a request that the provider did not count; 0 if it did. */
  guessedTokens: number;
  costUsd: number | null;
  measured: Measured | null;
};

/** `answers` are in call order; null for a call that is still unanswered. */
export type AttemptContext = AttemptInput & { reading: Reading | null; answers: (AnswerSummary | null)[] };

export type Verdict = { status: 'finished' | 'progressed' | 'failed' | 'aborted'; slugs: Slug[] };

export type AttemptOutput = {
  status: Verdict['status'];
  slugs: Slug[];
  fault: Fault | null;
  /** Why it failed, in one sentence, if something was thrown or went wrong; null otherwise. */
  detail: string | null;
  /** Slugs of rejected reports, which collapse the session (F-2). */
  reportSlugs: ReportSlug[];
  at: number | null;
  chance: number;
  usage: Usage;
  /** Estimated tokens of a request that the provider did not count; 0 if it did. */
  guessedTokens: number;
  costUsd: number | null;
  /** The size of the request and its reply; null if nothing arrived (T-6). */
  measured: Measured | null;
  /** The sizes of this attempt's answers; a batch has one for all its calls. */
  results: SizedResult[];
  /** Excludes the attempt's own request (B-7). */
  subAgentsSpent: Spent;
};

/** The circumstances that a call's disposition depends on. */
export type Circumstances = {
  replyComplete: boolean;
  replyTruncated: boolean;
  /** Why the reply was cut off here. */
  replyCutHere: CutHere | null;
  /** The provider could not read a call of the reply. */
  replyMalformed: boolean;
  /** On the last turn only the report is permitted (B-5). */
  permission: 'all' | 'report';
  /** Maximum number of real tool calls in a turn. */
  maxToolCalls: number;
  /** Why approvals are no longer requested; null while they are. */
  stopSlug: StopSlug | null;
};
