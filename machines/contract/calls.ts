import type { ToolOutput } from './conversation.ts';
import type { ReportVerdict } from './report.ts';
import type { Slug } from './slugs.ts';
import type { ToolResult } from './tool-result.ts';

/** Names one call in a reply. Tool and approval effects receive only this: the folds hold the input (D-1). */
export type CallName = { turn: number; attempt: number; index: number; callId: string; name: string };

export type CallAnswer = {
  executed: boolean;
  slug: Slug | null;
  result: ToolResult;
  output: ToolOutput;
  /** Estimated tokens in `output`. */
  tokens: number;
  /** A truncated output's full text, to read in pages; null if the model cannot or need not do so. */
  kept: string | null;
};

/** Facts about one tool call, used to decide its disposition. They omit the input, to stay small. */
export type CallFacts = {
  callId: string;
  name: string;
  tool: 'unknown' | 'real' | 'batch' | 'progress' | 'report' | 'provider';
  /** Whether the input is a JSON object that satisfies the tool's schema; if not, `detail` holds the reason. */
  input: 'valid' | 'malformed' | 'invalid';
  /** Text for the model: the available tools, or the input's error. For a progress report, its text. */
  detail: string;
  /** Whether the input is a complete JSON object rather than blank. */
  wholeInput: boolean;
  needsApproval: boolean;
  /** Its answer comes from outside. */
  isClientSide: boolean;
  /** Why a valid call must not be executed: for example, a policy denies it or the agent tree is too deep. */
  refusal: {
    slug: Extract<Slug, 'tool_not_permitted' | 'policy_denied' | 'check_failed' | 'depth_exceeded' | 'tool_limit'>;
    reason: string;
  } | null;
  /** For a call inside a batch: the index of the batch. */
  within: number | null;
  /** For the report tool: the format validator's verdict. */
  report: ReportVerdict | null;
  /** For a provider-executed tool: its success, or that its result is still to come (`missing`); null if it has none. */
  provided: 'success' | 'failure' | 'missing' | null;
};

/** Returns a call's facts, with defaults for all fields not given. */
export function callFacts(callId: string, name: string, tool: CallFacts['tool']): CallFacts {
  return {
    callId,
    name,
    tool,
    input: 'valid',
    detail: '',
    wholeInput: false,
    needsApproval: false,
    isClientSide: false,
    refusal: null,
    within: null,
    report: null,
    provided: null,
  };
}

/** Returns the id for reading the rest of a large result; the same in a replay. */
export function keptResultId({ turn, attempt, index }: Pick<CallName, 'turn' | 'attempt' | 'index'>): string {
  return `r${turn}_${attempt}_${index}`;
}
