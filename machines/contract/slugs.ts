import { providerRows } from './provider-slugs.ts';
import { sessionRows } from './session-slugs.ts';
import type { SlugRow } from './slug-row.ts';

/**
 * The one table of slugs (S-1): a typed name, with one meaning, for every reason for a failure. To add a slug, add a
 * row and a test that reaches it. The notice (N-4), synthetic report (F-5), log and docs/slugs.md read this table.
 */
const rows = {
  // Problems with a model's reply.
  empty_response: {
    means: 'The reply held no text, reasoning, file or tool call.',
    happened: 'your last reply was empty',
    todo: 'Reply with a tool call, or with the final report.',
    todoByText: 'Reply with a tool call, or with your answer as text.',
    person: 'the model replied with nothing',
  },
  reasoning_only: {
    means: 'The reply held reasoning and nothing else.',
    happened: 'your last reply held reasoning and nothing else',
    todo: 'After reasoning, make a tool call or give the final report in the same reply.',
    todoByText: 'After reasoning, make a tool call or give your answer as text in the same reply.',
    person: 'the model replied with reasoning and nothing else',
  },
  text_only: {
    means: 'The reply was text without a tool call, where text is not the report.',
    happened: 'your last reply was text without a tool call; text alone is not delivered to anybody',
    todo: 'Make a tool call to go on, or deliver your result through the final report.',
    person: 'the model replied with text and no tool call',
    advice: "For an agent whose plain text is the answer, such as one that chats, set `finish: 'text'`.",
  },
  call_as_text: {
    means: 'The reply held a tool call written as text, which is never parsed or executed.',
    happened: 'your last reply was a tool call written out as text; nothing in it was executed',
    todo: 'Call the tool through the interface for tool calls; do not write the call as text.',
    person: 'the model wrote a tool call as text instead of making it',
  },
  degenerate_reply: {
    means: 'The reply repeated one line or period for 16 KiB, and was cut off there.',
    happened: 'your last reply repeated itself without end and was cut off',
    todo: 'Start the reply again, and say each thing once.',
    person: 'the model repeated itself without end',
  },
  no_tools: {
    means: 'The reply held files or sources, but no text and no tool call.',
    happened: 'your last reply held neither text nor a tool call',
    todo: 'Make a tool call to go on, or deliver your result through the final report.',
    todoByText: 'Make a tool call to go on, or reply with your answer as text.',
    person: 'the model replied with neither text nor a tool call',
  },
  progress_only: {
    means: 'All tool calls of the reply were progress reports.',
    happened: 'your last reply only reported progress, which does not count as a step',
    todo: 'Call a tool that does the work, or give the final report.',
    todoByText: 'Call a tool that does the work, or reply with your answer as text.',
    person: 'the model reported progress and did nothing',
  },
  response_truncated: {
    means: 'The output limit, or `limits.replyBytes`, cut the reply off.',
    happened: 'your last reply was cut off by the output limit before it was whole',
    todo: 'Reply more briefly: fewer words, smaller inputs, one tool call at a time.',
    person: 'the reply was cut off by the output limit',
  },
  content_filtered: {
    means: 'A content filter withheld the reply.',
    happened: 'your last reply was withheld by a content filter',
    todo: 'Go on in another way that avoids the filtered content.',
    person: 'a content filter withheld the reply',
  },
  reply_denied: {
    means: '`checkReply` of the agent denied the reply. It is not shown, not kept, and none of its calls is executed.',
    happened: 'your last reply was refused by a check of the application and was not shown to the user',
    todo: 'Reply in a way that the check allows.',
    person: 'a check of the application refused the reply',
  },
  // Reasons why a tool call was not executed, or failed.
  unknown_tool: {
    means: 'The call names a tool that does not exist.',
    happened: 'you called a tool that does not exist',
    todo: 'Use only the tools offered, with their exact names; the answer to your call lists them.',
    person: 'the model called a tool that does not exist',
  },
  malformed_tool_call: {
    means: 'The input of the call is not a JSON object, or the provider itself could not read the call.',
    happened: 'your tool call could not be read, so it was not executed',
    todo: "Send the call again with one complete JSON object as its input, one that satisfies the tool's schema.",
    person: 'the input of a tool call could not be read as a JSON object',
  },
  invalid_tool_input: {
    means: "The input of the call breaks the tool's schema.",
    happened: "the input of your tool call did not satisfy the tool's schema, so it was not executed",
    todo: 'Read the reasons in the answer to your call, correct the input and call the tool again.',
    person: "the input of a tool call did not satisfy the tool's schema",
  },
  tool_not_permitted: {
    means:
      'The call is not permitted now: on the last turn, only the report is (B-5); else what the turn was planned with (T-7), and one handoff a reply (T-8).',
    happened: 'you called a tool that is not permitted now',
    todo: 'Do not call it again; use what is permitted, or give the final report.',
    todoByText: 'Do not call it again; use what is permitted, or reply with your answer as text.',
    person: 'the model called a tool that was not permitted',
  },
  tool_limit: {
    means: 'The reply brought more calls than `limits.maxToolCallsPerTurn`.',
    happened: 'you made more tool calls than a turn may hold; those beyond the limit were not executed',
    todo: 'Make fewer calls in one reply.',
    person: 'the model made more tool calls than a turn may hold',
  },
  tool_exec_failed: {
    means: 'The tool was invoked and failed.',
    happened: 'a tool you called failed',
    todo: 'Read the error in its answer; correct your input or go another way.',
    person: 'a tool failed',
  },
  tool_timeout: {
    means: 'The tool was invoked and did not finish in time.',
    happened: 'a tool you called did not finish in time',
    todo: 'Ask it for less, or go another way.',
    person: 'a tool did not finish in time',
  },
  tool_denied: {
    means: 'A person denied the call.',
    happened: 'your tool call was denied, so it was not executed; this was not your fault',
    todo: 'Go another way, or go on without it.',
    person: 'a tool call was denied',
  },
  policy_denied: {
    means: 'A policy denied the call.',
    happened: 'a policy does not permit your tool call, so it was not executed',
    todo: 'Read the reason in the answer to your call, and go another way.',
    person: 'a policy denied a tool call',
  },
  check_failed: {
    means: 'A schema, a validator, a policy or a check failed on the input, a call, a reply or a report.',
    happened:
      'your call, reply or report could not be checked, because a check of ours failed; this was not your fault',
    todo: 'Try once more, or go another way.',
    person: 'the input, a call, a reply or a report could not be checked',
    advice: 'A schema, a validator, a policy or a check threw or took too long; the details hold its error.',
  },
  approval_timeout: {
    means: 'The call was not approved in time.',
    happened: 'your tool call was not approved in time, so it was not executed',
    todo: 'Go on without it.',
    person: 'a tool call was not approved in time',
  },
  // Problems with a final report.
  final_report_missing: {
    means: 'The final report was empty.',
    happened: 'your final report was empty',
    todo: 'Give the final report again, with your complete result in it.',
    todoByText: 'Reply with your complete answer as text.',
    person: 'the final report was empty',
  },
  final_report_invalid_format: {
    means: 'The final report did not have the required format.',
    happened: 'your final report did not have the required format',
    todo: 'Read the reasons, and give the final report again in the required format.',
    todoByText: 'Read the reasons, and reply again in the required format.',
    person: 'the final report did not have the required format',
  },
  final_report_schema_fail: {
    means: 'The final report did not satisfy its schema.',
    happened: 'your final report did not satisfy the required schema',
    todo: 'Read the reasons, and give the final report again so that it satisfies the schema.',
    todoByText: 'Read the reasons, and reply again so that it satisfies the schema.',
    person: 'the final report did not satisfy its schema',
  },
  report_denied: {
    means: '`checkReport` of the agent denied the final report.',
    happened: 'your final report was refused by a check of the application',
    todo: 'Read the reasons, and give the final report again so that the check allows it.',
    todoByText: 'Read the reasons, and reply again so that the check allows it.',
    person: 'a check of the application refused the final report',
  },
  final_report_repeated: {
    means: 'A report was already accepted; this one was ignored.',
    happened: 'you gave more than one final report; the first valid one counts',
    todo: 'Give the final report once.',
    person: 'the model gave more than one final report',
  },
  ...providerRows,
  // Reasons why a session ended, or had to end soon.
  no_targets: {
    means: 'No usable target is left.',
    happened: 'no model is left that could be asked',
    todo: 'Check the credentials, the quota and the names of the models.',
    person: 'no usable model is left',
  },
  retries_exhausted: {
    means: 'Every attempt of a turn failed.',
    happened: 'every attempt of a turn failed',
    todo: 'Look at the reasons of the attempts; another model or a clearer task may help.',
    person: 'every attempt of a turn failed',
  },
  max_turns_exhausted: {
    means: 'The last turn ended without an accepted report.',
    happened: 'the last turn ended without an accepted report',
    todo: 'Allow more turns, or ask for less.',
    person: 'the last turn ended without an accepted report',
  },
  budget_exhausted: {
    means: 'A budget of the session is spent.',
    happened: "the session's budget is spent",
    todo: 'Work with what you have now.',
    person: "the session's budget is spent",
  },
  context_guard: {
    means: 'The conversation fills the context window.',
    happened: 'the conversation fills the context window',
    todo: 'Work with what you have now.',
    person: 'the conversation fills the context window',
    advice:
      'Return less from tools, turn on `builtIns.readResult`, or raise `limits.contextWindow` if the model has more.',
  },
  depth_exceeded: {
    means: 'Sub-agents would nest deeper than `limits.maxDepth`.',
    happened: 'agents may not call each other any deeper',
    todo: 'Do this part yourself, or go on without it.',
    person: 'agents may not call each other any deeper',
  },
  stopped: {
    means: 'The session was stopped.',
    happened: 'the session is being stopped',
    todo: 'Work with what you have now.',
    person: 'the session was stopped',
  },
  aborted: {
    means: 'The session was aborted.',
    happened: 'the session was aborted',
    todo: 'Start it again if the result is still wanted.',
    person: 'the session was aborted',
  },
  interrupted: {
    means: 'Something that had begun was interrupted; its outcome is unknown.',
    happened: 'what you had begun was interrupted, and its outcome is unknown',
    todo: 'Look at how things stand before you repeat it.',
    person: 'something that had begun was interrupted',
  },
  ...sessionRows,
} satisfies Record<string, SlugRow>;

export type Slug = keyof typeof rows;

export const slugTable: Readonly<Record<Slug, SlugRow>> = rows;

/** Every slug, in the order of the table. */
export const slugs = Object.keys(rows).filter((name): name is Slug => name in rows);

/** Returns the distinct slugs of `lists`, in order of first appearance. */
export const unionOfSlugs = (...lists: readonly (readonly Slug[])[]): Slug[] => [...new Set(lists.flat())];
