import type { AttemptInput, AttemptOutput } from '../attempt/attempt.types.ts';
import {
  afterAnswers,
  type ContextVerdict,
  estimateTokens,
  guardContext,
  mostTokens,
  type RequestSize,
  sent,
} from '../contract/context.ts';
import type { TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { faultSlug } from '../contract/faults.ts';
import {
  type CollapseRequest,
  nothingSpent,
  type RequestsLeft,
  requestsLeft,
  type Spent,
  spentTogether,
} from '../contract/limits.ts';
import { composeNotice } from '../contract/notice.ts';
import type { Change } from '../contract/record.ts';
import { noUsage } from '../contract/reply.ts';
import { unionOfSlugs } from '../contract/slugs.ts';
import { afterFault, afterReply, chooseTarget, type TargetChoice, type TargetState } from '../contract/targets.ts';
import type { TurnContext, TurnInput } from './turn.types.ts';

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

/**
 * Chooses the next attempt's target (P-2): the first of the order, then the one after that of the failed attempt, among
 * those whose window the request fits. Where it fits none, all are candidates.
 */
export function nextTarget(context: TurnContext): TargetChoice {
  const { targets, order, current, last, at } = context;
  const { deadlineAt } = context.budget;
  const from = last === null ? 0 : order.indexOf(current) + 1;
  const fits = (state: TargetState) => verdictOn(context, state).kind !== 'full';
  const choice = chooseTarget(targets, order, from, at, { fits, deadlineAt });
  return choice.kind === 'none' ? chooseTarget(targets, order, from, at, { deadlineAt }) : choice;
}

/**
 * Builds the current attempt's input. The tool list leads the prefix that providers cache, so it stays as it was until the
 * last attempt of the last turn, unless that is the turn's first (B-5).
 */
export function attemptInput(context: TurnContext): AttemptInput {
  const { turn, attempt, current, reportOnly, finish } = context;
  const isLastChance = reportOnly && attempt > 1 && !attemptsRemain(context);
  return {
    turn,
    attempt,
    target: { index: current, name: context.targets[current]?.name ?? '' },
    notice: noticeOf(context, attempt),
    offer: isLastChance ? 'report' : 'all',
    permission: reportOnly ? 'report' : 'all',
    finish,
    omit: context.size.omitted,
    omitText: context.size.omittedText,
    maxToolCalls: context.maxToolCalls,
    stopSlug: context.stopSlug,
  };
}

function noticeOf(context: TurnContext, attempt: number): string | null {
  const { turn, reportOnly, permits, last, finish, lastTurnSlugs, maxAttempts } = context;
  const denial = last?.fault?.kind === 'denied' ? last.fault.message : null;
  return composeNotice({
    failed: last?.slugs ?? [],
    denial,
    reportOnly,
    permits,
    lastTurnSlugs,
    finish,
    turn,
    attempt,
    maxAttempts,
  });
}

/** Returns the context guard's verdict on the next attempt's request to a target (T-6). */
function verdictOn(context: TurnContext, { windowTokens }: Pick<TargetState, 'windowTokens'>): ContextVerdict {
  const window = { ...context.window, windowTokens };
  return guardContext(window, context.size, estimateTokens(noticeOf(context, context.attempt + 1) ?? ''));
}

/** Returns the context guard's verdict on the next attempt's request to the target at an index. */
function verdictAt(context: TurnContext, target: number): ContextVerdict {
  return verdictOn(context, context.targets[target] ?? { windowTokens: null });
}

/** Returns true if the next request fits its target's context window, without results and old text if need be (T-6). */
export function requestFits(context: TurnContext): boolean {
  const choice = nextTarget(context);
  return !('target' in choice) || verdictAt(context, choice.target).kind !== 'full';
}

/** Returns the changes as the next attempt begins on a target: what its request leaves out (T-6). */
export function fitted(context: TurnContext, target: number): Change<TurnContext, Fact> {
  const { omit: callIds, omitText: textTokens } = verdictAt(context, target);
  const attempt = context.attempt + 1;
  const { turn, size } = context;
  const isLess = callIds.length > 0 || textTokens > 0;
  const facts: Fact[] = isLess ? [{ type: 'results.omitted', turn, attempt, callIds, textTokens }] : [];
  return { change: { attempt, size: sent(size, { omit: callIds, omitText: textTokens }), current: target }, facts };
}

/** Begins the next attempt on the next target, which is free. */
export function beginAttempt(context: TurnContext): Change<TurnContext, Fact> {
  const choice = nextTarget(context);
  return fitted(context, choice.kind === 'free' ? choice.target : context.current);
}

/** Builds the fact that an attempt started, which is emitted before its request (B-6). */
export function attemptFact(context: TurnContext): Fact {
  const { turn, attempt, target, notice, offer } = attemptInput(context);
  return { type: 'attempt.started', turn, attempt, target: target.name, notice, offer };
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
      : afterFault(context.targets, current, output.fault, at, output.chance, mostTokens(context.size));
  return { last: output, spent, targets, size: sizeAfter(context, output), ...within(context, spent, at) };
}

function sizeAfter({ size }: TurnContext, { status, measured, results }: AttemptOutput): RequestSize {
  if (measured === null) return size;
  const { counted, failed, tokens, oldText } = measured;
  return afterAnswers(size, { counted, oldText, tokens: status === 'failed' ? failed : tokens }, results);
}

/** Begins the attempt after a wait, on the target chosen before it, even past the deadline (P-3). */
export function afterWait(context: TurnContext, { at }: { at: number | null }): Change<TurnContext, Fact> {
  const changed = within(context, context.spent, Math.max(context.at, at ?? 0));
  const { change, facts } = fitted({ ...context, ...changed }, context.waiting?.target ?? context.current);
  return { change: { ...changed, ...change, waiting: null }, facts };
}

/** Returns the changes after a stop, which ends approvals. If the deadline caused it, the budget is spent too (D-2). */
export function afterStop(context: TurnContext, { slug, at }: Pick<TurnStop, 'slug' | 'at'>): Partial<TurnContext> {
  return { ...within(context, context.spent, Math.max(context.at, at ?? 0)), stopSlug: slug };
}

/** Applies the budget at `at`: once it is spent, one attempt remains, for the report. */
export function within(
  context: TurnContext,
  spent: Spent,
  at: number,
): Pick<TurnContext, 'at' | 'reportOnly' | 'lastTurnSlugs' | 'maxAttempts'> {
  const { budget, maxAttempts, reportOnly, lastTurnSlugs } = context;
  const left = requestsLeft(budget, spent, at);
  return left === 'many' ? { at, reportOnly, lastTurnSlugs, maxAttempts } : { at, ...spentUp(context, left) };
}

/** Returns the changes once a budget allows no more than one attempt, for the report. */
export function spentUp(
  { attempt, maxAttempts, lastTurnSlugs }: Pick<TurnContext, 'attempt' | 'maxAttempts' | 'lastTurnSlugs'>,
  left: Exclude<RequestsLeft, 'many'>,
): Pick<TurnContext, 'reportOnly' | 'lastTurnSlugs' | 'maxAttempts'> {
  return {
    reportOnly: true,
    lastTurnSlugs: unionOfSlugs(lastTurnSlugs, ['budget_exhausted']),
    maxAttempts: Math.min(maxAttempts, left === 'one' ? attempt + 1 : attempt),
  };
}

function spentWith(spent: Spent, { usage, guessedTokens, costUsd, subAgentsSpent }: AttemptOutput): Spent {
  const own = { requests: 1, tokens: usage.input + usage.output + guessedTokens, costUsd: costUsd ?? 0 };
  return spentTogether(spentTogether(spent, own), subAgentsSpent);
}

/** Returns the output for an attempt machine that broke, which counts as a failed attempt (B-2). */
export function brokenAttempt(context: TurnContext, { error }: { error: unknown }): Change<TurnContext, Fact> {
  const { turn, attempt, targets, current } = context;
  const target = targets[current]?.name ?? '';
  const output = brokenOutput(String(error));
  const { slugs, detail } = output;
  return {
    change: afterAttempt(context, output),
    facts: [{ type: 'attempt.failed', turn, attempt, target, slugs, detail }],
  };
}

export function brokenOutput(detail: string | null = null): AttemptOutput {
  return {
    status: 'failed',
    slugs: ['internal_error'],
    fault: null,
    detail,
    reportSlugs: [],
    at: null,
    chance: 0,
    usage: noUsage,
    guessedTokens: 0,
    costUsd: 0,
    measured: null,
    results: [],
    subAgentsSpent: nothingSpent,
  };
}

/** Builds the fact that the last attempt's target is excluded, or that a piece that it refused is replaced; none otherwise. */
export function exclusionFacts({ targets, current, last, turn, attempt }: TurnContext): Fact[] {
  const target = targets[current];
  if (target === undefined || last?.fault == null) return [];
  const { kind, message, piece } = last.fault;
  if (target.status !== 'out') {
    if (kind !== 'invalid_request' || piece === undefined) return [];
    return [{ type: 'piece.replaced', turn, attempt, target: target.name, piece, detail: message }];
  }
  return [{ type: 'target.excluded', target: target.name, slug: faultSlug(kind), detail: message }];
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
