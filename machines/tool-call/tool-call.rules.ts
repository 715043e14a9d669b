import type { CallName } from '../contract/calls.ts';
import { estimateTokens } from '../contract/context.ts';
import type { Delivered, StopSlug } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { failedOutcome } from '../contract/failed-outcome.ts';
import { nothingSpent } from '../contract/limits.ts';
import type { Change } from '../contract/record.ts';
import type { Slug } from '../contract/slugs.ts';
import type { Answer, AnswerSummary, Settled, ToolCallContext, ToolCallOutput } from './tool-call.types.ts';

/** Returns the answer to a call that needs no effect: refused, acknowledged or executed by the provider. */
export function settled(disposition: Settled): Answer {
  switch (disposition.kind) {
    case 'refuse':
      return unexecuted(disposition.slug, disposition.message, null);
    case 'acknowledge': {
      const { message } = disposition;
      const result = { success: true, value: null, message };
      const output = { type: 'text', value: message } as const;
      const tokens = estimateTokens(message);
      return { executed: false, slug: null, result, output, tokens, kept: null, spent: nothingSpent, at: null };
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

/** What the model reads of a call that was cut short. */
export const cutShortTexts = {
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
  return { executed: false, ...failedOutcome(slug, message), at };
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

/** The fact that a tool was started. */
export function startFact(call: CallName): Fact {
  return { type: 'tool.started', ...nameOf(call) };
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
