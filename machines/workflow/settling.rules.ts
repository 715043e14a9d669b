import { itemKey } from '../contract/keys.ts';
import type { LeafInput } from '../contract/leaf.ts';
import type { FilingOutcome, ItemFailure, WorkOutcome } from '../contract/work.ts';
import type { ItemOutput } from '../item/item.types.ts';
import { blockedDraft } from './incident.rules.ts';
import { afterEnding, critical, runState, withFailure } from './workflow.rules.ts';
import type { TakenItem, WorkflowChange, WorkflowContext } from './workflow.types.ts';

/** Rules for settling the first item in progress. */

type Ended = TakenItem & { end: ItemOutput };

/** Returns the first item in progress, or null if the work on it has not ended. */
function ended({ inProgress: [one] }: WorkflowContext): Ended | null {
  return one === undefined || one.end === null ? null : { ...one, end: one.end };
}

/** Returns the first item in progress. The states that call this are entered only after the work on it has ended. */
function first(context: WorkflowContext): Ended {
  const one = ended(context);
  if (one === null) throw new Error('no item is being settled');
  return one;
}

export function firstHasEnded(context: WorkflowContext): boolean {
  return ended(context) !== null;
}

export function workWas(context: WorkflowContext, verdict: WorkOutcome['verdict']): boolean {
  return first(context).end.outcome.verdict === verdict;
}

/** Records the STOP markers that were found after the work. */
export function settlingBegun(context: WorkflowContext): Partial<WorkflowContext> {
  return { stops: first(context).end.outcome.stops };
}

/** Removes the first item in progress. */
function rest({ inProgress }: WorkflowContext): Pick<WorkflowContext, 'inProgress'> {
  return { inProgress: inProgress.slice(1) };
}

/** Records that an item stays open: its work was aborted, or never began. */
export function leftOpen(context: WorkflowContext): Partial<WorkflowContext> {
  return rest(context);
}

/** Records a critical error in the work (W-1). */
export function workBroken(context: WorkflowContext): Partial<WorkflowContext> {
  const { phase, outcome } = first(context).end;
  return { ...critical(context, phase, outcome.message), ...rest(context) };
}

/** Records an agent that could not be invoked (W-1). */
export function agentLost(context: WorkflowContext): Partial<WorkflowContext> {
  const { item, end } = first(context);
  const { agent, lookedFor } = end.outcome;
  const lostAgent = { item: item.id, agent, lookedFor, tries: end.tries, errors: end.tryErrors };
  return { lostAgent, ...rest(context) };
}

/** Records an agent's failure, which adds to the failure count (W-1). */
export function failed(context: WorkflowContext): WorkflowChange {
  const { phase, outcome } = first(context).end;
  const { slugs, message } = outcome;
  return failedWith(context, { phase, slugs, message });
}

/** Records a failure to merge the work on an item (W-1). */
export function conflicted(context: WorkflowContext, { message }: { message: string }): WorkflowChange {
  return failedWith(context, { phase: 'archiving', slugs: [], message });
}

function failedWith(context: WorkflowContext, why: Pick<ItemFailure, 'phase' | 'slugs' | 'message'>): WorkflowChange {
  const { item, end } = first(context);
  const { id, folder, component } = item;
  const failure: ItemFailure = { id, folder, component, ...why, requests: end.outcome.requests };
  const change = withFailure(context, failure);
  const { failureCount } = change;
  return { change: { ...change, ...rest(context) }, facts: [{ type: 'item.failed', failure, failureCount }] };
}

/** Records a success, which resets the failure count (W-1). */
export function succeeded(context: WorkflowContext): WorkflowChange {
  const { succeeded: before, stops } = context;
  const { id } = first(context).item;
  const change = {
    succeeded: [...before, id],
    failureCount: 0,
    lastFailures: [],
    // The item's comments moved with it.
    stops: stops.map((stop) => (stop.item === id ? { ...stop, file: stop.file.replace(/^[^/]+/, 'completed') } : stop)),
    ...rest(context),
  };
  return { change, facts: [{ type: 'item.succeeded', id }] };
}

/** Records an item as set aside: neither a success nor a failure, so the count is unchanged. */
export function itemSetAside(context: WorkflowContext, { outcome }: { outcome: FilingOutcome }): WorkflowChange {
  const { item, end } = first(context);
  const ending = { created: outcome.ok ? outcome.created : [], priorities: [], problems: [] };
  const { change, facts } = afterEnding(context, { phase: 'settingAside', outcome: ending });
  return {
    change: { ...change, setAside: [...context.setAside, item.id], ...rest(context) },
    facts: [{ type: 'item.setAside', id: item.id, needs: end.outcome.message }, ...facts],
  };
}

/** Builds the request to merge and archive the item. */
export function archiveInput(context: WorkflowContext): LeafInput<'archive'> {
  const { iteration, item } = first(context);
  return { key: itemKey(iteration, 'archive'), request: { state: runState(context, 'archiving'), item } };
}

/** Builds the request to record what a blocked item waits for. */
export function setAsideInput(context: WorkflowContext): LeafInput<'setAside'> {
  const { iteration, item, end } = first(context);
  const needs = end.outcome.message;
  const draft = blockedDraft(item, needs, context.run);
  const request = { state: runState(context, 'settingAside'), item, needs, draft };
  return { key: itemKey(iteration, 'set-aside'), request };
}
