import { mostTokens, roomOf } from '../contract/context.ts';
import type { Fact } from '../contract/events.ts';
import { requestsLeft } from '../contract/limits.ts';
import { largestWindow } from '../contract/targets.ts';
import { attemptsRemain, nextTarget, requestFits } from './turn.rules.ts';
import type { Exhaustion, TurnContext, TurnOutput } from './turn.types.ts';

/** Returns why the turn cannot continue; null while it can. A lack of targets outranks a lack of attempts. */
export function exhaustionOf(context: TurnContext): Exhaustion | null {
  const left = requestsLeft(context.budget, context.spent, context.at);
  const choice = nextTarget(context);
  const retryAt = choice.kind === 'beyond' ? choice.dueAt : null;
  if (left === 'none') return { why: 'budget', retryAt };
  if (choice.kind === 'none') return { why: 'targets', retryAt };
  const isSpent = left !== 'many' || context.lastTurnSlugs.includes('budget_exhausted');
  if (!attemptsRemain(context)) return { why: isSpent ? 'budget' : 'attempts', retryAt };
  if (retryAt !== null) return { why: 'limited', retryAt };
  return requestFits(context) ? null : { why: 'context', retryAt };
}

/** Ends the turn, once: in its context, and as a fact. */
export function endFact({ turn, attempt: attempts, last }: TurnContext, status: TurnOutput['status']): Fact {
  return status === 'exhausted'
    ? { type: 'turn.exhausted', turn, attempts, slugs: last?.slugs ?? [] }
    : { type: `turn.${status}`, turn, attempts };
}

export function outputOf(context: TurnContext, status: TurnOutput['status']): TurnOutput {
  const { last, attempt, targets, current, spent, at, size, gated } = context;
  const exhaustion = status === 'exhausted' ? (exhaustionOf(context) ?? { why: 'attempts', retryAt: null }) : null;
  return {
    status,
    exhaustion,
    slugs: last?.slugs ?? [],
    detail: exhaustion?.why === 'context' ? doesNotFit(context) : (last?.detail ?? null),
    attempts: attempt,
    targets,
    current,
    spent,
    at,
    size,
    gated,
  };
}

function doesNotFit({ window, size, targets }: TurnContext): string {
  const room = roomOf({ ...window, windowTokens: largestWindow(targets) });
  return `The next request may take ${mostTokens(size)} tokens, and the context window has room for ${room}.`;
}
