import { mostTokens } from '../contract/context.ts';
import type { AdmissionRequest, Delivered } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import type { CollapseRequest } from '../contract/limits.ts';
import type { Change } from '../contract/record.ts';
import { brokenOutput, fitted, nextTarget, spentUp, within } from './turn.rules.ts';
import type { TurnContext } from './turn.types.ts';

type Admission = { delivered: Delivered<'admission'> };

/** Returns true if the next attempt asks the gate of its target, or draws on a shared budget, before it begins (P-7, B-8). */
export function mustAsk(context: TurnContext): boolean {
  const { sharesBudget, gated } = context;
  if (sharesBudget || gated.length === 0) return sharesBudget;
  const choice = nextTarget(context);
  return 'target' in choice && gated.includes(choice.target);
}

/** Returns the targets whose gates are asked, once another one's is. */
export function afterGating({ gated }: { gated: number[] }, { target }: { target: number }): { gated: number[] } {
  return { gated: gated.includes(target) ? gated : [...gated, target] };
}

export function admissionRequest({ turn, attempt, waiting, size }: TurnContext): AdmissionRequest {
  return { turn, attempt: attempt + 1, target: waiting?.target ?? 0, tokens: mostTokens(size) };
}

/** Begins the attempt that is admitted, on the target that was asked; with one request left, for the report (B-8). */
export function afterAdmission(
  context: TurnContext,
  { delivered: { at, outcome } }: Admission,
): Change<TurnContext, Fact> {
  const target = context.waiting?.target ?? context.current;
  const { left, isGated } = outcome;
  const timed = within(context, context.spent, Math.max(context.at, at));
  const changed = { ...timed, ...(left === 'one' && spentUp({ ...context, ...timed }, left)) };
  const { change, facts } = fitted({ ...context, ...changed }, target);
  const gated = isGated ? context.gated : context.gated.filter((one) => one !== target);
  return { change: { ...changed, ...change, gated, waiting: null }, facts };
}

/** Asks the session to collapse, once the shared budget has one request left (B-4). */
export function collapseFor({ outcome: { left } }: Delivered<'admission'>): CollapseRequest[] {
  return left === 'many' ? [] : [{ type: 'collapse.requested', reason: 'budget', slugs: ['budget_exhausted'] }];
}

/** Returns the changes if the next attempt never begins: the shared budget is spent, or the deadline is over (P-7). */
export function givenUp(context: TurnContext): Partial<TurnContext> {
  return { ...spentUp(context, 'none'), waiting: null };
}

/** Returns the changes if what was asked broke: no attempt begins unasked. */
export function unasked({ attempt }: TurnContext, { error }: { error: unknown }): Partial<TurnContext> {
  return { last: brokenOutput(String(error)), maxAttempts: attempt, waiting: null };
}
