import type { CallFacts } from '../contract/calls.ts';
import type { Slug } from '../contract/slugs.ts';
import { cutShortTexts } from '../tool-call/tool-call.rules.ts';
import type { Disposition, Pending } from '../tool-call/tool-call.types.ts';
import type { Circumstances } from './attempt.types.ts';

/**
 * Decides how to handle each call in a reply, in order (C-1, C-5, B-5, T-2). A call depends on earlier ones in two
 * ways: real calls over the limit are refused, and the first valid report counts (F-2).
 */
export function disposeAll(calls: readonly CallFacts[], circumstances: Circumstances): Disposition[] {
  let realCalls = 0;
  let reportAccepted = false;
  return calls.map((call) => {
    const disposition = dispose(call, circumstances, { realCalls, reportAccepted });
    if (isPending(disposition)) realCalls += 1;
    if (call.tool === 'report' && disposition.kind === 'acknowledge') reportAccepted = true;
    return disposition;
  });
}

/** What the calls of a reply that was cut off here are answered. */
const cutHereTexts = {
  response_truncated: 'Your reply was too large, so this call was not executed. Reply more briefly.',
  degenerate_reply: 'Your reply repeated itself and was cut off, so this call was not executed. Send it again.',
};

function dispose(
  call: CallFacts,
  circumstances: Circumstances,
  before: { realCalls: number; reportAccepted: boolean },
): Disposition {
  if (call.tool === 'provider') return disposeProvided(call, circumstances);
  if (circumstances.replyCutHere !== null)
    return refuse(circumstances.replyCutHere, cutHereTexts[circumstances.replyCutHere]);
  if (circumstances.replyMalformed) {
    const message = 'The provider could not read a call of your reply, so none of its calls was executed.';
    return refuse('malformed_tool_call', `${message} Send them again, each with one JSON object as its input.`);
  }
  if (!circumstances.replyComplete && circumstances.replyTruncated) {
    return refuse('response_truncated', 'Your reply was cut off by the output limit, so this call was not executed.');
  }
  if (!circumstances.replyComplete) {
    return refuse('stream_interrupted', 'Your reply broke off, so this call was not executed. Send it again.');
  }
  if (circumstances.replyTruncated && !call.wholeInput) {
    return refuse(
      'response_truncated',
      "Your reply was cut off by the output limit before this call's input was complete, so it was not executed. Send it again with a shorter input.",
    );
  }
  if (call.tool === 'unknown') {
    // A model may invent a name of any length.
    const name = JSON.stringify(call.name.slice(0, 128));
    return refuse('unknown_tool', `There is no tool named ${name}. ${call.detail}`.trim());
  }
  if (circumstances.permission === 'report' && call.tool !== 'report') {
    return refuse('tool_not_permitted', 'This is the last turn: only the final report is permitted.');
  }
  if (call.tool === 'report') return disposeReport(call, before.reportAccepted);
  if (call.input === 'malformed') {
    return refuse('malformed_tool_call', `The input is not a JSON object: ${call.detail}. It was not executed.`);
  }
  if (call.input === 'invalid') {
    return refuse('invalid_tool_input', `The input does not satisfy the tool's schema: ${call.detail}`);
  }
  if (call.refusal !== null) return refuse(call.refusal.slug, call.refusal.reason);
  if (call.tool === 'progress') return { kind: 'acknowledge', message: 'Progress noted.' };
  if (call.tool === 'batch') return { kind: 'acknowledge', message: 'The calls inside are answered one by one.' };
  if (before.realCalls >= circumstances.maxToolCalls) {
    return refuse(
      'tool_limit',
      `At most ${circumstances.maxToolCalls} tool calls run per turn; this one is over the limit.`,
    );
  }
  const { needsApproval, isClientSide } = call;
  const { stopSlug } = circumstances;
  // After a stop, nothing more is waited for from outside.
  if (stopSlug !== null && (needsApproval || isClientSide)) return refuse(stopSlug, cutShortTexts[stopSlug]);
  return { kind: needsApproval ? 'approve' : 'run', isClientSide };
}

/**
 * Returns the disposition of a call that the provider executes and answers, in this reply or a later one (T-2). If
 * the reply broke off without the result, the outcome is unknown.
 */
function disposeProvided({ provided }: CallFacts, { permission, replyComplete }: Circumstances): Disposition {
  if (provided === null || (provided === 'missing' && !replyComplete)) {
    return refuse('interrupted', 'The provider sent no result for this call.');
  }
  if (permission === 'report') return { kind: 'provided', slug: 'tool_not_permitted' };
  return { kind: 'provided', slug: provided === 'failure' ? 'tool_exec_failed' : null };
}

function disposeReport(call: CallFacts, reportAccepted: boolean): Disposition {
  if (call.report === null) return refuse('final_report_missing', 'The report is missing.');
  if (!call.report.valid) {
    const { slug, reasons } = call.report;
    return refuse(slug, `The report ${slug === 'check_failed' ? 'could not be checked' : 'was rejected'}: ${reasons}`);
  }
  if (reportAccepted) return refuse('final_report_repeated', 'A report was already accepted; this one was ignored.');
  return { kind: 'acknowledge', message: 'The report was accepted.' };
}

function refuse(slug: Slug, message: string): Disposition {
  return { kind: 'refuse', slug, message };
}

export function isPending(disposition: Disposition): disposition is Pending {
  return disposition.kind === 'run' || disposition.kind === 'approve';
}
