/** The typed names of everything that can go wrong (S-1): one closed union, in one file; none means two things. */
export const slugs = [
  // What a model did wrong in its reply.
  'empty_response', // neither text nor reasoning, file or tool call
  'reasoning_only', // reasoning and nothing else
  'text_only', // text without a tool call
  'no_tools', // other content (files, sources) without text or a tool call
  'progress_only', // tool calls, all of them progress reports
  'response_truncated', // cut off by the output limit
  'content_filtered', // the provider withheld the reply
  // Why a tool call was not executed, or did not succeed.
  'unknown_tool',
  'malformed_tool_call', // the input is not a JSON object
  'invalid_tool_input', // the input breaks the tool's schema
  'tool_not_permitted', // on the last turn, by a denied approval, or by a policy
  'tool_limit', // more calls than a turn may bring
  'tool_exec_failed',
  'tool_timeout',
  'approval_timeout', // nobody decided about the call in time
  // What was wrong with a final report.
  'final_report_missing',
  'final_report_invalid_format',
  'final_report_schema_fail',
  'final_report_repeated', // a second report beside an accepted one
  // What a provider or the way to it did.
  'provider_error',
  'provider_timeout',
  'provider_auth',
  'provider_quota',
  'invalid_request',
  'rate_limited',
  'network_error',
  'stream_interrupted',
  // Why a session ended, or had to.
  'no_targets',
  'retries_exhausted',
  'max_turns_exhausted',
  'budget_exhausted',
  'context_guard',
  'depth_exceeded',
  'stopped',
  'aborted',
  'interrupted', // begun, and its outcome is unknown
  'tools_unavailable',
  'internal_error',
] as const;

export type Slug = (typeof slugs)[number];

/** The slugs of `lists` in order of first appearance, each once. */
export function unionOfSlugs(...lists: readonly (readonly Slug[])[]): Slug[] {
  return [...new Set(lists.flat())];
}
