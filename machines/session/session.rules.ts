import { emptySize, guardContext, initialSize } from '../contract/context.ts';
import type { Delivered, PlanOutcome, PlanRequest, PrepareOutcome } from '../contract/effects.ts';
import type { Fact, Failure } from '../contract/events.ts';
import { type CollapseCause, collapsed, nothingSpent, requestsLeft } from '../contract/limits.ts';
import { type Slug, unionOfSlugs } from '../contract/slugs.ts';
import { freshTargets, largestWindow, orderFrom, withoutUnavailable } from '../contract/targets.ts';
import type { TurnInput, TurnOutput } from '../turn/turn.types.ts';
import type { Ending, Measures, SessionContext, SessionInput } from './session.types.ts';

/** Returns the session's state before its first turn. */
export function freshSession(input: SessionInput): SessionContext {
  return {
    maxTurns: input.bound.maxTurns,
    maxRetries: input.bound.maxRetries,
    maxToolCalls: input.maxToolCalls,
    finish: input.finish,
    budget: input.budget,
    window: input.window,
    plansTurns: input.plansTurns,
    at: input.at,
    turn: 0,
    targets: freshTargets(input.targets, input.window.windowTokens, input.windows),
    current: 0,
    home: null,
    planned: null,
    permits: null,
    spent: nothingSpent,
    size: emptySize,
    compactsAt: input.compactsAt ?? null,
    compactRequested: false,
    compactedTokens: 0,
    summarised: 0,
    gated: [],
    sharesBudget: input.sharesBudget ?? false,
    lastTurnSlugs: [],
    stopRequested: false,
    abortReason: null,
    ending: null,
  };
}

/** Returns true while `turn < maxTurns` (B-2). */
export function turnsRemain({ turn, maxTurns }: SessionContext): boolean {
  return turn < maxTurns;
}

/** Returns true once `turn` has reached `maxTurns` (B-5). */
export function isLastTurn({ turn, maxTurns }: Pick<SessionContext, 'turn' | 'maxTurns'>): boolean {
  return turn >= maxTurns;
}

export function budgetRemains({ budget, spent, at }: SessionContext): boolean {
  return requestsLeft(budget, spent, at) !== 'none';
}

/** Collapses the session. The fact is emitted only if `maxTurns` actually shrinks (B-4). */
export function collapse(context: SessionContext, { reason, slugs }: CollapseCause): Measures {
  const { turn, maxTurns: from } = context;
  const to = collapsed(from, turn);
  const change = { maxTurns: to, lastTurnSlugs: unionOfSlugs(context.lastTurnSlugs, slugs) };
  return { change, facts: to < from ? [{ type: 'session.collapsed', turn, from, to, reason }] : [] };
}

/** Builds the current turn's input. If the budget is all but spent, it allows one attempt. */
export function turnInput(context: SessionContext): TurnInput {
  const { turn, lastTurnSlugs, maxToolCalls, finish, targets, current, planned, permits, budget, spent, at } = context;
  return {
    turn,
    isLastTurn: isLastTurn(context),
    lastTurnSlugs,
    maxAttempts: requestsLeft(budget, spent, at) === 'many' ? attemptsOf(context) : 1,
    maxToolCalls,
    finish,
    targets,
    order: planned ?? orderFrom(targets, current),
    permits,
    current,
    budget,
    spent,
    at,
    window: context.window,
    size: context.size,
    gated: context.gated,
    sharesBudget: context.sharesBudget,
    stopSlug: context.stopRequested ? 'stopped' : null,
  };
}

/** Returns how many attempts the current turn has: a summary before it took the request of one (B-2). */
function attemptsOf({ maxRetries, summarised, turn }: SessionContext): number {
  return Math.max(1, summarised === turn ? maxRetries - 1 : maxRetries);
}

/** Returns the changes after a turn: target states, spending and the size of the next request. */
export function afterTurn({ targets, current, spent, at, size, gated }: TurnOutput): Partial<SessionContext> {
  return { targets, current, spent, at, size, gated };
}

/** Applies the context guard before the next turn (T-6). */
export function contextMeasures(context: SessionContext): Measures {
  const window = { ...context.window, windowTokens: largestWindow(context.targets) };
  if (guardContext(window, context.size).kind === 'fits') return { change: {}, facts: [] };
  return collapse(context, { reason: 'context_guard', slugs: ['context_guard'] });
}

/** Applies the budget before the next turn: the last request is for the report. */
export function budgetMeasures(context: SessionContext): Measures {
  const left = requestsLeft(context.budget, context.spent, context.at);
  if (left === 'many') return { change: {}, facts: [] };
  return collapse(context, { reason: 'budget', slugs: ['budget_exhausted'] });
}

/** Returns the failure of a session whose turn was exhausted, the decisive slug first (B-3, P-2, P-3). */
export function failureOf(context: SessionContext, { exhaustion, slugs, detail }: TurnOutput): Failure {
  const retryAt = exhaustion?.retryAt ?? null;
  const atTheEnd: Slug[] = isLastTurn(context) ? ['max_turns_exhausted'] : [];
  const why = exhaustion?.why ?? 'attempts';
  switch (why) {
    case 'budget':
      return { slugs: unionOfSlugs(['budget_exhausted'], context.lastTurnSlugs, slugs), retryAt, detail };
    case 'targets':
    case 'limited':
      return { slugs: unionOfSlugs(['no_targets'], context.lastTurnSlugs, slugs), retryAt, detail };
    case 'context':
      return { slugs: unionOfSlugs(['context_guard'], context.lastTurnSlugs, slugs), retryAt, detail };
    case 'attempts':
      return { slugs: unionOfSlugs(['retries_exhausted'], atTheEnd, context.lastTurnSlugs, slugs), retryAt, detail };
    default:
      return why satisfies never;
  }
}

/** Returns the changes once the tools are open and the conversation is measured. */
export function afterPreparing(
  { size: before, targets, gated: gatedBefore }: SessionContext,
  { delivered: { at, outcome } }: { delivered: Delivered<'prepare'> },
): Measures {
  if (!outcome.ok) return { change: { at }, facts: [] };
  const { tokens, results, oldText, instructions, messages, unavailable, gated = [] } = outcome;
  // Steering may have come first.
  const size = { ...initialSize(tokens, results, oldText), steering: before.steering };
  const left = withoutUnavailable(
    targets,
    unavailable.map(({ target }) => target),
  );
  const facts: Fact[] = unavailable.map(({ target, message }) => {
    return {
      type: 'target.excluded',
      target: targets[target]?.name ?? '',
      slug: 'target_unavailable',
      detail: message,
    };
  });
  return {
    change: { at, size, targets: left, gated: [...new Set([...gatedBefore, ...gated])] },
    facts: [{ type: 'session.prepared', instructions, messages }, ...facts],
  };
}

/** Returns the turn to be planned: the next. */
export function planRequest({ turn, maxTurns, current, home }: SessionContext): PlanRequest {
  return { turn: turn + 1, isLastTurn: isLastTurn({ turn: turn + 1, maxTurns }), target: home ?? current };
}

/**
 * Returns the changes once the next turn is planned (T-7). What a plan takes away from the request counts as long as no
 * provider has counted it.
 */
export function afterPlanning(
  context: SessionContext,
  { delivered: { at, outcome } }: { delivered: Delivered<'plan'> },
): Measures {
  const { turn, targets, size, current, home } = context;
  if (!outcome.ok) return { change: { at }, facts: [] };
  const { plan, growth } = outcome;
  const names = plan.targets?.map((index) => targets[index]?.name ?? '') ?? null;
  const estimated = size.estimated + (size.counted === 0 ? growth : Math.max(0, growth));
  const kept = home ?? current;
  const change = {
    at,
    planned: plan.targets,
    permits:
      plan.tools !== null && (plan.offered?.length ?? Number.POSITIVE_INFINITY) > plan.tools.length ? plan.tools : null,
    current: plan.once ? current : kept,
    home: plan.once ? kept : null,
    size: { ...size, estimated: Math.max(0, estimated) },
  };
  const guarded = contextMeasures({ ...context, ...change });
  const planned: Fact = { type: 'turn.planned', ...plan, turn: turn + 1, targets: names };
  return { change: { ...change, ...guarded.change }, facts: [planned, ...guarded.facts] };
}

export function stopping(): Measures {
  return { change: { stopRequested: true }, facts: [{ type: 'session.stopping' }] };
}

export function aborting(_: SessionContext, { reason }: { reason: string }): Measures {
  return { change: { abortReason: reason }, facts: [{ type: 'session.aborting', reason }] };
}

/** Returns the failure of a session that could not be prepared, or whose next turn could not be planned. */
export function unready(outcome: PrepareOutcome | PlanOutcome): Ending {
  return outcome.ok ? failed('internal_error', null) : failed(outcome.slug, outcome.message);
}

export function aborted({ abortReason }: SessionContext): Ending {
  return { status: 'aborted', failure: { slugs: ['aborted'], retryAt: null, detail: abortReason } };
}

export function failed(slug: Slug, detail: string | null): Ending {
  return { status: 'failed', failure: { slugs: [slug], retryAt: null, detail } };
}

/** Returns the failure of a session that ran out of turns or requests. */
export function outOfTurns(context: SessionContext): Ending {
  const slug: Slug = turnsRemain(context) ? 'budget_exhausted' : 'max_turns_exhausted';
  return {
    status: 'failed',
    failure: { slugs: unionOfSlugs([slug], context.lastTurnSlugs), retryAt: null, detail: null },
  };
}

/** Builds a session's last fact. `session.failed` and `session.aborted` become its one ERROR line (S-3). */
export function endFact({ turn, ending }: SessionContext): Fact {
  const end = ending ?? failed('internal_error', 'the session ended without a reason');
  if (end.status === 'succeeded') return { type: 'session.succeeded', turns: turn };
  return { type: `session.${end.status}`, turns: turn, failure: end.failure };
}
