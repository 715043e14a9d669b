import type { Slug } from './slugs.ts';

/** The nouns of a workflow run that cross the door: work items, verdicts, incidents, and the effects of a run (W-1 to W-4). */

export const itemKinds = ['bug', 'feature', 'human-action'] as const;
export type ItemKind = (typeof itemKinds)[number];

/** Most urgent first. */
export const priorities = ['P0', 'P1', 'P2', 'P3'] as const;
export type Priority = (typeof priorities)[number];

/** A work item as the queue knows it. */
export type ItemRef = {
  /** Such as `BUG-007`. */
  id: string;
  kind: ItemKind;
  title: string;
  priority: Priority;
  component: string | null;
  /** ISO 8601; null where the item does not say. */
  createdAt: string | null;
  /** It waits for something: another item, or a person. */
  blocked: boolean;
  /** Below the backlog, such as `bugs/BUG-007-short-slug`. */
  folder: string;
};

/** A STOP in a `comments.md`, and what was asked for with it. */
export type StopMarker = {
  /** The file, below the backlog. */
  file: string;
  /** Whose comments they are; null for the run's own. */
  item: string | null;
  /** Empty: to stop is all that was asked. */
  request: string;
  component: string | null;
};

export type WorkPhase = 'processing' | 'testing';

/** Of a run, in the order in which an item and then the ending go through them. */
export const phases = [
  'restoring',
  'scanning',
  'processing',
  'testing',
  'archiving',
  'settingAside',
  'capturing',
  'reviewing',
  'summarising',
] as const;
export type Phase = (typeof phases)[number];

/** How an agent's work on an item ended. */
export type WorkOutcome = {
  /**
   * `blocked`: a person has to do something first. `unavailable`: the agent could not be invoked. `critical`: the file system
   * or git failed. `aborted`: somebody ended the run.
   */
  verdict: 'succeeded' | 'failed' | 'blocked' | 'unavailable' | 'critical' | 'aborted';
  /** The name of the agent. */
  agent: string;
  /** Why it did not succeed, the deciding reason first. */
  slugs: Slug[];
  /** What it said, or the error. */
  message: string;
  /** LLM requests that it took. */
  requests: number;
  /** Of an agent that is unavailable: where it was looked for. */
  lookedFor: string[];
  /** The STOP markers after the work. */
  stops: StopMarker[];
};

/** An item that failed, and how. */
export type ItemFailure = {
  id: string;
  folder: string;
  component: string | null;
  phase: Phase;
  slugs: Slug[];
  message: string;
  requests: number;
};

/** What must not be lost, and so becomes a work item (W-2). */
export type Incident =
  | { kind: 'consecutive_failures'; failures: ItemFailure[] }
  | { kind: 'stop'; stop: StopMarker }
  | { kind: 'critical_error'; phase: Phase; item: string | null; message: string }
  | { kind: 'agent_unavailable'; agent: string; item: string; tries: number; lookedFor: string[]; message: string }
  /** The run's process died, and the next one found it. It alone does not end the run that goes on. */
  | { kind: 'crash'; phase: Phase; item: string | null };

export type ItemType = 'bug' | 'feature' | 'human_action';

export type Evidence = { type: 'file' | 'log' | 'output' | 'link'; location: string; description: string };

/** A work item to be: what an incident is written down as. */
export type WorkItemDraft = {
  item_type: ItemType;
  title: string;
  component: string;
  priority: Priority;
  evidence: Evidence[];
  description: string;
  metadata: Record<string, string | string[]>;
};

/** An item that the run has created, or that was there and got the new evidence. */
export type CreatedItem = { id: string; title: string; folder: string; isNew: boolean; why: string };

/** What the state file holds (W-4), by the names that it has there. */
export type RunState = {
  /** The folder of the run below `agent_runs`. */
  run: string;
  current_phase: Phase | 'completed' | 'exitedEarly';
  current_item: string | null;
  iteration_count: number;
  /** In a row. */
  failure_count: number;
  /** Ids, oldest first. */
  last_failures: string[];
  early_exit_triggered: boolean;
  early_exit_reason: string | null;
  /** Beside what is asked for: what a run that died is continued from. */
  succeeded: string[];
  set_aside: string[];
  tried: string[];
  failures: ItemFailure[];
  incidents: Incident[];
  created: CreatedItem[];
};

/** Every request of a run carries the state, which is on the disk before the effect begins (W-4). */
export type Step = { state: RunState };
export type ItemStep = Step & { item: ItemRef };

/** What was done, or why it could not be: the file system or git failed. */
export type FilingOutcome = { ok: true; created: CreatedItem[] } | { ok: false; message: string };
/** What was done, and what of it failed; what failed is in the problems, and so not lost (W-3). */
export type EndingOutcome = { created: CreatedItem[]; problems: string[] };

export type RestoreOutcome =
  | { kind: 'fresh' }
  /** A run's process died. `item`: the one that it was on, as it is in the backlog now. */
  /** `problem`: why an item that was being put away could not be put away to the end. */
  | { kind: 'crashed'; state: RunState; item: ItemRef | null; problem: string | null }
  /** The state file is corrupt, and kept aside. */
  | { kind: 'corrupt'; message: string }
  | { kind: 'critical'; message: string };

export type ScanOutcome =
  /** All open items, in the order in which they are to be taken; and those that were created since the run began. */
  { ok: true; items: ItemRef[]; stops: StopMarker[]; appeared: CreatedItem[] } | { ok: false; message: string };

export type WorkflowEffectKinds = {
  /** Read the state file. Key `restore`. */
  restore: { request: Record<string, never>; outcome: RestoreOutcome };
  /** Read the backlog. Key `scan-1`. */
  scan: { request: Step; outcome: ScanOutcome };
  /** Have an agent work on an item. Key `item-1/processing/try-1`. */
  work: { request: ItemStep & { phase: WorkPhase }; outcome: WorkOutcome };
  /** Put an item that is done away. Key `item-1/archive`. */
  archive: { request: ItemStep; outcome: FilingOutcome };
  /** Write down what a person has to do, and mark the item. Key `item-1/set-aside`. */
  setAside: { request: ItemStep & { needs: string; draft: WorkItemDraft }; outcome: FilingOutcome };
  /** Make work items of incidents. Key `capture-1`. */
  capture: {
    request: Step & { captures: { incident: Incident; draft: WorkItemDraft; fingerprint: string }[] };
    outcome: EndingOutcome;
  };
  /** The retrospective. Key `review`. */
  review: { request: Step; outcome: EndingOutcome };
  /** The report. Key `summarise`. */
  summarise: { request: Step & { problems: string[] }; outcome: EndingOutcome };
};
