import { backoffMs } from '../contract/backoff.ts';
import type { Delivered } from '../contract/effects.ts';
import { runKey, scanWaitKey } from '../contract/keys.ts';
import type { LeafInput } from '../contract/leaf.ts';
import { type ItemRef, noOutcome, type ScanOutcome } from '../contract/work.ts';
import type { ItemInput, ItemOutput } from '../item/item.types.ts';
import { critical, noTries, refusalOf, runState, together } from './workflow.rules.ts';
import type { TakenItem, WorkflowChange, WorkflowContext, WorkflowFact } from './workflow.types.ts';

/** Builds the request to scan the backlog. */
export function scanInput(context: WorkflowContext): LeafInput<'scan'> {
  return { key: runKey('scan', context.scans), request: { state: runState(context, 'scanning') } };
}

/** Records a scan: its counts, STOP markers and the items new to the run; or a critical error. */
export function afterScan(context: WorkflowContext, { outcome }: { outcome: ScanOutcome }): WorkflowChange {
  const { created } = context;
  if (!outcome.ok) return { change: critical(context, 'scanning', refusalOf(outcome)), facts: [] };
  const { items, stops, appeared, spent } = outcome;
  const all = together(created, appeared);
  const blocked = items.filter((item) => item.blocked).length;
  return {
    change: { stops, created: all, spent, scanTries: noTries },
    facts: [
      { type: 'backlog.scanned', open: items.length, blocked, stops: stops.length },
      ...(spent === null ? [] : [{ type: 'budget.spent' as const, limit: spent }]),
      ...all.slice(created.length).map((item) => ({ type: 'workItem.created' as const, item })),
    ],
  };
}

/** Records a try to invoke the scan agent. */
export function afterLostScan(
  { scanTries, limits }: WorkflowContext,
  { outcome, at, chance }: Delivered<'scan'>,
): WorkflowChange {
  if (outcome.ok || !('unavailable' in outcome)) return { change: {}, facts: [] };
  const { agent, message, lookedFor } = outcome.unavailable;
  const tries = scanTries.count + 1;
  const errors = [...scanTries.errors, message];
  const isLost = tries >= limits.maxAgentTries;
  const change: Partial<WorkflowContext> = isLost
    ? { lostAgent: { item: null, agent, tries, lookedFor, errors } }
    : { scanTries: { count: tries, agent, errors, nextAt: at + backoffMs(tries, chance) } };
  return { change, facts: [{ type: 'agent.unavailable', item: null, agent, tries, message }] };
}

/** Returns true if the scan agent could not be invoked, but may be tried again (W-1). */
export function scanTriesRemain({ scanTries, limits }: WorkflowContext, outcome: ScanOutcome): boolean {
  return 'unavailable' in outcome && scanTries.count + 1 < limits.maxAgentTries;
}

/** Builds the request to wait before the next scan. */
export function waitInput({ scans, scanTries }: WorkflowContext): LeafInput<'wait'> {
  return { key: scanWaitKey(scans), request: { dueAt: scanTries.nextAt, kind: 'backoff' } };
}

export function waitFact({ scanTries: { agent, nextAt } }: WorkflowContext): WorkflowFact {
  return { type: 'wait.started', item: null, agent, dueAt: nextAt };
}

/**
 * Returns the eligible items for which there is room, in order: not blocked, not a human action, and neither begun nor
 * created during this run (W-1). A run thus processes only items that existed when it began. No item is eligible once
 * the budget is spent.
 */
export function nextItems(
  { tried, created, limits, spent, inProgress }: WorkflowContext,
  items: readonly ItemRef[],
): ItemRef[] {
  if (spent !== null) return [];
  const room = limits.concurrency - inProgress.length;
  const left = limits.maxItems === null ? room : Math.min(room, limits.maxItems - tried.length);
  const own = new Set([...tried, ...created.map(({ id }) => id)]);
  return items
    .filter(({ id, kind, blocked }) => kind !== 'human-action' && !blocked && !own.has(id))
    .slice(0, Math.max(0, left));
}

export function itemRemains(context: WorkflowContext, outcome: ScanOutcome): boolean {
  return outcome.ok && nextItems({ ...context, ...afterScan(context, { outcome }).change }, outcome.items).length > 0;
}

export function itemsTaken(context: WorkflowContext, outcome: ScanOutcome): Partial<WorkflowContext> {
  const items = outcome.ok ? nextItems(context, outcome.items) : [];
  const taken = items.map((item, index): TakenItem => ({ item, iteration: context.iteration + index + 1, end: null }));
  return {
    taken,
    tried: [...context.tried, ...items.map(({ id }) => id)],
    iteration: context.iteration + items.length,
  };
}

/** Builds the request to record the items in progress. */
export function takeInput(context: WorkflowContext): LeafInput<'take'> {
  const items = context.taken.map(({ item }) => item);
  return { key: runKey('take', context.scans), request: { state: runState(context, 'processing'), items } };
}

export function itemsStarted({ inProgress, taken }: WorkflowContext): WorkflowChange {
  return {
    change: { inProgress: [...inProgress, ...taken], taken: [] },
    facts: taken.map(({ item, iteration }) => ({ type: 'item.started', item, iteration })),
  };
}

export function itemInput({ run, tests, limits }: WorkflowContext, { item, iteration }: TakenItem): ItemInput {
  return { run, item, iteration, tests, maxTries: limits.maxAgentTries };
}

/** Records how the work on an item ended. */
export function afterItem({ inProgress }: WorkflowContext, end: ItemOutput): Partial<WorkflowContext> {
  return { inProgress: inProgress.map((one) => (one.iteration === end.iteration ? { ...one, end } : one)) };
}

/** Records a defect in the machine of an item as a critical error (W-1). */
export function afterBrokenItem(
  context: WorkflowContext,
  { actorId, error }: { actorId: string; error: unknown },
): Partial<WorkflowContext> {
  const iteration = context.inProgress.find((one) => itemActorId(one) === actorId)?.iteration ?? 0;
  const outcome = { ...noOutcome, verdict: 'critical' as const, message: String(error) };
  return afterItem(context, { iteration, phase: 'processing', outcome, tries: 0, tryErrors: [], changed: [] });
}

export function itemActorId({ iteration }: TakenItem): `item.${number}` {
  return `item.${iteration}`;
}

/** Returns the ids of the item machines that have not ended. */
export function itemActorIds({ inProgress }: WorkflowContext): `item.${number}`[] {
  return inProgress.filter(({ end }) => end === null).map(itemActorId);
}
