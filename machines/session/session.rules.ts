import { guardContext } from '../contract/context.ts';
import type { Delivered, PrepareOutcome } from '../contract/effects.ts';
import type { Fact, Failure } from '../contract/events.ts';
import { collapsed, nothingSpent, requestsLeft } from '../contract/limits.ts';
import { type Slug, unionOfSlugs } from '../contract/slugs.ts';
import { freshTargets } from '../contract/targets.ts';
import type { TurnInput, TurnOutput } from '../turn/turn.types.ts';
import type { CollapseCause, Ending, Measures, SessionContext, SessionInput } from './session.types.ts';

/** The session before its first turn. */
export function freshSession(input: SessionInput): SessionContext {
  return {
    maxTurns: input.bound.maxTurns,
    maxRetries: input.bound.maxRetries,
    maxToolCalls: input.maxToolCalls,
    finish: input.finish,
    budget: input.budget,
    window: input.window,
    at: input.at,
    turn: 0,
    targets: freshTargets(input.targets),
    current: 0,
    spent: nothingSpent,
    contextTokens: 0,
    answerTokens: 0,
    freshAnswerTokens: 0,
    omitTokens: 0,
    lastTurnSlugs: [],
    stopRequested: false,
    abortReason: null,
    ending: null,
  };
}

/** `turn < maxTurns` (B-2). */
export function turnsRemain({ turn, maxTurns }: SessionContext): boolean {
  return turn < maxTurns;
}

/** `turn = maxTurns` (B-5). */
export function isLastTurn({ turn, maxTurns }: SessionContext): boolean {
  return turn >= maxTurns;
}

export function budgetRemains({ budget, spent, at }: SessionContext): boolean {
  return requestsLeft(budget, spent, at) !== 'none';
}

/** The session after a collapse; the fact is recorded only where `maxTurns` really shrinks (B-4). */
export function collapse(context: SessionContext, { reason, slugs }: CollapseCause): Measures {
  const { turn, maxTurns: from } = context;
  const to = collapsed(from, turn);
  const change = { maxTurns: to, lastTurnSlugs: unionOfSlugs(context.lastTurnSlugs, slugs) };
  return { change, facts: to < from ? [{ type: 'session.collapsed', turn, from, to, reason }] : [] };
}

/** The input of the turn under way. With the budget all but spent, one attempt is allowed. */
export function turnInput(context: SessionContext): TurnInput {
  const { turn, lastTurnSlugs, maxToolCalls, finish, targets, current, budget, spent, at } = context;
  return {
    turn,
    isLastTurn: isLastTurn(context),
    lastTurnSlugs,
    maxAttempts: requestsLeft(budget, spent, at) === 'many' ? context.maxRetries : 1,
    maxToolCalls,
    finish,
    targets,
    current,
    budget,
    spent,
    at,
    omitTokens: context.omitTokens,
    stopSlug: context.stopRequested ? 'stopped' : null,
  };
}

/** What the session keeps of a turn: how the targets stand, what is spent, and how large the conversation is. */
export function afterTurn(context: SessionContext, output: TurnOutput): Partial<SessionContext> {
  return {
    targets: output.targets,
    current: output.current,
    spent: output.spent,
    at: output.at,
    contextTokens: output.contextTokens,
    answerTokens: context.answerTokens + context.freshAnswerTokens,
    freshAnswerTokens: output.answerTokens,
    omitTokens: Math.max(context.omitTokens, output.omittedTokens),
  };
}

/** What the context guard wants before the next turn (T-6): old results left out, and perhaps a last turn. */
export function contextMeasures(context: SessionContext): Measures {
  const { window, contextTokens, answerTokens, omitTokens } = context;
  // What the last turn asked for has not been read yet, so it stays.
  const omittableTokens = Math.max(0, answerTokens - omitTokens);
  const verdict = guardContext(window, { totalTokens: contextTokens, omittableTokens });
  switch (verdict.kind) {
    case 'fits':
      return { change: {}, facts: [] };
    case 'omit':
      return {
        change: { omitTokens: omitTokens + verdict.tokens },
        facts: [],
      };
    case 'final_turn_now': {
      const { change, facts } = collapse(context, { reason: 'context_guard', slugs: ['context_guard'] });
      return { change: { ...change, omitTokens: omitTokens + omittableTokens }, facts };
    }
    default:
      return verdict satisfies never;
  }
}

/** What the budget wants before the next turn: with one request left, it is for the report. */
export function budgetMeasures(context: SessionContext): Measures {
  const left = requestsLeft(context.budget, context.spent, context.at);
  if (left === 'many') return { change: {}, facts: [] };
  return collapse(context, { reason: 'budget', slugs: ['budget_exhausted'] });
}

/** Why a session fails whose turn was exhausted, the deciding slug first (B-3, P-2, P-3). */
export function failureOf(context: SessionContext, { exhaustion, slugs, detail }: TurnOutput): Failure {
  const retryAt = exhaustion?.retryAt ?? null;
  const atTheEnd: Slug[] = isLastTurn(context) ? ['max_turns_exhausted'] : [];
  const why = exhaustion?.why ?? 'attempts';
  switch (why) {
    case 'budget':
      return { slugs: unionOfSlugs(['budget_exhausted'], slugs), retryAt, detail };
    case 'targets':
    case 'limited':
      return { slugs: unionOfSlugs(['no_targets'], slugs), retryAt, detail };
    case 'attempts':
      return { slugs: unionOfSlugs(['retries_exhausted'], atTheEnd, context.lastTurnSlugs, slugs), retryAt, detail };
    default:
      return why satisfies never;
  }
}

/** The session once its tools are open and its conversation has been measured. */
export function afterPreparing({ at, outcome }: Delivered<'prepare'>): Partial<SessionContext> {
  return {
    at,
    contextTokens: outcome.ok ? outcome.contextTokens : 0,
    answerTokens: outcome.ok ? outcome.answerTokens : 0,
  };
}

export function unprepared(outcome: PrepareOutcome): Ending {
  return outcome.ok ? failed('internal_error', null) : failed(outcome.slug, outcome.message);
}

export function aborted({ abortReason }: SessionContext): Ending {
  return { status: 'aborted', failure: { slugs: ['aborted'], retryAt: null, detail: abortReason } };
}

export function failed(slug: Slug, detail: string | null): Ending {
  return { status: 'failed', failure: { slugs: [slug], retryAt: null, detail } };
}

/** A session that has no turn or no request left before it was finished. */
export function outOfTurns(context: SessionContext): Ending {
  const slug: Slug = turnsRemain(context) ? 'budget_exhausted' : 'max_turns_exhausted';
  return {
    status: 'failed',
    failure: { slugs: unionOfSlugs([slug], context.lastTurnSlugs), retryAt: null, detail: null },
  };
}

/** The last fact of a session (S-3: `session.failed` and `session.aborted` are its one ERROR line). */
export function endFact({ turn, ending }: SessionContext): Fact {
  const end = ending ?? failed('internal_error', 'the session ended without a reason');
  if (end.status === 'succeeded') return { type: 'session.succeeded', turns: turn };
  return { type: `session.${end.status}`, turns: turn, failure: end.failure };
}
