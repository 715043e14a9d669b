import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CreatedItem, EndingOutcome, RunState } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { lost } from './capture.ts';
import { readIfThere, writeAtomically } from './files.ts';
import { createdSince, type Marks, marksOf } from './filing.ts';
import { writeState } from './state-file.ts';

const marksFile = 'before.json';

/** Where a run keeps what it writes of itself: its folder below `agent_runs`, and the state file. */
export class RunFolder {
  private readonly backlog: string;

  constructor(backlog: string) {
    this.backlog = backlog;
  }

  of({ run }: RunState): string {
    return join(this.backlog, 'agent_runs', run);
  }

  /** The state is on the disk before anything is done in its name (W-4). */
  begin(state: RunState): void {
    const folder = this.of(state);
    mkdirSync(folder, { recursive: true });
    const marks = join(folder, marksFile);
    if (readIfThere(marks) === null) writeAtomically(marks, `${JSON.stringify(marksOf(this.backlog))}\n`);
    writeState(this.backlog, state);
  }

  /** In the phases of the ending a state that cannot be written is a problem, and the ending goes on (W-3). */
  beginEnding(state: RunState): string[] {
    try {
      this.begin(state);
      return [];
    } catch (error) {
      return [`The state file could not be written in ${state.current_phase}: ${messageOf(error)}`];
    }
  }

  /** Items that were created while the run was at work, by its agents most likely: they belong to it too. */
  appeared(state: RunState): CreatedItem[] {
    const text = readIfThere(join(this.of(state), marksFile));
    const marks: Marks = JSON.parse(text ?? '{}');
    return createdSince(this.backlog, marks);
  }

  /** The same, for those that nobody has named yet. */
  nameAppeared(state: RunState, outcome: EndingOutcome): void {
    try {
      const known = new Set([...state.created, ...outcome.created].map(({ id }) => id));
      outcome.created.push(...this.appeared(state).filter(({ id }) => !known.has(id)));
    } catch (error) {
      outcome.problems.push(`Which items were created meanwhile could not be found out: ${messageOf(error)}`);
    }
  }

  write(state: RunState, name: string, text: string, outcome: EndingOutcome): void {
    try {
      writeAtomically(join(this.of(state), name), text);
    } catch (error) {
      outcome.problems.push(lost(name, error, text));
    }
  }
}
