import type { Fact, Message, WorkflowFact } from '../../../machines/index.ts';
import type { RunHead, SessionHead } from '../../journal/journal.ts';
import type { Difference } from '../../journal/replay/replay.ts';
import type { Sighting } from '../../observe/events.ts';
import type { SentRequest } from '../../session/replay/replayed.ts';
import type { OfferedTool } from '../../vocabulary/offered-tool.ts';
import type { CounterChange } from './counts.ts';

/**
 * A request as it was sent: its messages are the first of its session's, in the version that it has since the last
 * compaction or refused piece, and its tools are a list by its number.
 */
export type ShownRequest = Omit<SentRequest, 'sessionId' | 'messages' | 'tools'> & {
  scope: string;
  entry: number;
  messages: number;
  version: number;
  tools: number;
};

/** What more is known of a session, as plain JSON: a page gets it from its worker, piece by piece. */
export type RecordingPart = {
  heads: { scope: string; head: SessionHead }[];
  /** What a workflow run began with; null for a session, and after the first part. */
  run: RunHead | null;
  microsteps: Microstep[];
  told: Observation[];
  changes: CounterChange[];
  /** Messages of a session's version from a position on; each is held once, whatever the number of requests. */
  messages: { scope: string; version: number; from: number; messages: readonly Message[] }[];
  /** Lists of tools, by their number in order of first use. */
  tools: (readonly OfferedTool[])[];
  requests: ShownRequest[];
  /** How many entries were played. */
  entries: number;
  /** Where these machines took another way than those that recorded the session. */
  difference: Difference | null;
};

export function emptyRecordingPart(): RecordingPart {
  return {
    heads: [],
    run: null,
    microsteps: [],
    told: [],
    changes: [],
    messages: [],
    tools: [],
    requests: [],
    entries: 0,
    difference: null,
  };
}

/** The machines of a session, and of a workflow run, by their ids. */
export type MachineId = 'session' | 'turn' | 'attempt' | 'toolCall' | 'workflow' | 'item';

/** One microstep of one machine: the smallest step of a session that can be shown. */
export type Microstep = {
  /** The session of the tree, as in the journal's entries. */
  scope: string;
  /** The path of actors below the session: empty for itself, or `turn/attempt/tool.0`. */
  actor: string;
  machine: MachineId;
  /** The ids of the states that are active after it, outermost first. */
  states: string[];
  /** The names of the arrows that were taken, as in the drawings; none for the machine's start. */
  arrows: string[];
  /** Whether it is the first frame of its machine, and whether the machine is still active after it. */
  isStart: boolean;
  isActive: boolean;
  /** The number of the journal's entry that it followed from, from 1. */
  entry: number;
  /** How many facts of the whole tree had been told after it. */
  facts: number;
};

/** A number over the steps of a session: where it changed, and to what. */
export type Series = [frame: number, value: number | null][];

/** A fact or a sighting of a session, or a fact of a run. `at` is epoch ms, `entry` the number of the journal's entry, from 1. */
export type Observation = { scope: string; at: number; entry: number } & (
  | { fact: Fact }
  | { sighting: Sighting }
  | { runFact: WorkflowFact }
);

export function contentOfObservation(told: Observation): Fact | Sighting | WorkflowFact {
  if ('fact' in told) return told.fact;
  return 'sighting' in told ? told.sighting : told.runFact;
}
