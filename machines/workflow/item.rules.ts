import { backoffMs } from '../contract/backoff.ts';
import type { LeafInput } from '../contract/leaf.ts';
import type { FilingOutcome, ItemFailure, ItemRef, ScanOutcome } from '../contract/work.ts';
import { blockedDraft } from './incident.rules.ts';
import {
  afterEnding,
  critical,
  idOf,
  noItem,
  noWork,
  refusalOf,
  runState,
  together,
  withFailure,
} from './workflow.rules.ts';
import type { Work, WorkflowChange, WorkflowContext } from './workflow.types.ts';

/**
 * Returns the first eligible item, in order: not blocked, not a human action, and neither begun nor created during
 * this run (W-1). A run thus processes only items that existed when it began. No item is eligible once the budget
 * is spent.
 */
export function nextItem(
  { tried, created, limits, spent }: WorkflowContext,
  items: readonly ItemRef[],
): ItemRef | null {
  if (spent !== null) return null;
  if (limits.maxItems !== null && tried.length >= limits.maxItems) return null;
  const own = new Set([...tried, ...created.map(({ id }) => id)]);
  return items.find(({ id, kind, blocked }) => kind !== 'human-action' && !blocked && !own.has(id)) ?? null;
}

export function itemRemains(context: WorkflowContext, outcome: ScanOutcome): boolean {
  return outcome.ok && nextItem({ ...context, ...afterScan(context, { outcome }).change }, outcome.items) !== null;
}

/** Records a scan: its counts, STOP markers and the items new to the run; or a critical error. */
export function afterScan({ created }: WorkflowContext, { outcome }: { outcome: ScanOutcome }): WorkflowChange {
  if (!outcome.ok) return { change: critical('scanning', refusalOf(outcome)), facts: [] };
  const { items, stops, appeared, spent } = outcome;
  const all = together(created, appeared);
  const blocked = items.filter((item) => item.blocked).length;
  return {
    change: { stops, created: all, spent },
    facts: [
      { type: 'backlog.scanned', open: items.length, blocked, stops: stops.length },
      ...(spent === null ? [] : [{ type: 'budget.spent' as const, limit: spent }]),
      ...all.slice(created.length).map((item) => ({ type: 'workItem.created' as const, item })),
    ],
  };
}

export function withItem(context: WorkflowContext, outcome: ScanOutcome): Partial<WorkflowContext> {
  const item = outcome.ok ? nextItem(context, outcome.items) : null;
  if (item === null) return {};
  const tried = [...context.tried, item.id];
  return { item, iteration: context.iteration + 1, tried, phase: 'processing', changed: [], ...noTries };
}

/** Resets the tries. */
export const noTries = { tries: 0, tryErrors: [] } satisfies Partial<WorkflowContext>;

/** Begins a scan. If no item was in progress, the scan is a retry after an unavailable agent. */
export function scanBegun(context: WorkflowContext): Partial<WorkflowContext> {
  const { tries, tryErrors } = isScanning(context) ? context : noTries;
  return { scans: context.scans + 1, item: noItem, work: noWork, tries: tries + 1, tryErrors };
}

/** Returns true if the current agent is the scan agent. */
export function isScanning({ item }: WorkflowContext): boolean {
  return idOf(item) === null;
}

/** Records an unavailable scan agent in the same way as an unavailable agent of an item. */
export function afterLostScan(
  context: WorkflowContext,
  { outcome, ...at }: Pick<Work, 'at' | 'chance'> & { outcome: ScanOutcome },
): Partial<WorkflowContext> {
  if (outcome.ok || !('unavailable' in outcome)) return {};
  const lost = { ...noWork.outcome, verdict: 'unavailable' as const, ...outcome.unavailable };
  return afterWork(context, { ...at, outcome: lost });
}

export function afterWork(
  { phase, changed: before, tryErrors }: WorkflowContext,
  work: Work,
): Partial<WorkflowContext> {
  const { verdict, message, stops } = work.outcome;
  const changed = [...new Set([...before, ...work.outcome.changed])];
  const change = { work, stops, changed, ...(verdict === 'critical' ? critical(phase, message) : { critical: null }) };
  return verdict === 'unavailable' ? { ...change, tryErrors: [...tryErrors, message] } : change;
}

/** Builds the request to invoke an agent on the current item; `tries` makes the key unique. */
export function workInput(context: WorkflowContext): LeafInput<'work'> {
  const { item, iteration, phase, tries } = context;
  return {
    key: `item-${iteration}/${phase}/try-${tries}`,
    request: { state: runState(context, phase), item, phase },
  };
}

/** Returns true if an agent's work needs testing and a test agent exists. */
export function isToBeTested({ phase, tests }: WorkflowContext): boolean {
  return tests && phase === 'processing';
}

/** Returns true if an unavailable agent may be tried again (W-1). */
export function triesRemain({ work, tries, limits }: WorkflowContext): boolean {
  return work.outcome.verdict === 'unavailable' && tries < limits.maxAgentTries;
}

export function subAgentUnavailable({ work, tries, limits }: WorkflowContext): boolean {
  return work.outcome.verdict === 'unavailable' && tries >= limits.maxAgentTries;
}

/** Returns the time of the next try (epoch ms), with full jitter as for a provider (P-3). */
export function nextTryAt({ work, tries }: WorkflowContext): number {
  return work.at + backoffMs(tries, work.chance);
}

/** Records an agent's failure, which adds to the failure count (W-1). */
export function failed(context: WorkflowContext): WorkflowChange {
  const { item, phase, work } = context;
  const { slugs, message, requests } = work.outcome;
  const { id, folder, component } = item;
  const failure: ItemFailure = { id, folder, component, phase, slugs, message, requests };
  const change = withFailure(context, failure);
  return { change, facts: [{ type: 'item.failed', failure, failureCount: change.failureCount }] };
}

/** Records a success, which resets the failure count (W-1). */
export function succeeded({ succeeded: before, item, stops }: WorkflowContext): WorkflowChange {
  const change = {
    succeeded: [...before, item.id],
    failureCount: 0,
    // The item's comments moved with it.
    stops: stops.map((stop) =>
      stop.item === item.id ? { ...stop, file: stop.file.replace(/^[^/]+/, 'completed') } : stop,
    ),
  };
  return { change, facts: [{ type: 'item.succeeded', id: item.id }] };
}

/** Records an item as set aside: neither a success nor a failure, so the count is unchanged. */
export function itemSetAside(context: WorkflowContext, { outcome }: { outcome: FilingOutcome }): WorkflowChange {
  const { item, setAside, work } = context;
  const ending = { created: outcome.ok ? outcome.created : [], priorities: [], problems: [] };
  const { change, facts } = afterEnding(context, { phase: 'settingAside', outcome: ending });
  return {
    change: { ...change, setAside: [...setAside, item.id] },
    facts: [{ type: 'item.setAside', id: item.id, needs: work.outcome.message }, ...facts],
  };
}

/** Builds the request to scan the backlog. */
export function scanInput(context: WorkflowContext): LeafInput<'scan'> {
  return { key: `scan-${context.scans}`, request: { state: runState(context, 'scanning') } };
}

/** Builds the request to wait before the next invocation. */
export function waitInput(context: WorkflowContext): LeafInput<'wait'> {
  const { iteration, phase, tries, scans } = context;
  const key = isScanning(context) ? `scan-${scans}/wait` : `item-${iteration}/${phase}/wait-${tries}`;
  return { key, request: { dueAt: nextTryAt(context), kind: 'backoff' } };
}

/** Builds the request to archive the item. */
export function archiveInput(context: WorkflowContext): LeafInput<'archive'> {
  const { iteration, item } = context;
  return { key: `item-${iteration}/archive`, request: { state: runState(context, 'archiving'), item } };
}

/** Builds the request to record what a blocked item waits for. */
export function setAsideInput(context: WorkflowContext): LeafInput<'setAside'> {
  const { iteration, item, work, run } = context;
  const needs = work.outcome.message;
  const request = { state: runState(context, 'settingAside'), item, needs, draft: blockedDraft(item, needs, run) };
  return { key: `item-${iteration}/set-aside`, request };
}
