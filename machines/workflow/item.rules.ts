import { backoffMs } from '../contract/backoff.ts';
import type { LeafInput } from '../contract/leaf.ts';
import type { ItemFailure, ItemRef, ScanOutcome, WorkPhase } from '../contract/work.ts';
import { blockedDraft } from './incident.rules.ts';
import { runState, together, withFailure } from './workflow.rules.ts';
import type { Work, WorkflowContext, WorkflowFact } from './workflow.types.ts';

/**
 * The first item of the order that may be taken: not blocked, not a person's to do, and neither taken nor created while this
 * run was at work (W-1). So a run takes the items that it began with, and no more.
 */
export function nextItem({ tried, created, limits }: WorkflowContext, items: readonly ItemRef[]): ItemRef | null {
  if (limits.maxItems !== null && tried.length >= limits.maxItems) return null;
  const own = new Set([...tried, ...created.map(({ id }) => id)]);
  return items.find(({ id, kind, blocked }) => kind !== 'human-action' && !blocked && !own.has(id)) ?? null;
}

export function itemRemains(context: WorkflowContext, outcome: ScanOutcome): boolean {
  return outcome.ok && nextItem({ ...context, ...afterScan(context, outcome) }, outcome.items) !== null;
}

/** What a scan leaves behind: STOP markers and items that appeared, or a critical error. */
export function afterScan({ created }: WorkflowContext, outcome: ScanOutcome): Partial<WorkflowContext> {
  return outcome.ok
    ? { stops: outcome.stops, created: together(created, outcome.appeared) }
    : { critical: { phase: 'scanning', message: outcome.message } };
}

/** What a scan has found, and each item that is new to the run. */
export function scanFacts({ created }: WorkflowContext, outcome: ScanOutcome): WorkflowFact[] {
  if (!outcome.ok) return [];
  const { items, stops, appeared } = outcome;
  const blocked = items.filter((item) => item.blocked).length;
  return [
    { type: 'backlog.scanned', open: items.length, blocked, stops: stops.length },
    ...together(created, appeared)
      .slice(created.length)
      .map((item) => ({ type: 'workItem.created' as const, item })),
  ];
}

export function withItem(context: WorkflowContext, outcome: ScanOutcome): Partial<WorkflowContext> {
  const item = outcome.ok ? nextItem(context, outcome.items) : null;
  if (item === null) return {};
  return { item, iteration: context.iteration + 1, tried: [...context.tried, item.id], tries: 0 };
}

export function afterWork(work: Work): Partial<WorkflowContext> {
  const { phase, outcome } = work;
  const critical = outcome.verdict === 'critical' ? { phase, message: outcome.message } : null;
  return { work, stops: outcome.stops, critical };
}

/** One invocation of an agent on the item under way; `tries` makes its key its own. */
export function workInput(context: WorkflowContext, phase: WorkPhase): LeafInput<'work'> {
  const { item, iteration, tries } = context;
  return {
    key: `item-${iteration}/${phase}/try-${tries}`,
    request: { state: runState(context, phase), item, phase },
  };
}

/** What an agent has done is tested, where there is somebody who tests. */
export function isToBeTested({ work, tests }: WorkflowContext): boolean {
  return tests && work.phase === 'processing';
}

/** An agent that cannot be invoked is tried anew, a few times (W-1). */
export function triesRemain({ work, tries, limits }: WorkflowContext): boolean {
  return work.outcome.verdict === 'unavailable' && tries < limits.maxAgentTries;
}

export function subAgentUnavailable({ work, tries, limits }: WorkflowContext): boolean {
  return work.outcome.verdict === 'unavailable' && tries >= limits.maxAgentTries;
}

/** Epoch ms: full jitter, as for a provider (P-3). */
export function nextTryAt({ work, tries }: WorkflowContext): number {
  return work.at + backoffMs(tries, work.chance);
}

/** An agent's failure, one more in a row (W-1). */
export function failed(context: WorkflowContext): { change: Partial<WorkflowContext>; facts: WorkflowFact[] } {
  const { item, work } = context;
  const { slugs, message, requests } = work.outcome;
  const { id, folder, component } = item;
  const failure: ItemFailure = { id, folder, component, phase: work.phase, slugs, message, requests };
  const change = withFailure(context, failure);
  return { change, facts: [{ type: 'item.failed', failure, failureCount: change.failureCount }] };
}

/** A success resets the count (W-1). */
export function succeeded({ succeeded: before, item, stops }: WorkflowContext): Partial<WorkflowContext> {
  return {
    succeeded: [...before, item.id],
    failureCount: 0,
    // Its comments have moved with it.
    stops: stops.map((stop) =>
      stop.item === item.id ? { ...stop, file: stop.file.replace(/^[^/]+/, 'completed') } : stop,
    ),
  };
}

/** Neither a success nor a failure: the count stays. */
export function itemSetAside({ setAside, item }: WorkflowContext): Partial<WorkflowContext> {
  return { setAside: [...setAside, item.id] };
}

/** Reads the backlog. */
export function scanInput(context: WorkflowContext): LeafInput<'scan'> {
  return { key: `scan-${context.scans}`, request: { state: runState(context, 'scanning') } };
}

/** Lets time pass before the next invocation. */
export function waitInput(context: WorkflowContext): LeafInput<'wait'> {
  const { iteration, work, tries } = context;
  return { key: `item-${iteration}/${work.phase}/wait-${tries}`, request: { dueAt: nextTryAt(context) } };
}

/** Puts the item away. */
export function archiveInput(context: WorkflowContext): LeafInput<'archive'> {
  const { iteration, item } = context;
  return { key: `item-${iteration}/archive`, request: { state: runState(context, 'archiving'), item } };
}

/** What a blocked item waits for, as it is written down. */
export function setAsideInput(context: WorkflowContext): LeafInput<'setAside'> {
  const { iteration, item, work, run } = context;
  const needs = work.outcome.message;
  const request = { state: runState(context, 'settingAside'), item, needs, draft: blockedDraft(item, needs, run) };
  return { key: `item-${iteration}/set-aside`, request };
}
