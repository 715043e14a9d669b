import {
  type ArchiveOutcome,
  type CreatedItem,
  type EndingOutcome,
  type InterruptedItem,
  type ItemFailure,
  type ItemPhase,
  itemPhases,
  type Phase,
  type RestoreOutcome,
  type RunState,
  type ScanOutcome,
  type TakeOutcome,
} from '../contract/work.ts';
import { endsRun, reasonOf } from './incident.rules.ts';
import type {
  ScanTries,
  TakenItem,
  WorkflowChange,
  WorkflowContext,
  WorkflowFact,
  WorkflowInput,
} from './workflow.types.ts';

export const noTries: ScanTries = { count: 0, agent: '', errors: [], nextAt: 0 };

/** Returns the run's state before its first scan. */
export function freshRun({ run, limits, tests }: WorkflowInput): WorkflowContext {
  return {
    run,
    limits,
    tests,
    scans: 0,
    captures: 0,
    iteration: 0,
    inProgress: [],
    taken: [],
    scanTries: noTries,
    failureCount: 0,
    lastFailures: [],
    failures: [],
    succeeded: [],
    setAside: [],
    tried: [],
    stops: [],
    spent: null,
    critical: null,
    lostAgent: null,
    incidents: [],
    captured: 0,
    created: [],
    priorities: [],
    problems: [],
    abortReason: null,
  };
}

/** Builds the contents of the state file for a phase (W-4). An item phase belongs to the first item in progress. */
export function runState(context: WorkflowContext, phase: RunState['current_phase']): RunState {
  const { run, iteration, failureCount, lastFailures, failures, succeeded, setAside, tried, incidents, created } =
    context;
  const all = [...context.inProgress, ...context.taken];
  // After an early exit, names the last item that was taken.
  const last = exitsEarly(context) ? tried.at(-1) : undefined;
  return {
    run,
    current_phase: phase,
    current_item: all[0]?.item.id ?? last ?? null,
    iteration_count: iteration,
    failure_count: failureCount,
    last_failures: lastFailures,
    early_exit_triggered: exitsEarly(context),
    early_exit_reason: exitsEarly(context) ? exitReason(context) : null,
    in_progress: all.map((one, index) => ({
      id: one.item.id,
      phase: index === 0 && isItemPhase(phase) ? phase : itemPhaseOf(one),
    })),
    concurrency: context.limits.concurrency,
    succeeded,
    set_aside: setAside,
    tried,
    failures,
    incidents,
    created,
    changed: all[0]?.end?.changed ?? [],
  };
}

export function isItemPhase(phase: RunState['current_phase']): phase is ItemPhase {
  return itemPhases.some((one) => one === phase);
}

/** Returns the last phase that the run knows. The state file has that of the work under way, too. */
function itemPhaseOf({ end }: TakenItem): ItemPhase {
  if (end === null) return 'processing';
  return end.outcome.verdict === 'succeeded' ? 'archiving' : end.phase;
}

/**
 * Resumes a run that died from its state file. Finished work stays done, each item in progress counts as failed
 * (`interrupted`), and the crash is an incident. A crash counts as one failure in a row, however many items it
 * interrupted. In the ending phases no item is in progress.
 */
export function afterCrash(context: WorkflowContext, { outcome }: { outcome: RestoreOutcome }): WorkflowChange {
  if (outcome.kind !== 'crashed') return { change: {}, facts: [] };
  const { state, items, problem } = outcome;
  const { run, current_phase: died, current_item: id } = state;
  const phase = phaseOf(state);
  const archived = items.filter(({ end }) => end === 'archived').map((one) => one.id);
  const isReset = archived.length > 0;
  const before: WorkflowContext = {
    ...context,
    run,
    iteration: state.iteration_count,
    failureCount: isReset ? 0 : state.failure_count,
    lastFailures: isReset ? [] : state.last_failures,
    failures: state.failures,
    succeeded: [...state.succeeded, ...archived],
    setAside: state.set_aside,
    tried: state.tried,
    incidents: [...state.incidents, { kind: 'crash', phase, item: id }],
    created: state.created,
    critical: problem === null ? null : { phase, item: id, message: problem },
  };
  const failures = items.flatMap(interruptions);
  const [first, ...more] = failures;
  const counted = first === undefined ? before : { ...before, ...withFailure(before, first) };
  const { failureCount } = counted;
  const change: WorkflowContext = {
    ...counted,
    failures: [...counted.failures, ...more],
    lastFailures: [...counted.lastFailures, ...more.map((failure) => failure.id)],
  };
  const facts: WorkflowFact[] = [
    { type: 'workflow.continued', run, phase: died, item: id },
    ...archived.map((one) => ({ type: 'item.succeeded' as const, id: one })),
    ...failures.map((failure) => ({ type: 'item.failed' as const, failure, failureCount })),
  ];
  return { change, facts };
}

function phaseOf({ current_phase: phase }: RunState): Phase {
  return phase === 'completed' || phase === 'exitedEarly' ? 'summarising' : phase;
}

/** Returns the failure of an item that was in progress; an empty list if it is gone or was archived. */
function interruptions(one: InterruptedItem): ItemFailure[] {
  const { item, phase, end } = one;
  if (item === null || end === 'archived') return [];
  const { id, folder, component } = item;
  const why =
    end === 'conflict'
      ? { slugs: [], message: one.message }
      : { slugs: ['interrupted' as const], message: 'The process died while this item was in progress.' };
  return [{ id, folder, component, phase, ...why, requests: 0 }];
}

/** Adds a consecutive failure (W-1). */
export function withFailure({ failures, failureCount, lastFailures }: WorkflowContext, failure: ItemFailure) {
  return {
    failures: [...failures, failure],
    failureCount: failureCount + 1,
    lastFailures: [...lastFailures, failure.id],
  };
}

/** Outcomes that can hold the reason for a failure. */
export type Refusal = RestoreOutcome | ScanOutcome | TakeOutcome | ArchiveOutcome;

export function refusalOf(outcome: Refusal): string {
  return 'message' in outcome ? outcome.message : '';
}

/** Records a critical error, which ends the run (W-1). Items not yet started stay open. */
export function critical(
  { inProgress: [first] }: WorkflowContext,
  phase: Phase,
  message: string,
): Pick<WorkflowContext, 'critical' | 'taken'> {
  const item = isItemPhase(phase) ? (first?.item.id ?? null) : null;
  return { critical: { phase, item, message }, taken: [] };
}

export function aborting(_: WorkflowContext, { reason }: { reason: string }): WorkflowChange {
  return { change: { abortReason: reason }, facts: [{ type: 'workflow.aborting', reason }] };
}

/** Returns true if an incident ends the run. */
export function runIsOver({ incidents }: WorkflowContext): boolean {
  return incidents.some(endsRun);
}

export function exitsEarly(context: WorkflowContext): boolean {
  return runIsOver(context) || context.abortReason !== null;
}

export function exitReason({ incidents, abortReason }: WorkflowContext): string {
  const reasons = incidents.filter(endsRun).map(reasonOf);
  return [...reasons, ...(abortReason === null ? [] : [abortReason])].join('; ');
}

/** Merges two lists, keeping the first entry for each id. */
export function together(known: readonly CreatedItem[], more: readonly CreatedItem[]): CreatedItem[] {
  const ids = new Set(known.map(({ id }) => id));
  return [...known, ...more.filter(({ id }) => !ids.has(id))];
}

/** Adds what an ending step created, changed and could not do, so that nothing is lost (W-3). */
export function afterEnding(
  { created, priorities, problems }: WorkflowContext,
  { phase, outcome }: { phase: Phase; outcome: EndingOutcome },
): WorkflowChange {
  return {
    change: {
      created: together(created, outcome.created),
      priorities: [...priorities, ...outcome.priorities],
      problems: [...problems, ...outcome.problems],
    },
    facts: [
      ...outcome.created.map((item) => ({ type: 'workItem.created' as const, item })),
      ...outcome.priorities.map((change) => ({ type: 'priority.changed' as const, change })),
      ...outcome.problems.map((message) => ({ type: 'problem.noted' as const, phase, message })),
    ],
  };
}
