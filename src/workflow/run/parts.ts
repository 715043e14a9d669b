import type { RunState } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { Clock } from '../../host/clock.ts';
import type { BacklogItem } from '../backlog/backlog.ts';
import type { NamedAgent, RunSessions, WorkFunction } from './agents.ts';
import type { Place } from './places/places.ts';
import type { Spending } from './spending.ts';

/** Returns the ids of the open items in a new order. Items that it leaves out follow in their usual order. */
export type ScanFunction = (items: readonly BacklogItem[]) => string[] | Promise<string[]>;

/** Writes text for the retrospective or the summary of a run. */
export type WordsFunction = (ending: { state: RunState; document: string }) => string | Promise<string>;

/** The agents of a run. Each optional one has a default that needs no model. */
export type WorkflowAgents = {
  /** Decides the order. Default: P0 before P3, bugs before features, by number. */
  scan?: Agent | NamedAgent | ScanFunction;
  process: Agent | NamedAgent | WorkFunction;
  /** Tests the work on an item. Default: no tests. */
  test?: Agent | NamedAgent | WorkFunction;
  /** Adds text to the computed retrospective. Default: no text. */
  retrospective?: Agent | NamedAgent | WordsFunction;
  /** Adds text to the computed report of the run. Default: no text. */
  summary?: Agent | NamedAgent | WordsFunction;
};

export type WorkflowParts = {
  backlog: string;
  agents: WorkflowAgents;
  sessions: Omit<RunSessions, 'folder' | 'place'>;
  /** The work tree of the project. */
  home: Place;
  /** Maximum number of items in progress. If it is more than 1, each has its own work tree. */
  concurrency: number;
  clock: Clock;
  spending: Spending;
  /** The runs that may fail at an item before it is left to a person. */
  maxTries: number;
  /** The warnings so far. */
  warnings: ReadonlySet<string>;
};
