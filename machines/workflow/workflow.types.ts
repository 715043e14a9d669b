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
} from '../contract/work.ts';
import type { ItemFact, ItemOutput } from '../item/item.types.ts';

export type WorkflowLimits = {
  /** Consecutive failed items that end a run (W-1). */
  maxConsecutiveFailures: number;
  /** Maximum number of items per run; null for no limit. */
  maxItems: number | null;
  /** Maximum tries to invoke an unavailable agent. */
  maxAgentTries: number;
  /** Maximum number of items in progress. */
  concurrency: number;
};

export type WorkflowInput = {
  /** The run's folder in `agent_runs`. */
  run: string;
  limits: WorkflowLimits;
  /** Whether a test agent exists. */
  tests: boolean;
};

/** An item in progress. `end`: how the work on it ended; null while agents work on it. */
export type TakenItem = { item: ItemRef; iteration: number; end: ItemOutput | null };

/** An agent that could not be invoked, after its last try. `item` is null for the scan agent. */
export type LostAgent = Pick<WorkOutcome, 'agent' | 'lookedFor'> & {
  item: string | null;
  tries: number;
  errors: string[];
};

/** The tries to invoke the scan agent, and the time of the next (epoch ms). */
export type ScanTries = Pick<LostAgent, 'agent' | 'errors'> & { count: number; nextAt: number };

export type WorkflowContext = {
  run: string;
  limits: WorkflowLimits;
  tests: boolean;
  scans: number;
  captures: number;
  /** Items begun so far. */
  iteration: number;
  /** The items in progress, in the order in which they were taken. They are settled in this order. */
  inProgress: TakenItem[];
  /** The items that the state file does not list as being in progress yet. */
  taken: TakenItem[];
  scanTries: ScanTries;
  /** Consecutive failures; those of one crash count as one (W-1). */
  failureCount: number;
  /** The ids of the items that failed since the last success. */
  lastFailures: string[];
  failures: ItemFailure[];
  succeeded: string[];
  setAside: string[];
  /** Items begun in this run, so that none is begun twice. */
  tried: string[];
  stops: StopMarker[];
  /** The limit of the budget that has been reached, or null. */
  spent: string | null;
  critical: { phase: Phase; item: string | null; message: string } | null;
  lostAgent: LostAgent | null;
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
  | ItemFact
  | { type: 'workflow.started'; run: string }
  /** The run resumes where its process died. */
  | { type: 'workflow.continued'; run: string; phase: RunState['current_phase']; item: string | null }
  | { type: 'backlog.scanned'; open: number; blocked: number; stops: number }
  /** No further item is taken. */
  | { type: 'budget.spent'; limit: string }
  | { type: 'item.started'; item: ItemRef; iteration: number }
  | { type: 'item.succeeded'; id: string }
  | { type: 'item.failed'; failure: ItemFailure; failureCount: number }
  | { type: 'item.setAside'; id: string; needs: string }
  | { type: 'incident.noted'; incident: Incident }
  | { type: 'workItem.created'; item: CreatedItem }
  | { type: 'priority.changed'; change: PriorityChange }
  /** Part of the ending failed; the message holds its full content. */
  | { type: 'problem.noted'; phase: Phase; message: string }
  | { type: 'workflow.aborting'; reason: string }
  | { type: 'workflow.completed'; iterations: number }
  | { type: 'workflow.exitedEarly'; iterations: number; reason: string };
