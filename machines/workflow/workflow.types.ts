import type {
  CreatedItem,
  Incident,
  ItemFailure,
  ItemRef,
  Phase,
  RunState,
  StopMarker,
  WorkOutcome,
  WorkPhase,
} from '../contract/work.ts';

export type WorkflowLimits = {
  /** Failed items in a row that end a run (W-1). */
  maxConsecutiveFailures: number;
  /** Items that a run takes at most; null: all there are. */
  maxItems: number | null;
  /** Times that an agent that cannot be invoked is tried. */
  maxAgentTries: number;
};

export type WorkflowInput = {
  /** The folder of the run below `agent_runs`. */
  run: string;
  limits: WorkflowLimits;
  /** Whether there is an agent that tests. */
  tests: boolean;
};

/** What the work on the item under way came to. */
export type Work = { phase: WorkPhase; outcome: WorkOutcome; chance: number; at: number };

export type WorkflowContext = {
  run: string;
  limits: WorkflowLimits;
  tests: boolean;
  scans: number;
  captures: number;
  /** Items taken so far. */
  iteration: number;
  /** The item under way; `noItem` between two of them. */
  item: ItemRef;
  /** Invocations of the agent under way. */
  tries: number;
  /** The work that was done last on the item under way; `noWork` before. */
  work: Work;
  /** In a row (W-1). */
  failureCount: number;
  failures: ItemFailure[];
  succeeded: string[];
  setAside: string[];
  /** Items that this run has taken: none is taken twice. */
  tried: string[];
  stops: StopMarker[];
  critical: { phase: Phase; message: string } | null;
  incidents: Incident[];
  /** Incidents of which items were made, or tried to be. */
  captured: number;
  created: CreatedItem[];
  problems: string[];
  abortReason: string | null;
};

export type WorkflowOutput = {
  status: 'completed' | 'exitedEarly';
  iterations: number;
  succeeded: string[];
  setAside: string[];
  failures: ItemFailure[];
  incidents: Incident[];
  created: CreatedItem[];
  problems: string[];
  abortReason: string | null;
};

/** What the workflow machine says has happened. */
export type WorkflowFact =
  | { type: 'workflow.started'; run: string }
  /** It goes on where the process of a run died. */
  | { type: 'workflow.continued'; run: string; phase: RunState['current_phase']; item: string | null }
  | { type: 'phase.started'; phase: Phase; item: string | null }
  | { type: 'backlog.scanned'; open: number; blocked: number; stops: number }
  | { type: 'item.started'; item: ItemRef; iteration: number }
  | { type: 'item.succeeded'; id: string }
  | { type: 'item.failed'; failure: ItemFailure; failureCount: number }
  | { type: 'item.setAside'; id: string; needs: string }
  | { type: 'agent.unavailable'; agent: string; tries: number; message: string }
  | { type: 'wait.started'; agent: string; dueAt: number }
  | { type: 'incident.noted'; incident: Incident }
  | { type: 'workItem.created'; item: CreatedItem }
  /** Something of the ending could not be done; its content is in the message. */
  | { type: 'problem.noted'; phase: Phase; message: string }
  | { type: 'workflow.aborting'; reason: string }
  | { type: 'workflow.completed'; iterations: number }
  | { type: 'workflow.exitedEarly'; iterations: number; reason: string };
