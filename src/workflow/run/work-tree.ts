import { basename } from 'node:path';
import type { WorkOutcome } from '../../../machines/index.ts';
import { messageOf } from '../../errors.ts';
import { readConfig } from '../backlog/config.ts';
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

  /** Warns of work that may not be what it seems. */
  warnOf(id: string, { verdict, agent }: Pick<WorkOutcome, 'verdict' | 'agent'>, changed: string[] | null): void {
    if (changed === null) return;
    if (verdict === 'succeeded' && changed.length === 0) this.warn(`${id}: ${agent} changed no file.`);
    const isLeft = verdict === 'failed' && changed.length > 0 && readConfig(this.backlog).auto_commit;
    if (isLeft) this.warn(`${id} failed, and what ${agent} changed is not committed: ${changed.join(', ')}`);
  }
}
