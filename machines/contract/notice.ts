import { type Slug, unionOfSlugs } from './slugs.ts';

/**
 * The one table of the notices (N-4): for each slug, what happened and what the model should do now. Where the fault
 * was not the model's, the text says so (N-1). Slugs that end a session on the spot never reach a model; their row
 * is what the synthetic report tells a person.
 */
type Row = { happened: string; todo: string };

export const noticeTable: Record<Slug, Row> = {
  empty_response: {
    happened: 'your last reply was empty',
    todo: 'Reply with a tool call, or with the final report.',
  },
  reasoning_only: {
    happened: 'your last reply held reasoning and nothing else',
    todo: 'After reasoning, make a tool call or give the final report in the same reply.',
  },
  text_only: {
    happened: 'your last reply was text without a tool call; text alone is not delivered to anybody',
    todo: 'Make a tool call to go on, or deliver your result through the final report.',
  },
  no_tools: {
    happened: 'your last reply held neither text nor a tool call',
    todo: 'Make a tool call to go on, or deliver your result through the final report.',
  },
  progress_only: {
    happened: 'your last reply only reported progress, which does not count as a step',
    todo: 'Call a tool that does the work, or give the final report.',
  },
  response_truncated: {
    happened: 'your last reply was cut off by the output limit before it was whole',
    todo: 'Reply more briefly: fewer words, smaller inputs, one tool call at a time.',
  },
  content_filtered: {
    happened: 'your last reply was withheld by a content filter',
    todo: 'Go on in another way that avoids the filtered content.',
  },
  unknown_tool: {
    happened: 'you called a tool that does not exist',
    todo: 'Use only the tools offered, with their exact names; the answer to your call lists them.',
  },
  malformed_tool_call: {
    happened: 'the input of your tool call was not a JSON object, so it was not executed',
    todo: 'Send the call again with one complete, valid JSON object as its input.',
  },
  invalid_tool_input: {
    happened: "the input of your tool call did not satisfy the tool's schema, so it was not executed",
    todo: 'Read the reasons in the answer to your call, correct the input and call the tool again.',
  },
  tool_not_permitted: {
    happened: 'you called a tool that is not permitted now',
    todo: 'Do not call it again; use what is permitted, or give the final report.',
  },
  tool_limit: {
    happened: 'you made more tool calls than a turn may hold; those beyond the limit were not executed',
    todo: 'Make fewer calls in one reply.',
  },
  tool_exec_failed: {
    happened: 'a tool you called failed',
    todo: 'Read the error in its answer; correct your input or go another way.',
  },
  tool_timeout: {
    happened: 'a tool you called did not finish in time',
    todo: 'Ask it for less, or go another way.',
  },
  approval_timeout: {
    happened: 'nobody approved your tool call in time, so it was not executed',
    todo: 'Go on without it.',
  },
  final_report_missing: {
    happened: 'your final report was empty',
    todo: 'Give the final report again, with your complete result in it.',
  },
  final_report_invalid_format: {
    happened: 'your final report did not have the required format',
    todo: 'Read the reasons, and give the final report again in the required format.',
  },
  final_report_schema_fail: {
    happened: 'your final report did not satisfy the required schema',
    todo: 'Read the reasons, and give the final report again so that it satisfies the schema.',
  },
  final_report_repeated: {
    happened: 'you gave more than one final report; the first valid one counts',
    todo: 'Give the final report once.',
  },
  provider_error: {
    happened: 'your reply did not arrive, because the provider failed; this was not your fault',
    todo: 'Reply again.',
  },
  provider_timeout: {
    happened: 'your reply did not arrive in time; this was not your fault',
    todo: 'Reply again, as briefly as the task allows.',
  },
  provider_auth: {
    happened: 'your reply did not arrive, because the provider refused the credentials; this was not your fault',
    todo: 'Reply again.',
  },
  provider_quota: {
    happened: "your reply did not arrive, because the provider's quota is used up; this was not your fault",
    todo: 'Reply again.',
  },
  invalid_request: {
    happened: 'your reply did not arrive, because the provider refused the request; this was not your fault',
    todo: 'Reply again.',
  },
  rate_limited: {
    happened: 'your reply did not arrive, because the provider limits the rate of requests; this was not your fault',
    todo: 'Reply again.',
  },
  network_error: {
    happened: 'your reply did not arrive, because the connection failed; this was not your fault',
    todo: 'Reply again.',
  },
  stream_interrupted: {
    happened: 'your reply did not arrive whole, because the stream broke off; none of its calls was executed',
    todo: 'Reply again, with the tool calls that you still want.',
  },
  no_targets: {
    happened: 'no model is left that could be asked',
    todo: 'Check the credentials, the quota and the names of the models.',
  },
  retries_exhausted: {
    happened: 'every attempt of a turn failed',
    todo: 'Look at the reasons of the attempts; another model or a clearer task may help.',
  },
  max_turns_exhausted: {
    happened: 'the last turn ended without an accepted report',
    todo: 'Allow more turns, or ask for less.',
  },
  budget_exhausted: {
    happened: "the session's budget is spent",
    todo: 'Work with what you have now.',
  },
  context_guard: {
    happened: 'the conversation fills the context window',
    todo: 'Work with what you have now.',
  },
  depth_exceeded: {
    happened: 'agents may not call each other any deeper',
    todo: 'Do this part yourself, or go on without it.',
  },
  stopped: {
    happened: 'the session is being stopped',
    todo: 'Work with what you have now.',
  },
  aborted: { happened: 'the session was aborted', todo: 'Start it again if the result is still wanted.' },
  interrupted: {
    happened: 'what you had begun was interrupted, and its outcome is unknown',
    todo: 'Look at how things stand before you repeat it.',
  },
  tools_unavailable: {
    happened: 'the tools could not be opened',
    todo: 'Check that the tool servers can be started and reached.',
  },
  internal_error: {
    happened: 'your reply could not be processed, because of an internal error; this was not your fault',
    todo: 'Reply again.',
  },
};

export const noticePrefix = 'system notice: ';

export type NoticeOccasion = {
  /** Why the attempt before this one failed; none on a turn's first attempt. */
  failed: readonly Slug[];
  /** Only the report is permitted; `lastTurnSlugs` says why it came to that, where it was not the turns alone. */
  reportOnly: boolean;
  lastTurnSlugs: readonly Slug[];
  finish: 'report' | 'text';
  turn: number;
  attempt: number;
  maxAttempts: number;
};

/** The notice of a request, or none (N-1, N-2): what went wrong, why the turn did not progress, and what to do now. */
export function composeNotice(occasion: NoticeOccasion): string | null {
  if (occasion.failed.length === 0 && !occasion.reportOnly) return null;
  const sentences: string[] = [];
  if (occasion.failed.length > 0) {
    const rows = occasion.failed.map((slug) => noticeTable[slug]);
    sentences.push(
      `${listed(rows.map((row) => row.happened))} (${occasion.failed.join(', ')}).`,
      `Turn ${occasion.turn} did not progress, because no tool was executed and no ${occasion.finish === 'text' ? 'answer' : 'final report'} was accepted.`,
    );
    if (!occasion.reportOnly) {
      sentences.push(...new Set(occasion.failed.map((slug) => todoOf(slug, occasion.finish))));
    }
  }
  if (occasion.reportOnly) sentences.push(...lastTurnAdvice(occasion));
  if (occasion.attempt > 1) sentences.push(`This is attempt ${occasion.attempt} of ${occasion.maxAttempts}.`);
  return `${noticePrefix}${sentences.join(' ')}`;
}

/** Where plain text is the report, there is no tool to deliver it by. */
const todoByText: Partial<Record<Slug, string>> = {
  empty_response: 'Reply with a tool call, or with your answer as text.',
  reasoning_only: 'After reasoning, make a tool call or give your answer as text in the same reply.',
  no_tools: 'Make a tool call to go on, or reply with your answer as text.',
  progress_only: 'Call a tool that does the work, or reply with your answer as text.',
  tool_not_permitted: 'Do not call it again; use what is permitted, or reply with your answer as text.',
  final_report_missing: 'Reply with your complete answer as text.',
  final_report_invalid_format: 'Read the reasons, and reply again in the required format.',
  final_report_schema_fail: 'Read the reasons, and reply again so that it satisfies the schema.',
};

function todoOf(slug: Slug, finish: NoticeOccasion['finish']): string {
  return (finish === 'text' ? todoByText[slug] : undefined) ?? noticeTable[slug].todo;
}

function lastTurnAdvice({ failed, lastTurnSlugs, finish }: NoticeOccasion): string[] {
  const causes = unionOfSlugs(lastTurnSlugs).filter((slug) => !failed.includes(slug));
  const reasons = causes.map((slug) => noticeTable[slug].happened);
  const because = reasons.length > 0 ? ` because ${listed(reasons)} (${causes.join(', ')})` : '';
  const report =
    finish === 'text'
      ? 'Do not call a tool; reply with your complete answer as text.'
      : 'Do not call any other tool; call final_report now, with your complete result.';
  return [`This is the last turn${because}.`, report];
}

function listed(parts: readonly string[]): string {
  return parts.join('; and ');
}
