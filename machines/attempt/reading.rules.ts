import type { Delivered, ModelOutcome } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { finishSense } from '../contract/finish-reasons.ts';
import type { Change } from '../contract/record.ts';
import {
  cutHere,
  isComplete,
  isPaused,
  isTruncated,
  noUsage,
  type Reply,
  replyFiles,
  replyReasoning,
  replyText,
} from '../contract/reply.ts';
import { answerFact, settled, summaryOf } from '../tool-call/tool-call.rules.ts';
import type { AttemptContext, AttemptInput, Reading } from './attempt.types.ts';
import { disposeAll, isPending } from './disposition.rules.ts';

/** Reads a model effect's outcome and decides how to handle its calls and reports (C-5, F-2, F-4). */
export function readOutcome({ at, chance, outcome }: Delivered<'model'>, input: AttemptInput): Reading {
  const { reply, fault } = outcome;
  const complete = reply !== null && fault === null && isComplete(reply);
  const cut = reply === null ? null : cutOf(reply);
  const dispositions = disposeAll(outcome.calls, {
    replyComplete: complete,
    replyTruncated: cut === 'response_truncated',
    replyCutHere: reply === null ? null : cutHere(reply),
    replyMalformed: fault?.kind === 'malformed_call',
    permission: input.permission,
    maxToolCalls: input.maxToolCalls,
    stopSlug: input.stopSlug,
  });
  const calls = outcome.calls.flatMap(({ callId, name, tool, within, detail }, index) => {
    const disposition = dispositions[index];
    return disposition === undefined
      ? []
      : [{ callId, name, tool, within, progress: tool === 'progress' ? detail : '', disposition }];
  });
  const reading: Reading = {
    at,
    chance,
    fault,
    defect: null,
    began: reply !== null,
    complete,
    cut,
    holds: reply === null ? 'nothing' : contentOf(reply, outcome, input),
    calls,
    accepted: null,
    rejected: [],
    usage: outcome.usage,
    guessedTokens: outcome.guessedTokens ?? 0,
    costUsd: outcome.costUsd,
    measured: outcome.measured,
  };
  const byCall = calls.findIndex((call) => call.tool === 'report' && call.disposition.kind === 'acknowledge');
  if (byCall !== -1) reading.accepted = { index: byCall, source: 'tool_call' };
  for (const [index, { disposition }] of calls.entries()) {
    const report = outcome.calls[index]?.report;
    if (disposition.kind === 'refuse' && report?.valid === false && disposition.slug === report.slug) {
      reading.rejected.push({ index, slug: report.slug, reasons: report.reasons });
    }
  }
  // Before the last turn, text beside a call whose result is still to come only introduces it (T-2).
  const isAwaited = input.permission === 'all' && outcome.calls.some(({ provided }) => provided === 'missing');
  if (textIsReport(reading, input) && !isAwaited) {
    const { textReport } = outcome;
    if (textReport?.valid === true) reading.accepted = { index: null, source: 'text_fallback' };
    if (textReport?.valid === false) {
      reading.rejected.push({ index: null, slug: textReport.slug, reasons: textReport.reasons });
    }
  }
  return reading;
}

/** Returns true if plain text is the report: permitted, complete and without a call to our tools (F-4, T-5). */
function textIsReport(reading: Reading, input: AttemptInput): boolean {
  const whole = reading.complete && reading.cut === null;
  const alone = reading.calls.every((call) => call.tool === 'provider');
  return textMayReport(input) && whole && (reading.holds === 'text' || reading.holds === 'answer') && alone;
}

/** Returns true on the last turn, and always if the agent finishes by text (F-4). */
export function textMayReport({ finish, permission }: AttemptInput): boolean {
  return finish === 'text' || permission === 'report';
}

/** Returns why a reply did not come to its end; null if it did. */
function cutOf(reply: Reply): Reading['cut'] {
  if (isTruncated(reply)) return 'response_truncated';
  return finishSense(reply.finishReason) === 'filtered' ? 'content_filtered' : cutHere(reply);
}

function contentOf(
  reply: Reply,
  { callAsText }: Pick<ModelOutcome, 'callAsText'>,
  { finish, permission }: AttemptInput,
): Reading['holds'] {
  if (isPaused(reply)) return permission === 'all' ? 'open' : 'other';
  if (callAsText === true) return 'call';
  const hasText = replyText(reply).trim() !== '';
  // For an agent that finishes by text, an image or a file alone is an answer too.
  if (finish === 'text' && (hasText || replyFiles(reply).length > 0)) return 'answer';
  if (hasText) return 'text';
  if (reply.content.some((part) => part.type === 'file' || part.type === 'source')) {
    return 'other';
  }
  if (replyReasoning(reply).trim() !== '') return 'reasoning';
  return reply.content.some(isHiddenReasoning) ? 'reasoning' : 'nothing';
}

/** Returns true for reasoning without readable text: a file, or data encrypted for the provider. */
function isHiddenReasoning(part: Reply['content'][number]): boolean {
  return part.type === 'reasoning-file' || (part.type === 'reasoning' && part.providerOptions !== undefined);
}

/** Returns the reading for a defect in the effect's own code: no reply arrived. */
export function brokenReading(message: string): Reading {
  return {
    at: null,
    chance: 0,
    fault: null,
    defect: message,
    began: false,
    complete: false,
    cut: null,
    holds: 'nothing',
    calls: [],
    accepted: null,
    rejected: [],
    usage: noUsage,
    guessedTokens: 0,
    costUsd: 0,
    measured: null,
  };
}

/** Records a delivery: its reading, and the facts about the reply and its reports. */
export function readDelivery(
  context: AttemptContext,
  { delivered }: { delivered: Delivered<'model'> },
): Change<AttemptContext, Fact> {
  const reading = readOutcome(delivered, context);
  const { measured: _, textReport: __, ...outcome } = delivered.outcome;
  return {
    change: {
      reading,
      answers: reading.calls.map(({ disposition }) =>
        isPending(disposition) ? null : summaryOf(settled(disposition)),
      ),
    },
    facts: [
      { type: 'attempt.replied', ...nameOf(context), ...outcome },
      ...reportFacts(context, reading, delivered),
      ...callFacts(context, reading),
    ],
  };
}

/** Builds the facts about a reply's calls: each was requested, and those that need no effect are answered. */
function callFacts({ turn, attempt }: AttemptInput, { calls }: Reading): Fact[] {
  return calls.flatMap(({ callId, name, tool, progress, disposition }, index): Fact[] => {
    const call = { turn, attempt, index, callId, name };
    const requested: Fact = { type: 'tool.requested', kind: tool, ...call };
    if (isPending(disposition)) return [requested];
    const isProgress = tool === 'progress' && disposition.kind === 'acknowledge';
    const reported: Fact = { type: 'progress.reported', turn, attempt, callId, message: progress };
    return [requested, ...(isProgress ? [reported] : []), answerFact(call, settled(disposition))];
  });
}

/** Builds the facts about a reply's reports: the rejected ones, and the accepted one with its content. */
function reportFacts(input: AttemptInput, reading: Reading, { outcome }: Delivered<'model'>): Fact[] {
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

export function nameOf({ turn, attempt, target }: AttemptInput): { turn: number; attempt: number; target: string } {
  return { turn, attempt, target: target.name };
}
