import type { CallName } from '../contract/calls.ts';
import { estimateTokens, type SizedResult } from '../contract/context.ts';
import type { Delivered } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { faultSlug } from '../contract/faults.ts';
import { nothingSpent, spentTogether } from '../contract/limits.ts';
import type { Change } from '../contract/record.ts';
import { type Slug, unionOfSlugs } from '../contract/slugs.ts';
import { answerFact, cutShort, executed, summaryOf } from '../tool-call/tool-call.rules.ts';
import type {
  Answer,
  AnswerSummary,
  Disposition,
  ToolCallInput,
  ToolCallOutput,
} from '../tool-call/tool-call.types.ts';
import type { AttemptContext, AttemptOutput, Reading, Verdict } from './attempt.types.ts';
import { isPending } from './disposition.rules.ts';
import { brokenReading, nameOf } from './reading.rules.ts';

/**
 * Returns an attempt's verdict, from its reply and its answers only (T-4). The attempt finished if a report was
 * accepted, was aborted if an answer was, and progressed if a complete reply is open or a tool ran. Otherwise it
 * failed.
 */
export function judge(reading: Reading, answers: readonly AnswerSummary[]): Verdict {
  if (reading.accepted !== null) return { status: 'finished', slugs: [] };
  if (answers.some((answer) => answer.slug === 'aborted')) return { status: 'aborted', slugs: ['aborted'] };
  if (reading.complete && (reading.holds === 'open' || answers.some(isProgress)))
    return { status: 'progressed', slugs: [] };
  return { status: 'failed', slugs: failureSlugs(reading, answers) };
}

/** Reasons why a call was not executed that are no mistake of the model (T-2). */
const notItsMistake: readonly (Slug | null)[] = ['tool_denied', 'approval_timeout', 'stopped', 'budget_exhausted'];

/**
 * Returns true if a tool was executed, except by the provider on the last turn, which is forbidden (B-5), or if it was not
 * for a reason that is not the model's (T-2).
 */
function isProgress({ executed, slug }: AnswerSummary): boolean {
  return notItsMistake.includes(slug) || (executed && slug !== 'tool_not_permitted');
}

function failureSlugs(reading: Reading, answers: readonly AnswerSummary[]): Slug[] {
  if (reading.defect !== null) return ['internal_error'];
  if (reading.fault !== null) {
    const { kind } = reading.fault;
    const brokeOff: Slug[] = reading.began && kind !== 'malformed_call' ? ['stream_interrupted'] : [];
    return unionOfSlugs(brokeOff, [faultSlug(kind)]);
  }
  if (!reading.complete) return [reading.cut ?? 'stream_interrupted'];
  if (reading.calls.length === 0) return contentSlugs(reading);
  const refused = answers.flatMap((answer) => (answer.slug === null ? [] : [answer.slug]));
  return refused.length > 0 ? unionOfSlugs(refused) : ['progress_only'];
}

function contentSlugs(reading: Reading): Slug[] {
  const cut: Slug[] = reading.cut === null ? [] : [reading.cut];
  const reports = reading.rejected.map(({ slug }) => slug);
  switch (reading.holds) {
    case 'text':
      return unionOfSlugs(['text_only'], cut, reports);
    case 'answer':
      return cut.length + reports.length > 0 ? unionOfSlugs(cut, reports) : ['text_only'];
    case 'call':
      return unionOfSlugs(['call_as_text'], cut);
    case 'reasoning':
      return unionOfSlugs(['reasoning_only'], cut);
    case 'open':
    case 'other':
      return unionOfSlugs(['no_tools'], cut);
    case 'nothing':
      return cut.length > 0 ? cut : ['empty_response'];
    default:
      return reading.holds satisfies never;
  }
}

/** Returns the verdict once every call is answered. */
export function verdictOf({ reading, answers }: AttemptContext): Verdict {
  if (reading === null) return { status: 'aborted', slugs: ['aborted'] };
  return judge(
    reading,
    answers.flatMap((answer) => answer ?? []),
  );
}

export function withAnswer(
  { answers }: AttemptContext,
  { index, ...answer }: ToolCallOutput,
): Pick<AttemptContext, 'answers'> {
  return { answers: answers.map((known, position) => (position === index ? answer : known)) };
}

/** The place among the calls for which an actor was begun: 0 for `tool.0` and `toolCall.0`. */
function placeOf(actorId: string): number {
  return Number(actorId.slice(actorId.lastIndexOf('.') + 1));
}

function callAt({ turn, attempt, reading }: AttemptContext, index: number): CallName {
  const { callId, name } = reading?.calls[index] ?? { callId: '', name: '' };
  return { turn, attempt, index, callId, name };
}

/** Answers the call of an actor: in full as a fact (C-4), and in summary for the verdict. */
function answering(context: AttemptContext, actorId: string, answer: Answer): Change<AttemptContext, Fact> {
  const index = placeOf(actorId);
  return {
    change: withAnswer(context, { index, ...summaryOf(answer) }),
    facts: [answerFact(callAt(context, index), answer)],
  };
}

/** Answers a call with the outcome of its tool. */
export function answerOfTool(
  context: AttemptContext,
  { actorId, delivered }: { actorId: string; delivered: Delivered<'tool'> },
): Change<AttemptContext, Fact> {
  return answering(context, actorId, executed(delivered));
}

/** Answers a call whose tool or machine broke: a defect is answered too (C-1). */
export function answerOfBrokenCall(
  context: AttemptContext,
  { actorId }: { actorId: string },
): Change<AttemptContext, Fact> {
  return answering(context, actorId, cutShort('internal_error', null));
}

/** Answers the calls whose tools an abort cancels (D-2). */
export function abortedAnswers(context: AttemptContext): Change<AttemptContext, Fact> {
  const cut = cutShort('aborted', null);
  const running = runningTools(context);
  return {
    change: { answers: context.answers.map((known, index) => (running.includes(index) ? summaryOf(cut) : known)) },
    facts: running.map((index) => answerFact(callAt(context, index), cut)),
  };
}

/** The calls that need an effect, in order. `waits`: for a person or a client, so it has a machine, with this input. */
export function begunCalls(context: AttemptContext): { call: CallName; waits: ToolCallInput | null }[] {
  return dispositions(context).flatMap((disposition, index) => {
    if (!isPending(disposition)) return [];
    const call = callAt(context, index);
    const { kind, isClientSide } = disposition;
    return [
      { call, waits: isAwaited(disposition) ? { ...call, needsApproval: kind === 'approve', isClientSide } : null },
    ];
  });
}

function dispositions({ reading }: AttemptContext): Disposition[] {
  return (reading?.calls ?? []).map(({ disposition }) => disposition);
}

/** Whether a call waits for a person or a client, and so has a machine. */
function isAwaited(disposition: Disposition): boolean {
  return isPending(disposition) && (disposition.kind === 'approve' || disposition.isClientSide);
}

/** Returns the calls without an answer whose tools run in the attempt. */
export function runningTools(context: AttemptContext): number[] {
  return unanswered(context)
    .filter(({ waits }) => !waits)
    .map(({ index }) => index);
}

/** Returns the calls without an answer whose machines a stop or an abort can reach. */
export function waitingCalls(context: AttemptContext): number[] {
  return unanswered(context)
    .filter(({ waits }) => waits)
    .map(({ index }) => index);
}

function unanswered(context: AttemptContext): { index: number; waits: boolean }[] {
  return dispositions(context).flatMap((disposition, index) =>
    context.answers[index] === null ? [{ index, waits: isAwaited(disposition) }] : [],
  );
}

export function outputOf(context: AttemptContext): AttemptOutput {
  const { status, slugs } = verdictOf(context);
  const reading = context.reading ?? brokenReading('');
  const answers = context.answers.flatMap((answer) => answer ?? []);
  const times = [reading.at, ...answers.map((answer) => answer.at)].flatMap((at) => at ?? []);
  return {
    status,
    slugs,
    fault: reading.fault,
    detail: detailOf(context),
    reportSlugs: reading.rejected.flatMap(({ slug }) => (slug === 'check_failed' ? [] : [slug])),
    at: times.length > 0 ? Math.max(...times) : null,
    chance: reading.chance,
    usage: reading.usage,
    guessedTokens: reading.guessedTokens,
    costUsd: reading.costUsd,
    measured: reading.measured,
    results: sizedResults(context),
    subAgentsSpent: answers.map((answer) => answer.spent).reduce(spentTogether, nothingSpent),
  };
}

/** Returns the sizes of the answers; a batch's includes those inside it. The provider's own results have none. */
function sizedResults({ reading, answers }: AttemptContext): SizedResult[] {
  const sizes = new Map<string, number>();
  const calls = reading?.calls ?? [];
  for (const [index, { callId, name, tool, within }] of calls.entries()) {
    if (tool === 'provider') continue;
    const id = within === null ? callId : (calls[within]?.callId ?? callId);
    const tokens = estimateTokens(callId + name) + (answers[index]?.tokens ?? 0);
    sizes.set(id, (sizes.get(id) ?? 0) + tokens);
  }
  return [...sizes].map(([callId, tokens]) => ({ callId, tokens }));
}

/** Builds the fact that an attempt ended. */
export function endFact(context: AttemptContext): Fact {
  const { status, slugs } = verdictOf(context);
  const name = nameOf(context);
  if (status !== 'failed') return { type: `attempt.${status}`, ...name };
  return { type: 'attempt.failed', ...name, slugs, detail: detailOf(context) };
}

/** Returns why the attempt failed, in one reason: a defect, a fault, a report that was rejected or a call that was refused. */
function detailOf({ reading }: AttemptContext): string | null {
  const rejected = reading?.rejected ?? [];
  const report = rejected.find(({ slug }) => slug === 'check_failed') ?? rejected[0];
  const [refusal] =
    reading?.calls.flatMap(({ disposition }) => (disposition.kind === 'refuse' ? disposition : [])) ?? [];
  return reading?.defect ?? reading?.fault?.message ?? report?.reasons ?? refusal?.message ?? null;
}
