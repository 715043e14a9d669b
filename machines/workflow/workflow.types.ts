import type { Change } from '../contract/record.ts';
import type {
  CreatedItem,
  Incident,
  ItemFailure,
  ItemRef,
  Phase,
  PriorityChange,
  RunState,
  StopMarker,
  WorkOutcome,
  WorkPhase,
} from '../contract/work.ts';

export type WorkflowLimits = {
  /** Consecutive failed items that end a run (W-1). */
  maxConsecutiveFailures: number;
  /** Maximum number of items per run; null for no limit. */
  maxItems: number | null;
  /** Maximum tries to invoke an unavailable agent. */
  maxAgentTries: number;
};

export type WorkflowInput = {
  /** The run's folder in `agent_runs`. */
  run: string;
  limits: WorkflowLimits;
  /** Whether a test agent exists. */
  tests: boolean;
};

/** The outcome of the work on the current item. */
export type Work = { outcome: WorkOutcome; chance: number; at: number };

export type WorkflowContext = {
  run: string;
  limits: WorkflowLimits;
  tests: boolean;
  scans: number;
  captures: number;
  /** Items begun so far. */
  iteration: number;
  /** The current item; `noItem` between items. */
  item: ItemRef;
  /** Whether the current agent works on the item, or tests the result. */
  phase: WorkPhase;
  /** Tries to invoke the current agent, and the errors of those that failed. */
  tries: number;
  tryErrors: string[];
  /** The latest work on the current item; `noWork` before that. */
  work: Work;
  /** The files that the work on the current item changed. */
  changed: string[];
  /** Consecutive failures (W-1). */
  failureCount: number;
  failures: ItemFailure[];
  succeeded: string[];
  setAside: string[];
  /** Items begun in this run, so that none is begun twice. */
  tried: string[];
  stops: StopMarker[];
  /** The limit of the budget that has been reached, or null. */
  spent: string | null;
  critical: { phase: Phase; message: string } | null;
  incidents: Incident[];
  /** Number of incidents captured, successfully or not. */
  captured: number;
  created: CreatedItem[];
  /** The priorities that the retrospective changed. */
  priorities: PriorityChange[];
  problems: string[];
  abortReason: string | null;
};

export type WorkflowChange = Change<WorkflowContext, WorkflowFact>;

export type WorkflowOutput = {
  /** For the state file (W-4). */
  state: RunState;
  status: 'completed' | 'exitedEarly';
  iterations: number;
  succeeded: string[];
  setAside: string[];
  failures: ItemFailure[];
  incidents: Incident[];
  created: CreatedItem[];
  priorities: PriorityChange[];
  problems: string[];
  /** The limit of the budget that ended the run, or null. */
  spent: string | null;
  abortReason: string | null;
};

/** The facts that the workflow machine emits. */
export type WorkflowFact =
  | { type: 'workflow.started'; run: string }
  /** The run resumes where its process died. */
  | { type: 'workflow.continued'; run: string; phase: RunState['current_phase']; item: string | null }
  | { type: 'phase.started'; phase: Phase; item: string | null }
  | { type: 'backlog.scanned'; open: number; blocked: number; stops: number }
  /** No further item is taken. */
  | { type: 'budget.spent'; limit: string }
  | { type: 'item.started'; item: ItemRef; iteration: number }
  | { type: 'item.succeeded'; id: string }
  | { type: 'item.failed'; failure: ItemFailure; failureCount: number }
  | { type: 'item.setAside'; id: string; needs: string }
  | { type: 'agent.unavailable'; agent: string; tries: number; message: string }
  | { type: 'wait.started'; agent: string; dueAt: number }
  | { type: 'incident.noted'; incident: Incident }
  | { type: 'workItem.created'; item: CreatedItem }
  | { type: 'priority.changed'; change: PriorityChange }
  /** Part of the ending failed; the message holds its full content. */
  | { type: 'problem.noted'; phase: Phase; message: string }
  | { type: 'workflow.aborting'; reason: string }
  | { type: 'workflow.completed'; iterations: number }
  | { type: 'workflow.exitedEarly'; iterations: number; reason: string };
