import type {
  CreatedItem,
  EndingOutcome,
  FilingOutcome,
  ItemFailure,
  ItemRef,
  Phase,
  RestoreOutcome,
  RunState,
  ScanOutcome,
} from '../contract/work.ts';
import { endsRun, reasonOf } from './incident.rules.ts';
import type { Work, WorkflowChange, WorkflowContext, WorkflowFact, WorkflowInput } from './workflow.types.ts';

/** Placeholder while no item is in progress. */
export const noItem: ItemRef = {
  id: '',
  kind: 'bug',
  title: '',
  priority: 'P3',
  component: null,
  createdAt: null,
  blocked: false,
  folder: '',
};

/** Placeholder before any work on the current item. */
export const noWork: Work = {
  outcome: {
    verdict: 'succeeded',
    agent: '',
    slugs: [],
    message: '',
    requests: 0,
    lookedFor: [],
    stops: [],
    changed: [],
  },
  at: 0,
  chance: 0,
};

/** Returns the run's state before its first scan. */
export function freshRun({ run, limits, tests }: WorkflowInput): WorkflowContext {
  return {
    run,
    limits,
    tests,
    scans: 0,
    captures: 0,
    iteration: 0,
    item: noItem,
    phase: 'processing',
    tries: 0,
    tryErrors: [],
    work: noWork,
    changed: [],
    failureCount: 0,
    failures: [],
    succeeded: [],
    setAside: [],
    tried: [],
    stops: [],
    spent: null,
    critical: null,
    incidents: [],
    captured: 0,
    created: [],
    priorities: [],
    problems: [],
    abortReason: null,
  };
}

/** Builds the contents of the state file for a phase (W-4). */
export function runState(context: WorkflowContext, phase: RunState['current_phase']): RunState {
  const { run, item, iteration, failureCount, failures, succeeded, setAside, tried, incidents, created } = context;
  return {
    run,
    current_phase: phase,
    current_item: idOf(item),
    iteration_count: iteration,
    failure_count: failureCount,
    last_failures: failures.slice(failures.length - failureCount).map(({ id }) => id),
    early_exit_triggered: exitsEarly(context),
    early_exit_reason: exitsEarly(context) ? exitReason(context) : null,
    succeeded,
    set_aside: setAside,
    tried,
    failures,
    incidents,
    created,
    changed: context.changed,
  };
}

/**
 * Resumes a run that died from its state file. Finished work stays done, the item in progress counts as failed
 * (`interrupted`), and the crash is an incident. In the ending phases no item is in progress.
 */
export function afterCrash(context: WorkflowContext, { outcome }: { outcome: RestoreOutcome }): WorkflowChange {
  if (outcome.kind !== 'crashed') return { change: {}, facts: [] };
  const { state, item, problem } = outcome;
  const { run, current_phase: died, current_item: id } = state;
  const phase = phaseOf(state);
  const before: WorkflowContext = {
    ...context,
    run,
    iteration: state.iteration_count,
    failureCount: state.failure_count,
    failures: state.failures,
    succeeded: state.succeeded,
    setAside: state.set_aside,
    tried: state.tried,
    incidents: [...state.incidents, { kind: 'crash', phase, item: id }],
    created: state.created,
    critical: problem === null ? null : { phase, message: problem },
  };
  const facts: WorkflowFact[] = [{ type: 'workflow.continued', run, phase: died, item: id }];
  if (phase === 'archiving' && id !== null && problem === null) {
    // The work was done, and the restore has finished archiving the item.
    const change = { ...before, succeeded: [...state.succeeded, id], failureCount: 0 };
    return { change, facts: [...facts, { type: 'item.succeeded', id }] };
  }
  if (item === null || !itemPhases.includes(phase)) return { change: before, facts };
  const failure = interruption(item, phase);
  const change = { ...before, ...withFailure(before, failure) };
  const { failureCount } = change;
  return { change, facts: [...facts, { type: 'item.failed', failure, failureCount }] };
}

/** The phases in which an item is in progress but not done. */
const itemPhases: readonly Phase[] = ['processing', 'testing', 'settingAside'];

function phaseOf({ current_phase: phase }: RunState): Phase {
  return phase === 'completed' || phase === 'exitedEarly' ? 'summarising' : phase;
}

function interruption({ id, folder, component }: ItemRef, phase: Phase): ItemFailure {
  const message = 'The process died while this item was in progress.';
  return { id, folder, component, phase, slugs: ['interrupted'], message, requests: 0 };
}

/** Adds a consecutive failure (W-1). */
export function withFailure({ failures, failureCount }: WorkflowContext, failure: ItemFailure) {
  return { failures: [...failures, failure], failureCount: failureCount + 1 };
}

/** Outcomes that can hold the reason for a failure. */
export type Refusal = RestoreOutcome | ScanOutcome | FilingOutcome;

export function refusalOf(outcome: Refusal): string {
  return 'message' in outcome ? outcome.message : '';
}

/** A critical error, which ends the run (W-1). */
export function critical(phase: Phase, message: string): Pick<WorkflowContext, 'critical'> {
  return { critical: { phase, message } };
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

export function idOf({ id }: ItemRef): string | null {
  return id === '' ? null : id;
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
