import type { AttemptInput, AttemptOutput } from '../attempt/attempt.types.ts';
import type { StopBelow } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { faultSlug } from '../contract/faults.ts';
import { nothingSpent, requestsLeft, type Spent, spentTogether } from '../contract/limits.ts';
import { composeNotice } from '../contract/notice.ts';
import { noUsage } from '../contract/reply.ts';
import { unionOfSlugs } from '../contract/slugs.ts';
import { afterFault, afterReply, chooseTarget, type TargetChoice } from '../contract/targets.ts';
import type { CollapseRequest } from '../session/session.types.ts';
import type { Exhaustion, TurnContext, TurnInput, TurnOutput } from './turn.types.ts';

/** The turn before its first attempt. */
export function freshTurn(input: TurnInput): TurnContext {
  const reportOnly = input.isLastTurn || requestsLeft(input.budget, input.spent, input.at) === 'one';
  return { ...input, attempt: 0, reportOnly, last: null, waiting: null };
}

/** `attempt < maxRetries`: all attempts of the turn count, the first included (B-1, B-2). */
export function attemptsRemain({ attempt, maxAttempts }: TurnContext): boolean {
  return attempt < maxAttempts;
}

/** Some living target is free, or will be within the longest wait (P-2, P-3). */
export function targetsRemain(context: TurnContext): boolean {
  const { kind } = nextTarget(context);
  return kind === 'free' || kind === 'wait';
}

/** Where the next attempt goes (P-2): on the turn's first, the target kept from before; after a failure, the next one. */
export function nextTarget({ targets, current, last, at }: TurnContext): TargetChoice {
  return chooseTarget(targets, last === null ? current : current + 1, at);
}

/** What the attempt under way is told. On the last turn's first attempt the tool list stays as it was (B-5). */
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

/** The fact of an attempt's beginning: stated before its request is made (B-6). */
export function attemptFact(context: TurnContext): Fact {
  const { turn, attempt, target, notice } = attemptInput(context);
  return { type: 'attempt.started', turn, attempt, target: target.name, notice };
}

/**
 * What a turn knows after an attempt: how its target stands (P-2, P-3), and what the budget leaves: with the budget
 * spent one more attempt is allowed, for the report alone. The attempts of a turn shrink and never grow.
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

/** The attempt for which the turn waited. It waited for the target, whatever became of the deadline meanwhile (P-3). */
export function afterWait(context: TurnContext, at: number | null): Partial<TurnContext> {
  return {
    ...within(context, context.spent, Math.max(context.at, at ?? 0)),
    attempt: context.attempt + 1,
    current: context.waiting?.target ?? context.current,
    waiting: null,
  };
}

/** A stop asks nobody for an approval any more; when it was the deadline's, the budget is spent too (D-2). */
export function afterStop(context: TurnContext, { slug, at }: StopBelow): Partial<TurnContext> {
  return { ...within(context, context.spent, Math.max(context.at, at ?? 0)), stopSlug: slug };
}

/** What the budget leaves at `at`: with it spent, one more attempt for the report. */
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

/** An attempt machine that broke is a failed attempt all the same (B-2). */
export function brokenAttempt(): AttemptOutput {
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

/** Why the turn cannot go on; null while it can. That no target is left says more than that no attempt is. */
export function exhaustionOf(context: TurnContext): Exhaustion | null {
  const left = requestsLeft(context.budget, context.spent, context.at);
  const choice = nextTarget(context);
  const retryAt = choice.kind === 'beyond' ? choice.dueAt : null;
  if (left === 'none') return { why: 'budget', retryAt };
  if (choice.kind === 'none') return { why: 'targets', retryAt };
  if (!attemptsRemain(context)) return { why: left === 'many' ? 'attempts' : 'budget', retryAt };
  return retryAt === null ? null : { why: 'limited', retryAt };
}

/** The fact that says that the target of the attempt just made takes no more requests. */
export function exclusionFact({ targets, current, last }: TurnContext): Fact | null {
  const target = targets[current];
  if (target?.status !== 'out' || last?.fault == null) return null;
  return { type: 'target.excluded', target: target.name, slug: faultSlug(last.fault.kind) };
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

/** What the attempt just made asks of the session (B-4): to end soon, because of its report or of the budget. */
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
