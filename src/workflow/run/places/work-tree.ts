import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { messageOf } from '../../../input/errors.ts';
import { listed } from '../../../platform/text.ts';
import { stateFile } from '../../backlog/state-file.ts';
import { changedBetween, type Snapshot, snapshot } from '../../git/snapshot.ts';
import { changedSubmodules } from '../../git/submodules.ts';

/** The state of a work tree, and its submodules with uncommitted files, which the tree does not hold. */
type State = Snapshot & { submodules: string[] };

/** Tells what the work on an item changes in the repository around a folder. */
export class WorkTree {
  private readonly folder: string;
  private readonly warn: (message: string) => void;

  /** `warn` is called if the changes cannot be told. */
  constructor(folder: string, warn: (message: string) => void) {
    this.folder = folder;
    this.warn = warn;
  }

  /** Returns the state before some work; null without a repository. */
  async before(): Promise<State | null> {
    try {
      const state = await snapshot(this.folder);
      const hasSome = state !== null && existsSync(join(state.root, '.gitmodules'));
      return state && { ...state, submodules: hasSome ? await changedSubmodules(state.root, state.root, 'HEAD') : [] };
    } catch (error) {
      this.warn(`${unknown}: ${messageOf(error)}`);
      return null;
    }
  }

  /** Returns the files that changed since, without those that a run writes about itself; null if that is not known. */
  async since(before: State | null): Promise<string[] | null> {
    if (before === null) return null;
    const after = await this.before();
    const changed = after === null ? null : await this.between(before, after);
    const submodules = after?.submodules.filter((name) => !before.submodules.includes(name)) ?? [];
    if (submodules.length > 0) this.warn(`Changes in these submodules are not committed: ${listed(submodules)}`);
    return changed?.filter((path) => !path.startsWith('agent_runs/') && !basename(path).startsWith(stateFile)) ?? null;
  }

  /** Returns the files that differ from the last commit; null if that is not known. */
  async uncommitted(): Promise<string[] | null> {
    const now = await this.before();
    return now && this.between({ ...now, tree: 'HEAD' }, now);
  }

  private async between(before: Snapshot, after: Snapshot): Promise<string[] | null> {
    try {
      const changed = await changedBetween(this.folder, before, after);
      const odd = changed.filter((path) => path.includes('\uFFFD'));
      if (odd.length > 0) this.warn(`Files whose names are not UTF-8 are not committed: ${listed(odd)}`);
      return changed.filter((path) => !odd.includes(path));
    } catch (error) {
      this.warn(`${unknown}: ${messageOf(error)}`);
      return null;
    }
  }
}

const unknown = 'Cannot determine which files agents change, so they are not committed';
