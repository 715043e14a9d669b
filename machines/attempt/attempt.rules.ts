import type { Delivered } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { faultSlug } from '../contract/faults.ts';
import { nothingSpent, spentTogether } from '../contract/limits.ts';
import { isComplete, isTruncated, noUsage, type Reply, replyReasoning, replyText } from '../contract/reply.ts';
import { type Slug, unionOfSlugs } from '../contract/slugs.ts';
import { disposeAll } from '../tool-call/tool-call.rules.ts';
import type { AnswerSummary } from '../tool-call/tool-call.types.ts';
import type { AttemptContext, AttemptInput, AttemptOutput, Reading, Verdict } from './attempt.types.ts';

/** What an outcome of the model effect holds, and what happens with its calls and reports (C-5, F-2, F-4). */
export function readOutcome({ at, chance, outcome }: Delivered<'model'>, input: AttemptInput): Reading {
  const { reply, fault } = outcome;
  const complete = reply !== null && fault === null && isComplete(reply);
  const truncated = reply !== null && isTruncated(reply);
  const filtered = reply?.finishReason?.unified === 'content-filter';
  const dispositions = disposeAll(outcome.calls, {
    replyComplete: complete,
    replyTruncated: truncated,
    permission: input.permission,
    maxToolCalls: input.maxToolCalls,
    stopSlug: input.stopSlug,
  });
  const calls = outcome.calls.flatMap(({ callId, name, tool, detail }, index) => {
    const disposition = dispositions[index];
    return disposition === undefined
      ? []
      : [{ callId, name, tool, progress: tool === 'progress' ? detail : '', disposition }];
  });
  const reading: Reading = {
    at,
    chance,
    fault,
    defect: null,
    began: reply !== null,
    complete,
    truncated,
    filtered,
    holds: reply === null ? 'nothing' : contentOf(reply, input),
    calls,
    accepted: null,
    rejected: [],
    usage: outcome.usage,
    costUsd: outcome.costUsd,
    contextTokens: outcome.contextTokens,
    omittedTokens: outcome.omittedTokens,
  };
  const byCall = calls.findIndex((call) => call.tool === 'report' && call.disposition.kind === 'acknowledge');
  if (byCall !== -1) reading.accepted = { index: byCall, source: 'tool_call' };
  for (const [index, { disposition }] of calls.entries()) {
    const report = outcome.calls[index]?.report;
    if (disposition.kind === 'refuse' && report?.valid === false && disposition.slug === report.slug) {
      reading.rejected.push({ index, slug: report.slug, reasons: report.reasons });
    }
  }
  if (textIsReport(reading, input)) {
    const { textReport } = outcome;
    if (textReport?.valid === true) reading.accepted = { index: null, source: 'text_fallback' };
    if (textReport?.valid === false) {
      reading.rejected.push({ index: null, slug: textReport.slug, reasons: textReport.reasons });
    }
  }
  return reading;
}

/** Plain text is the report only where it may be, without a call of ours beside it, and when it came whole (F-4, T-5). */
function textIsReport(reading: Reading, input: AttemptInput): boolean {
  const whole = reading.complete && !reading.truncated && !reading.filtered;
  const alone = reading.calls.every((call) => call.tool === 'provider');
  return textMayReport(input) && whole && (reading.holds === 'text' || reading.holds === 'answer') && alone;
}

/** On the last turn, and wherever the agent finishes by text (F-4). */
export function textMayReport({ finish, permission }: AttemptInput): boolean {
  return finish === 'text' || permission === 'report';
}

function contentOf(reply: Reply, { finish }: AttemptInput): Reading['holds'] {
  if (replyText(reply).trim() !== '') return finish === 'text' ? 'answer' : 'text';
  if (reply.content.some((part) => part.type === 'file' || part.type === 'source')) {
    return 'other';
  }
  if (replyReasoning(reply).trim() !== '') return 'reasoning';
  return reply.content.some(isHiddenReasoning) ? 'reasoning' : 'nothing';
}

/** Reasoning that has no words to read: a file, or encrypted in what the provider wants back. */
function isHiddenReasoning(part: Reply['content'][number]): boolean {
  return part.type === 'reasoning-file' || (part.type === 'reasoning' && part.providerOptions !== undefined);
}

/** A defect of the effect itself: nothing came, and it was nobody's fault but ours. */
export function brokenReading(message: string): Reading {
  return {
    at: null,
    chance: 0,
    fault: null,
    defect: message,
    began: false,
    complete: false,
    truncated: false,
    filtered: false,
    holds: 'nothing',
    calls: [],
    accepted: null,
    rejected: [],
    usage: noUsage,
    costUsd: 0,
    contextTokens: 0,
    omittedTokens: 0,
  };
}

/**
 * The verdict of an attempt (T-4): from its reply and its answers, and from nothing else. It finished if a report was
 * accepted, was aborted if an answer was, succeeded if a complete reply had a tool executed, and else failed.
 */
export function judge(reading: Reading, answers: readonly AnswerSummary[]): Verdict {
  if (reading.accepted !== null) return { outcome: 'finished', slugs: [] };
  if (answers.some((answer) => answer.slug === 'aborted')) return { outcome: 'aborted', slugs: ['aborted'] };
  if (reading.complete && answers.some(isProgress)) return { outcome: 'succeeded', slugs: [] };
  return { outcome: 'failed', slugs: failureSlugs(reading, answers) };
}

/** A tool was executed (T-2); what the provider executed on the last turn was not permitted (B-5). */
function isProgress({ executed, slug }: AnswerSummary): boolean {
  return executed && slug !== 'tool_not_permitted';
}

function failureSlugs(reading: Reading, answers: readonly AnswerSummary[]): Slug[] {
  if (reading.defect !== null) return ['internal_error'];
  if (reading.fault !== null) {
    const brokeOff: Slug[] = reading.began ? ['stream_interrupted'] : [];
    return unionOfSlugs(brokeOff, [faultSlug(reading.fault.kind)]);
  }
  if (!reading.complete) return ['stream_interrupted'];
  if (reading.calls.length === 0) return contentSlugs(reading);
  const refused = answers.flatMap((answer) => (answer.slug === null ? [] : [answer.slug]));
  return refused.length > 0 ? unionOfSlugs(refused) : ['progress_only'];
}

function contentSlugs(reading: Reading): Slug[] {
  const cut: Slug[] = reading.truncated ? ['response_truncated'] : reading.filtered ? ['content_filtered'] : [];
  const reports = reading.rejected.map(({ slug }) => slug);
  switch (reading.holds) {
    case 'text':
      return unionOfSlugs(['text_only'], cut, reports);
    case 'answer':
      return cut.length + reports.length > 0 ? unionOfSlugs(cut, reports) : ['text_only'];
    case 'reasoning':
      return unionOfSlugs(['reasoning_only'], cut);
    case 'other':
      return unionOfSlugs(['no_tools'], cut);
    case 'nothing':
      return cut.length > 0 ? cut : ['empty_response'];
    default:
      return reading.holds satisfies never;
  }
}

/** The verdict of a context in which every call is answered. */
export function verdictOf({ reading, answers }: AttemptContext): Verdict {
  if (reading === null) return { outcome: 'aborted', slugs: ['aborted'] };
  return judge(
    reading,
    answers.flatMap((answer) => answer ?? []),
  );
}

/** Whether a call other than `index` still has no answer. */
export function answersLackBeside({ answers }: AttemptContext, index: number): boolean {
  return answers.some((answer, position) => answer === null && position !== index);
}

export function withAnswer(context: AttemptContext, index: number, answer: AnswerSummary): AttemptContext['answers'] {
  return context.answers.map((known, position) => (position === index ? answer : known));
}

/** Which calls a stop or an abort still reaches. */
export function unanswered({ answers }: AttemptContext): number[] {
  return answers.flatMap((answer, index) => (answer === null ? [index] : []));
}

export function outputOf(context: AttemptContext): AttemptOutput {
  const { outcome, slugs } = verdictOf(context);
  const reading = context.reading ?? brokenReading('');
  const answers = context.answers.flatMap((answer) => answer ?? []);
  const answerTokens = answers.reduce((sum, answer) => sum + answer.tokens, 0);
  const times = [reading.at, ...answers.map((answer) => answer.at)].flatMap((at) => at ?? []);
  return {
    status: outcome,
    slugs,
    fault: reading.fault,
    reportSlugs: reading.rejected.map(({ slug }) => slug),
    at: times.length > 0 ? Math.max(...times) : null,
    chance: reading.chance,
    usage: reading.usage,
    costUsd: reading.costUsd,
    contextTokens: reading.contextTokens === 0 ? 0 : reading.contextTokens + answerTokens,
    omittedTokens: reading.omittedTokens,
    answerTokens,
    subAgentsSpent: answers.map((answer) => answer.spent).reduce(spentTogether, nothingSpent),
  };
}

/** The facts about the reports in a reply: the rejected ones, and the accepted one with its content. */
export function reportFacts(input: AttemptInput, reading: Reading, { outcome }: Delivered<'model'>): Fact[] {
  const { turn, attempt } = input;
  const facts: Fact[] = reading.rejected.map(({ index, slug, reasons }) => {
    const callId = index === null ? null : (outcome.calls[index]?.callId ?? null);
    return { type: 'report.rejected', turn, attempt, callId, slug, reasons };
  });
  if (reading.accepted === null) return facts;
  const { index, source } = reading.accepted;
  const call = index === null ? null : outcome.calls[index];
  const verdict = index === null ? outcome.textReport : call?.report;
  const content = verdict?.valid === true ? verdict.content : null;
  facts.push({ type: 'report.accepted', turn, attempt, callId: call?.callId ?? null, source, content });
  return facts;
}

/** The fact of an attempt's end. */
export function endFact(context: AttemptContext): Fact {
  const { outcome, slugs } = verdictOf(context);
  const name = { turn: context.turn, attempt: context.attempt, target: context.target.name };
  if (outcome !== 'failed') return { type: `attempt.${outcome}`, ...name };
  const detail = context.reading?.defect ?? context.reading?.fault?.message ?? null;
  return { type: 'attempt.failed', ...name, slugs, detail };
}
