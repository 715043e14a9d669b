import type { Slug } from './slugs.ts';

/** Types shared by a workflow run and its host: work items, verdicts, incidents and effects (W-1 to W-4). */

export const itemKinds = ['bug', 'feature', 'human-action'] as const;
export type ItemKind = (typeof itemKinds)[number];

/** Most urgent first. */
export const priorities = ['P0', 'P1', 'P2', 'P3'] as const;
export type Priority = (typeof priorities)[number];

/** A work item in the queue. */
export type ItemRef = {
  /** Such as `BUG-007`. */
  id: string;
  kind: ItemKind;
  title: string;
  priority: Priority;
  component: string | null;
  /** ISO 8601; null if the item has no date. */
  createdAt: string | null;
  /** True if it waits for another item or a person. */
  blocked: boolean;
  /** Path within the backlog, such as `bugs/BUG-007-short-slug`. */
  folder: string;
};

/** A STOP marker in a `comments.md`, with its request. */
export type StopMarker = {
  /** Path of the file within the backlog. */
  file: string;
  /** The commented item's id; null for the run's own comments. */
  item: string | null;
  /** Empty if the marker only asks to stop. */
  request: string;
  component: string | null;
};

export type WorkPhase = 'processing' | 'testing';

/** The phases of an item in progress. */
export const itemPhases = ['processing', 'testing', 'archiving', 'settingAside'] as const;
export type ItemPhase = (typeof itemPhases)[number];

/** The phases of a run, in order: those of an item, then those of the ending. */
export const phases = ['restoring', 'scanning', ...itemPhases, 'capturing', 'reviewing', 'summarising'] as const;
export type Phase = (typeof phases)[number];

/** The outcome of an agent's work on an item. */
export type WorkOutcome = {
  /**
   * `blocked`: a person must act first. `unavailable`: the agent could not be invoked. `unstarted`: the budget of the
   * run was spent before the work began. `critical`: the file system or git failed. `aborted`: the run was aborted.
   */
  verdict: 'succeeded' | 'failed' | 'blocked' | 'unavailable' | 'unstarted' | 'critical' | 'aborted';
  /** The agent's name. */
  agent: string;
  /** Why it did not succeed, the decisive reason first. */
  slugs: Slug[];
  /** The agent's message, or the error. */
  message: string;
  /** LLM requests sent. */
  requests: number;
  /** The places searched for an unavailable agent. */
  lookedFor: string[];
  /** STOP markers found after the work. */
  stops: StopMarker[];
  /** The files that changed meanwhile, as paths below the backlog; empty without a repository. */
  changed: string[];
};

/** Placeholder before any work. */
export const noOutcome: WorkOutcome = {
  verdict: 'succeeded',
  agent: '',
  slugs: [],
  message: '',
  requests: 0,
  lookedFor: [],
  stops: [],
  changed: [],
};

/** A failed item, with the reason. */
export type ItemFailure = {
  id: string;
  folder: string;
  component: string | null;
  phase: Phase;
  slugs: Slug[];
  message: string;
  requests: number;
};

/** An event that must not be lost, so it becomes a work item (W-2). */
export type Incident =
  /** `count`: in a row; the items that one crash interrupted are all in `failures`, and count as one. */
  | { kind: 'consecutive_failures'; count: number; failures: ItemFailure[] }
  | { kind: 'stop'; stop: StopMarker }
  | { kind: 'critical_error'; phase: Phase; item: string | null; message: string }
  /** `item` is null for the scan agent. `errors`: the error of each try. */
  | {
      kind: 'agent_unavailable';
      agent: string;
      item: string | null;
      tries: number;
      lookedFor: string[];
      errors: string[];
    }
  /** The run's process died, and the next one resumed the run. Only this kind does not end the run. */
  | { kind: 'crash'; phase: Phase; item: string | null };

export type ItemType = 'bug' | 'feature' | 'human_action';

export type Evidence = { type: 'file' | 'log' | 'output' | 'link'; location: string; description: string };

/** The content of a work item that is to be created. */
export type WorkItemDraft = {
  item_type: ItemType;
  title: string;
  component: string;
  priority: Priority;
  evidence: Evidence[];
  description: string;
  metadata: Record<string, string | string[]>;
};

/** An item that the run created, or an existing one that received new evidence. */
export type CreatedItem = { id: string; title: string; folder: string; isNew: boolean; why: string };

/** The contents of the state file (W-4), with the file's key names. */
export type RunState = {
  /** The run's folder in `agent_runs`. */
  run: string;
  current_phase: Phase | 'completed' | 'exitedEarly';
  /** The first item in progress; after an early exit, the last that was taken. */
  current_item: string | null;
  iteration_count: number;
  /** Consecutive failures. */
  failure_count: number;
  /** Ids, oldest first. */
  last_failures: string[];
  early_exit_triggered: boolean;
  early_exit_reason: string | null;
  /** Not required by W-4: these fields resume a run that died. */
  /** The items in progress, in the order in which they were taken. In `archiving`, the work on an item is done. */
  in_progress: { id: string; phase: ItemPhase }[];
  /** Maximum number of items in progress. If it is more than 1, each has its own work tree. */
  concurrency: number;
  succeeded: string[];
  set_aside: string[];
  tried: string[];
  failures: ItemFailure[];
  incidents: Incident[];
  created: CreatedItem[];
  /** The files that the work on the first item in progress changed. */
  changed: string[];
};

/** The base of the run's own requests: the state, which is on disk before the effect begins (W-4). */
export type Step = { state: RunState };
export type ItemStep = Step & { item: ItemRef };

/** The items created, or the file system or git error. */
export type FilingOutcome = { ok: true; created: CreatedItem[] } | { ok: false; message: string };
/** `conflict`: the work on the item cannot be merged into the work tree; a sentence that names the files. */
export type ArchiveOutcome = FilingOutcome | { ok: false; conflict: string };
export type TakeOutcome = { ok: true } | { ok: false; message: string };
/** A new priority of an item, set by the retrospective. */
export type PriorityChange = { id: string; from: Priority; to: Priority; reason: string };

/** The items created, the priorities changed, and the problems, which preserve the content of failed steps (W-3). */
export type EndingOutcome = { created: CreatedItem[]; priorities: PriorityChange[]; problems: string[] };

/** What became of an item that was in progress when the process died. `item` is its current state; null if it is gone. */
export type InterruptedItem = { id: string; phase: ItemPhase; item: ItemRef | null } & (
  | { end: 'interrupted' | 'archived' }
  | { end: 'conflict'; message: string }
);

export type RestoreOutcome =
  | { kind: 'fresh' }
  /** A run's process died. `problem` is the reason why an interrupted archiving could not be completed. */
  | { kind: 'crashed'; state: RunState; items: InterruptedItem[]; problem: string | null }
  /** The state file is corrupt and was renamed. */
  | { kind: 'corrupt'; message: string }
  | { kind: 'critical'; message: string };

export type ScanOutcome =
  /**
   * `items`: all open items, in processing order. `appeared`: items created since the run began. `spent`: the limit of
   * the budget that has been reached, in words; null if no limit has been reached.
   */
  | { ok: true; items: ItemRef[]; stops: StopMarker[]; appeared: CreatedItem[]; spent: string | null }
  | { ok: false; message: string }
  /** The scan agent could not be invoked. */
  | { ok: false; unavailable: Pick<WorkOutcome, 'agent' | 'slugs' | 'message' | 'requests' | 'lookedFor'> };

export type WorkflowEffectKinds = {
  /** Read the state file. Key `restore`. */
  restore: { request: Record<string, never>; outcome: RestoreOutcome };
  /** Read the backlog. Key `scan-1`. */
  scan: { request: Step; outcome: ScanOutcome };
  /** Record the items in progress. Key `take-1`. */
  take: { request: Step & { items: ItemRef[] }; outcome: TakeOutcome };
  /** Have an agent work on an item. Key `item-1/processing/try-1`. */
  work: { request: { run: string; item: ItemRef; phase: WorkPhase }; outcome: WorkOutcome };
  /** Merge and archive a finished item. Key `item-1/archive`. */
  archive: { request: ItemStep; outcome: ArchiveOutcome };
  /** Record the required human action; mark the item. Key `item-1/set-aside`. */
  setAside: { request: ItemStep & { needs: string; draft: WorkItemDraft }; outcome: FilingOutcome };
  /** Turn incidents into work items. Key `capture-1`. */
  capture: {
    request: Step & { captures: { incident: Incident; draft: WorkItemDraft; fingerprint: string }[] };
    outcome: EndingOutcome;
  };
  /** Write the retrospective. Key `review`. */
  review: { request: Step; outcome: EndingOutcome };
  /** Write the report. Key `summarise`. */
  summarise: { request: Step & { problems: string[] }; outcome: EndingOutcome };
};
