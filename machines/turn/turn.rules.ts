import type { AttemptInput, AttemptOutput } from '../attempt/attempt.types.ts';
import type { TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { faultSlug } from '../contract/faults.ts';
import { type CollapseRequest, nothingSpent, requestsLeft, type Spent, spentTogether } from '../contract/limits.ts';
import { composeNotice } from '../contract/notice.ts';
import type { Change } from '../contract/record.ts';
import { noUsage } from '../contract/reply.ts';
import { unionOfSlugs } from '../contract/slugs.ts';
import { afterFault, afterReply, chooseTarget, type TargetChoice } from '../contract/targets.ts';
import type { Exhaustion, TurnContext, TurnInput, TurnOutput } from './turn.types.ts';

/** Returns the turn's state before its first attempt. */
export function freshTurn(input: TurnInput): TurnContext {
  const reportOnly = input.isLastTurn || requestsLeft(input.budget, input.spent, input.at) === 'one';
  return { ...input, attempt: 0, reportOnly, last: null, waiting: null };
}

/** Returns true while `attempt < maxRetries`; every attempt of the turn counts, even the first (B-1, B-2). */
export function attemptsRemain({ attempt, maxAttempts }: TurnContext): boolean {
  return attempt < maxAttempts;
}

/** Returns true if a living target is free now or within the longest wait (P-2, P-3). */
export function targetsRemain(context: TurnContext): boolean {
  const { kind } = nextTarget(context);
  return kind === 'free' || kind === 'wait';
}

/** Chooses the next attempt's target (P-2): the current one on the first attempt, the next one after a failure. */
export function nextTarget({ targets, current, last, at }: TurnContext): TargetChoice {
  return chooseTarget(targets, last === null ? current : current + 1, at);
}

/** Builds the current attempt's input. On the last turn's first attempt the tool list is unchanged (B-5). */
export function attemptInput(context: TurnContext): AttemptInput {
  const { turn, attempt, current, reportOnly, last, finish } = context;
  const failed = last?.slugs ?? [];
  return {
    turn,
    attempt,
    target: { index: current, name: context.targets[current]?.name ?? '' },
    notice: composeNotice({
      failed,
      reportOnly,
      lastTurnSlugs: context.lastTurnSlugs,
      finish,
      turn,
      attempt,
      maxAttempts: context.maxAttempts,
    }),
    offer: reportOnly && attempt > 1 ? 'report' : 'all',
    permission: reportOnly ? 'report' : 'all',
    finish,
    omitTokens: context.omitTokens,
    maxToolCalls: context.maxToolCalls,
    stopSlug: context.stopSlug,
  };
}

/** Builds the fact that an attempt started, which is emitted before its request (B-6). */
export function attemptFact(context: TurnContext): Fact {
  const { turn, attempt, target, notice } = attemptInput(context);
  return { type: 'attempt.started', turn, attempt, target: target.name, notice };
}

/**
 * Returns a turn's changes after an attempt: the state of its target (P-2, P-3) and the remaining budget. Once the
 * budget is spent, only one more attempt may run, to get the report. `maxAttempts` never grows.
 */
export function afterAttempt(context: TurnContext, output: AttemptOutput): Partial<TurnContext> {
  const { current } = context;
  const at = Math.max(context.at, output.at ?? 0);
  const spent = spentWith(context.spent, output);
  const targets =
    output.fault === null
      ? afterReply(context.targets, current)
      : afterFault(context.targets, current, output.fault, at, output.chance);
  return { last: output, spent, targets, ...within(context, spent, at) };
}

/** Begins the attempt after a wait, on the target chosen before it, even past the deadline (P-3). */
export function afterWait(context: TurnContext, at: number | null): Partial<TurnContext> {
  return {
    ...within(context, context.spent, Math.max(context.at, at ?? 0)),
    attempt: context.attempt + 1,
    current: context.waiting?.target ?? context.current,
    waiting: null,
  };
}

/** Returns the changes after a stop, which ends approvals. If the deadline caused it, the budget is spent too (D-2). */
export function afterStop(context: TurnContext, { slug, at }: Pick<TurnStop, 'slug' | 'at'>): Partial<TurnContext> {
  return { ...within(context, context.spent, Math.max(context.at, at ?? 0)), stopSlug: slug };
}

/** Applies the budget at `at`: once it is spent, one attempt remains, for the report. */
function within(
  { budget, attempt, maxAttempts, reportOnly, lastTurnSlugs }: TurnContext,
  spent: Spent,
  at: number,
): Pick<TurnContext, 'at' | 'reportOnly' | 'lastTurnSlugs' | 'maxAttempts'> {
  const left = requestsLeft(budget, spent, at);
  if (left === 'many') return { at, reportOnly, lastTurnSlugs, maxAttempts };
  return {
    at,
    reportOnly: true,
    lastTurnSlugs: unionOfSlugs(lastTurnSlugs, ['budget_exhausted']),
    maxAttempts: Math.min(maxAttempts, left === 'one' ? attempt + 1 : attempt),
  };
}

function spentWith(spent: Spent, { usage, costUsd, subAgentsSpent }: AttemptOutput): Spent {
  const own = { requests: 1, tokens: usage.input + usage.output, costUsd: costUsd ?? 0 };
  return spentTogether(spentTogether(spent, own), subAgentsSpent);
}

/** Returns the output for an attempt machine that broke, which counts as a failed attempt (B-2). */
export function brokenAttempt(context: TurnContext, { error }: { error: unknown }): Change<TurnContext, Fact> {
  const { turn, attempt, targets, current } = context;
  const target = targets[current]?.name ?? '';
  const output = brokenOutput();
  return {
    change: afterAttempt(context, output),
    facts: [{ type: 'attempt.failed', turn, attempt, target, slugs: output.slugs, detail: String(error) }],
  };
}

export function brokenOutput(): AttemptOutput {
  return {
    status: 'failed',
    slugs: ['internal_error'],
    fault: null,
    reportSlugs: [],
    at: null,
    chance: 0,
    usage: noUsage,
    costUsd: 0,
    contextTokens: 0,
    omittedTokens: 0,
    answerTokens: 0,
    subAgentsSpent: nothingSpent,
  };
}

/** Returns why the turn cannot continue; null while it can. A lack of targets outranks a lack of attempts. */
export function exhaustionOf(context: TurnContext): Exhaustion | null {
  const left = requestsLeft(context.budget, context.spent, context.at);
  const choice = nextTarget(context);
  const retryAt = choice.kind === 'beyond' ? choice.dueAt : null;
  if (left === 'none') return { why: 'budget', retryAt };
  if (choice.kind === 'none') return { why: 'targets', retryAt };
  if (!attemptsRemain(context)) return { why: left === 'many' ? 'attempts' : 'budget', retryAt };
  return retryAt === null ? null : { why: 'limited', retryAt };
}

/** Builds the fact that the last attempt's target is excluded; null if it is not. */
export function exclusionFacts({ targets, current, last }: TurnContext): Fact[] {
  const target = targets[current];
  if (target?.status !== 'out' || last?.fault == null) return [];
  return [{ type: 'target.excluded', target: target.name, slug: faultSlug(last.fault.kind) }];
}

export function outputOf(context: TurnContext, status: TurnOutput['status']): TurnOutput {
  const { last, attempt, targets, current, spent, at } = context;
  return {
    status,
    exhaustion: status === 'exhausted' ? (exhaustionOf(context) ?? { why: 'attempts', retryAt: null }) : null,
    slugs: last?.slugs ?? [],
    detail: last?.fault?.message ?? null,
    attempts: attempt,
    targets,
    current,
    spent,
    at,
    contextTokens: last?.contextTokens ?? 0,
    omittedTokens: last?.omittedTokens ?? 0,
    answerTokens: last?.answerTokens ?? 0,
  };
}

/** Returns the last attempt's collapse requests, caused by its report or the budget (B-4). */
export function collapseRequests({ last, budget, spent, at }: TurnContext): CollapseRequest[] {
  if (last === null || last.status === 'finished') return [];
  const requests: CollapseRequest[] = [];
  if (last.reportSlugs.length > 0) {
    requests.push({
      type: 'collapse.requested',
      reason: 'final_report_rejected',
      slugs: unionOfSlugs(last.reportSlugs),
    });
  }
  if (requestsLeft(budget, spent, at) !== 'many') {
    requests.push({ type: 'collapse.requested', reason: 'budget', slugs: ['budget_exhausted'] });
  }
  return requests;
}
