import type { Fact, Message } from '../../../machines/index.ts';
import type { RunHead, SessionHead } from '../../journal/journal.ts';
import type { Difference } from '../../journal/replay/replay.ts';
import { firstOnes } from '../../platform/search.ts';
import type { OfferedTool } from '../../vocabulary/offered-tool.ts';
import { type CounterValues, CountLog } from './counts.ts';
import type { MachineId, Microstep, Observation, RecordingPart, ShownRequest } from './recording-data.ts';
import type { RowList } from './row-list.ts';
import { Rows } from './rows.ts';
import { RunRows } from './run-rows.ts';

/** A machine of the tree at some frame: where it stands, and since which frame. */
export type Actor = {
  scope: string;
  actor: string;
  machine: MachineId;
  states: string[];
  isActive: boolean;
  frame: number;
};

/** A session at some frame. */
export type Moment = {
  /** From 0; -1 before anything happened. */
  frame: number;
  /** How many facts and sightings had been told. */
  told: number;
  /** Epoch ms of the last of them. */
  at: number;
  /** The session of the tree that made the step. */
  scope: string;
  actors: Actor[];
};

/** The number of frames between two marks. A seek starts at the nearest mark. */
const markEvery = 512;

/** A recorded session, or a run, as it is shown: what the machines said, piece by piece, and where it stood at any frame. */
export class ShownRecording {
  readonly heads = new Map<string, SessionHead>();
  readonly microsteps: Microstep[] = [];
  readonly told: Observation[] = [];
  readonly requests: ShownRequest[] = [];
  readonly tools: (readonly OfferedTool[])[] = [];
  rows: RowList = new Rows();
  /** What a workflow run began with; null for a session. */
  run: RunHead | null = null;
  entries = 0;
  difference: Difference | null = null;
  /** The versions of each conversation. */
  private readonly conversations = new Map<string, (readonly Message[])[]>();
  private readonly counts = new Map<string, CountLog>();
  private readonly marks: Map<string, Actor>[] = [];
  private readonly actors = new Map<string, Actor>();

  takePart(part: RecordingPart): void {
    if (part.run !== null) {
      this.run = part.run;
      this.rows = new RunRows();
    }
    for (const { scope, head } of part.heads) this.heads.set(scope, head);
    for (const frame of part.microsteps) this.takeFrame(frame);
    for (const told of part.told) {
      this.told.push(told);
      this.rows.takeObservation(told, this.told.length);
    }
    // Facts and sightings after the last step belong to it.
    const last = this.microsteps.at(-1);
    if (last !== undefined) last.facts = this.told.length;
    for (const change of part.changes) this.countsOf(change.scope).takeChange(change);
    for (const { scope, version, from, messages } of part.messages) {
      const versions = this.conversations.get(scope) ?? [];
      const known = versions[version] ?? versions.at(-1) ?? [];
      versions[version] = [...known.slice(0, from), ...messages];
      this.conversations.set(scope, versions);
    }
    this.tools.push(...part.tools);
    this.requests.push(...part.requests);
    this.entries = part.entries;
    this.difference = part.difference;
  }

  private takeFrame(frame: Microstep): void {
    const number = this.microsteps.length;
    if (number % markEvery === 0) this.marks.push(new Map(this.actors));
    this.microsteps.push(frame);
    move(this.actors, frame, number);
  }

  at(frame: number): Moment {
    const mark = Math.floor(Math.max(0, frame) / markEvery);
    const actors = new Map(this.marks[mark]);
    for (let index = mark * markEvery; index <= frame; index += 1) {
      const one = this.microsteps[index];
      if (one !== undefined) move(actors, one, index);
    }
    const told = this.microsteps[frame]?.facts ?? 0;
    return {
      frame,
      told,
      at: this.told[told - 1]?.at ?? this.begunAt ?? 0,
      scope: this.microsteps[frame]?.scope ?? '',
      actors: [...actors.values()],
    };
  }

  /** When it began (epoch ms); null before it did. */
  get begunAt(): number | null {
    return this.run?.at ?? this.heads.get('')?.input.at ?? null;
  }

  /** Returns the numbers of a session of the tree, after so many facts and sightings. */
  countersAt(told: number, scope = ''): CounterValues {
    return this.countsOf(scope).at(told);
  }

  /** Returns the first frame after which a fact or sighting, by its number, had been told. */
  frameOf(told: number): number {
    const before = firstOnes(this.microsteps, ({ facts }) => facts < told);
    return Math.min(before, this.microsteps.length - 1);
  }

  countsOf(scope: string): CountLog {
    const known = this.counts.get(scope) ?? new CountLog();
    this.counts.set(scope, known);
    return known;
  }

  messagesOf({ scope, version, messages }: Pick<ShownRequest, 'scope' | 'version' | 'messages'>): readonly Message[] {
    return this.conversations.get(scope)?.[version]?.slice(0, messages) ?? [];
  }

  /** Returns the facts of a session, the latest first, from a number of facts and sightings on back. */
  *factsBefore(told: number, scope: string): Generator<{ fact: Fact; told: number }> {
    for (let number = told; number > 0; number -= 1) {
      const one = this.told[number - 1];
      if (one !== undefined && one.scope === scope && 'fact' in one) yield { fact: one.fact, told: number };
    }
  }
}

/** Takes a frame into the actors: one that starts ends what its forerunner had below. */
function move(actors: Map<string, Actor>, frame: Microstep, number: number): void {
  const { scope, actor, machine, states, isActive } = frame;
  const key = `${scope} ${actor}`;
  if (frame.isStart) {
    const below = actor === '' ? `${scope} ` : `${key}/`;
    for (const other of actors.keys()) if (other !== key && other.startsWith(below)) actors.delete(other);
  }
  actors.set(key, { scope, actor, machine, states, isActive, frame: number });
}
