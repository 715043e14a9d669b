import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { CreatedItem, EndingOutcome, ItemPhase, RunState } from '../../../machines/index.ts';
import { messageOf } from '../../input/errors.ts';
import { readIfThere, writeAtomically } from '../backlog/files.ts';
import { writeState } from '../backlog/state-file.ts';
import { unwrittenText } from './ending/capture.ts';
import { allItemIds, createdSince } from './filing.ts';

const marksFile = 'before.json';

/** The files that a run writes about itself: its folder below `agent_runs` and the state file. */
export class RunFolder {
  private readonly backlog: string;
  /** The last state that was written. */
  private state: RunState | null = null;
  /** The phases of the items in progress, which change between two states of the run. */
  private readonly phases = new Map<string, ItemPhase>();

  constructor(backlog: string) {
    this.backlog = backlog;
  }

  of({ run }: Pick<RunState, 'run'>): string {
    return join(this.backlog, 'agent_runs', run);
  }

  /** Writes the state to disk before an effect acts on it (W-4). */
  begin(state: RunState): void {
    const folder = this.of(state);
    mkdirSync(folder, { recursive: true });
    const marks = join(folder, marksFile);
    if (readIfThere(marks) === null) writeAtomically(marks, `${JSON.stringify(allItemIds(this.backlog))}\n`);
    for (const id of this.phases.keys()) if (!state.in_progress.some((one) => one.id === id)) this.phases.delete(id);
    this.state = state;
    writeState(this.backlog, this.present(state));
  }

  /** Writes the phase of an item in progress (W-4). */
  beginPhase(id: string, phase: ItemPhase): void {
    const { state } = this;
    if (state === null) throw new Error('a run writes its state before it works on an item');
    const before = this.present(state);
    this.phases.set(id, phase);
    const after = this.present(state);
    if (!isDeepStrictEqual(before, after)) writeState(this.backlog, after);
  }

  /** Returns a state with the present phases of the items. The phase of the first is also that of the run. */
  private present(state: RunState): RunState {
    const in_progress = state.in_progress.map(({ id, phase }) => ({
      id,
      phase: isWork(phase) ? (this.phases.get(id) ?? phase) : phase,
    }));
    const current_phase = isWork(state.current_phase)
      ? (in_progress[0]?.phase ?? state.current_phase)
      : state.current_phase;
    return { ...state, current_phase, in_progress };
  }

  /** Like `begin`, for ending phases. A failed write is a problem, and the ending continues (W-3). */
  beginEnding(state: RunState): string[] {
    try {
      this.begin(state);
      return [];
    } catch (error) {
      return [`The state file could not be written in ${state.current_phase}: ${messageOf(error)}`];
    }
  }

  /** Returns the items created during the run, most likely by its agents, so they count as the run's. */
  appeared(state: RunState): CreatedItem[] {
    const text = readIfThere(join(this.of(state), marksFile));
    const ids: unknown = JSON.parse(text ?? 'null');
    return Array.isArray(ids) ? createdSince(this.backlog, ids) : [];
  }

  /**
   * Returns what shows how a run came to an incident, as files for its work item: the state of the run, and the ends of the
   * session logs of some items. The run's own folder may be deleted or left out of commits. A log that cannot be read is
   * a problem in `outcome`.
   */
  evidence(state: RunState, items: readonly string[], outcome: EndingOutcome): Map<string, string> {
    const folder = this.of(state);
    const named = (name: string) => `evidence-${state.run}-${name}`;
    const files = new Map([[named('agent-state.json'), `${JSON.stringify(state, null, 2)}\n`]]);
    try {
      const logs = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : [];
      for (const name of logs.filter((log) => items.some((id) => log.startsWith(`${id}-`))))
        files.set(named(name), endOf(readIfThere(join(folder, name)) ?? ''));
    } catch (error) {
      outcome.problems.push(`The session logs of ${items.join(', ')} could not be read: ${messageOf(error)}`);
    }
    return files;
  }

  /** Adds to `outcome` the items created during the run that are not listed yet. */
  nameAppeared(state: RunState, outcome: EndingOutcome): void {
    try {
      const known = new Set([...state.created, ...outcome.created].map(({ id }) => id));
      outcome.created.push(...this.appeared(state).filter(({ id }) => !known.has(id)));
    } catch (error) {
      outcome.problems.push(`The items created during the run could not be listed: ${messageOf(error)}`);
    }
  }

  write(state: RunState, name: string, text: string, outcome: EndingOutcome): void {
    try {
      writeAtomically(join(this.of(state), name), text);
    } catch (error) {
      outcome.problems.push(unwrittenText(name, error, text));
    }
  }
}

/** Whether agents are at work. The run itself sets the later phases. */
function isWork(phase: RunState['current_phase']): boolean {
  return phase === 'processing' || phase === 'testing';
}

const mostEvidence = 65_536;

/** Returns the last lines of a log, whole ones. */
function endOf(log: string): string {
  if (log.length <= mostEvidence) return log;
  const end = log.slice(-mostEvidence);
  return end.slice(end.indexOf('\n') + 1);
}
