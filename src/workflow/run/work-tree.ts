import { basename } from 'node:path';
import { messageOf } from '../../errors.ts';
import { changedBetween, type Snapshot, snapshot } from '../backlog/git.ts';
import { stateFile } from '../backlog/state-file.ts';

/** Tells what the work on an item changes in the repository around a backlog. */
export class WorkTree {
  private readonly backlog: string;
  private readonly warn: (message: string) => void;

  /** `warn` hears why the changes cannot be told. */
  constructor(backlog: string, warn: (message: string) => void) {
    this.backlog = backlog;
    this.warn = warn;
  }

  /** Returns the state before some work; null without a repository. */
  async before(): Promise<Snapshot | null> {
    try {
      return await snapshot(this.backlog);
    } catch (error) {
      this.warn(`What agents change is not known: ${messageOf(error)}`);
      return null;
    }
  }

  /** Returns the files that changed since, without those that a run writes about itself; null if that is not known. */
  async since(before: Snapshot | null): Promise<string[] | null> {
    if (before === null) return null;
    const after = await this.before();
    if (after === null) return null;
    try {
      const changed = await changedBetween(this.backlog, before, after);
      return changed.filter((path) => !path.startsWith('agent_runs/') && !basename(path).startsWith(stateFile));
    } catch (error) {
      this.warn(`What agents change is not known: ${messageOf(error)}`);
      return null;
    }
  }
}
