import type { CreatedItem, ItemFailure, ItemRef, Phase, RestoreOutcome, RunState } from '../contract/work.ts';
import { endsRun, reasonOf } from './incident.rules.ts';
import type { Work, WorkflowContext, WorkflowFact, WorkflowInput } from './workflow.types.ts';

/** No item is under way. */
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

/** Nothing was done yet on the item under way. */
export const noWork: Work = {
  phase: 'processing',
  outcome: { verdict: 'succeeded', agent: '', slugs: [], message: '', requests: 0, lookedFor: [], stops: [] },
  at: 0,
  chance: 0,
};

/** The run before its first scan. */
export function freshRun({ run, limits, tests }: WorkflowInput): WorkflowContext {
  return {
    run,
    limits,
    tests,
    scans: 0,
    captures: 0,
    iteration: 0,
    item: noItem,
    tries: 0,
    work: noWork,
    failureCount: 0,
    failures: [],
    succeeded: [],
    setAside: [],
    tried: [],
    stops: [],
    critical: null,
    incidents: [],
    captured: 0,
    created: [],
    problems: [],
    abortReason: null,
  };
}

/** What the state file holds in a phase (W-4). */
export function runState(context: WorkflowContext, phase: RunState['current_phase']): RunState {
  const { run, item, iteration, failureCount, failures, succeeded, setAside, tried, incidents, created } = context;
  return {
    run,
    current_phase: phase,
    current_item: idOf(item),
    iteration_count: iteration,
    failure_count: failureCount,
    last_failures: failures.map(({ id }) => id),
    early_exit_triggered: exitsEarly(context),
    early_exit_reason: exitsEarly(context) ? exitReason(context) : null,
    succeeded,
    set_aside: setAside,
    tried,
    failures,
    incidents,
    created,
  };
}

/**
 * A run that died goes on from its state file: what it had done stays done, the item that it was on counts as failed
 * (`interrupted`), and the crash is an incident. In the phases of the ending there is no such item.
 */
export function restored(
  context: WorkflowContext,
  { state, item, problem }: Extract<RestoreOutcome, { kind: 'crashed' }>,
): { change: Partial<WorkflowContext>; facts: WorkflowFact[] } {
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
    // The work was done; what was left of putting it away is done by now.
    const change = { ...before, succeeded: [...state.succeeded, id], failureCount: 0 };
    return { change, facts: [...facts, { type: 'item.succeeded', id }] };
  }
  if (item === null || !itemPhases.includes(phase)) return { change: before, facts };
  const failure = interruption(item, phase);
  const change = { ...before, ...withFailure(before, failure) };
  const { failureCount } = change;
  return { change, facts: [...facts, { type: 'item.failed', failure, failureCount }] };
}

/** In which an item is under way and not done. */
const itemPhases: readonly Phase[] = ['processing', 'testing', 'settingAside'];

function phaseOf({ current_phase: phase }: RunState): Phase {
  return phase === 'completed' || phase === 'exitedEarly' ? 'summarising' : phase;
}

function interruption({ id, folder, component }: ItemRef, phase: Phase): ItemFailure {
  const message = 'The process of the run died while this item was under way.';
  return { id, folder, component, phase, slugs: ['interrupted'], message, requests: 0 };
}

/** One more failure in a row (W-1). */
export function withFailure({ failures, failureCount }: WorkflowContext, failure: ItemFailure) {
  return { failures: [...failures, failure], failureCount: failureCount + 1 };
}

/** Why something could not be done, where its outcome says so. */
export function refusal(outcome: object): string {
  return 'message' in outcome ? String(outcome.message) : '';
}

/** Whether one of the incidents ends the run. */
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

/** Each item once, as it was named first. */
export function together(known: readonly CreatedItem[], more: readonly CreatedItem[]): CreatedItem[] {
  const ids = new Set(known.map(({ id }) => id));
  return [...known, ...more.filter(({ id }) => !ids.has(id))];
}
