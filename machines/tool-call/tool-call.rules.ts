import type { CallFacts, CallName } from '../contract/calls.ts';
import { estimateTokens } from '../contract/context.ts';
import type { Delivered, StopSlug } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { nothingSpent } from '../contract/limits.ts';
import type { Change } from '../contract/record.ts';
import type { Slug } from '../contract/slugs.ts';
import { failure } from '../contract/tool-result.ts';
import type {
  Answer,
  AnswerSummary,
  Circumstances,
  Disposition,
  Pending,
  Settled,
  ToolCallContext,
  ToolCallOutput,
} from './tool-call.types.ts';

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

function dispose(
  call: CallFacts,
  circumstances: Circumstances,
  before: { realCalls: number; reportAccepted: boolean },
): Disposition {
  if (call.tool === 'provider') return disposeProvided(call, circumstances);
  if (circumstances.replyOversized) {
    return refuse('response_truncated', 'Your reply was too large, so this call was not executed. Reply more briefly.');
  }
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
  if (call.input === 'malformed') {
    return refuse('malformed_tool_call', `The input is not a JSON object: ${call.detail}. It was not executed.`);
  }
  if (call.tool === 'report') return disposeReport(call, before.reportAccepted);
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

/** Returns the answer to a call that needs no effect: refused, acknowledged or executed by the provider. */
export function settled(disposition: Settled): Answer {
  switch (disposition.kind) {
    case 'refuse':
      return unexecuted(disposition.slug, disposition.message, null);
    case 'acknowledge': {
      const { message } = disposition;
      const result = { success: true, value: null, message };
      return {
        executed: false,
        slug: null,
        result,
        output: { type: 'text', value: message },
        ...costing(message, null),
      };
    }
    case 'provided': {
      const { slug } = disposition;
      const message = 'Executed by the provider, which gives its result in a reply.';
      return {
        executed: true,
        slug,
        result: { success: slug === null, value: null, message },
        output: { type: slug === null ? 'text' : 'error-text', value: message },
        tokens: 0,
        kept: null,
        spent: nothingSpent,
        at: null,
      };
    }
    default:
      return disposition satisfies never;
  }
}

const cutShortTexts = {
  stopped: 'The session is stopping, so this call was not executed.',
  budget_exhausted: "The session's time is up, so this call was not executed.",
  aborted: 'The session was aborted. This call was not executed, or its outcome is unknown.',
  approval_timeout: 'The call was not approved in time. It was not executed.',
  internal_error: 'The tool could not be run because of an internal error.',
} as const;

const unawaitedTexts = {
  stopped: 'The session is stopping, so the result of this call was not awaited. It may have been carried out.',
  budget_exhausted:
    "The session's time is up, so the result of this call was not awaited. It may have been carried out.",
} as const;

/** Returns the answer to a client-side call whose result is no longer awaited. */
export function unawaited(slug: StopSlug, at: number | null): Answer {
  return unexecuted(slug, unawaitedTexts[slug], at);
}

/** Returns the answer to a call that was cut short from outside, which does not count as executed (T-2). */
export function cutShort(slug: keyof typeof cutShortTexts, at: number | null): Answer {
  return unexecuted(slug, cutShortTexts[slug], at);
}

/** Returns the answer to a denied call, with the reason so that the model can try another way. */
export function denied({ at, outcome: { reason } }: Delivered<'approval'>): Answer {
  const answer = unexecuted('tool_denied', reason === null ? 'Denied.' : `Denied: ${reason}`, at);
  return { ...answer, output: reason === null ? { type: 'execution-denied' } : { type: 'execution-denied', reason } };
}

/** The slugs of a tool effect that did not invoke its tool. */
const notInvoked: readonly Slug[] = ['invalid_tool_input', 'check_failed', 'budget_exhausted'];

/** Returns the answer from a tool effect; the call counts as executed only if the tool was invoked (T-2). */
export function executed({ at, outcome: { slug, result, output, tokens, kept, spent } }: Delivered<'tool'>): Answer {
  return {
    executed: slug === null || !notInvoked.includes(slug),
    slug,
    result,
    output,
    tokens,
    kept,
    spent,
    at,
  };
}

function unexecuted(slug: Slug, message: string, at: number | null): Answer {
  return {
    executed: false,
    slug,
    result: failure(message),
    output: { type: 'error-text', value: message },
    ...costing(message, at),
  };
}

function costing(message: string, at: number | null): Pick<Answer, 'tokens' | 'kept' | 'spent' | 'at'> {
  return { tokens: estimateTokens(message), kept: null, spent: nothingSpent, at };
}

/** Answers the call, once: in full as a fact (C-4), and in summary for the attempt. */
export function answered(context: ToolCallContext, answer: Answer): Change<ToolCallContext, Fact> {
  return { change: { answer: summaryOf(answer) }, facts: [answerFact(context, answer)] };
}

export function summaryOf({ executed, slug, tokens, spent, at }: Answer): AnswerSummary {
  return { executed, slug, tokens, spent, at };
}

export function answerFact(call: CallName, { at: _, spent: __, ...answer }: Answer): Fact {
  return { type: 'tool.answered', ...nameOf(call), ...answer };
}

export function outputOf({ index, answer }: ToolCallContext): ToolCallOutput {
  return {
    index,
    ...(answer ?? { executed: false, slug: 'internal_error', tokens: 0, spent: nothingSpent, at: null }),
  };
}

export function nameOf({ turn, attempt, index, callId, name }: CallName): CallName {
  return { turn, attempt, index, callId, name };
}
