import { existsSync, realpathSync, renameSync } from 'node:fs';
import { basename, join, relative, sep } from 'node:path';
import type { WorkPhase } from '../../../../machines/index.ts';
import { layouts } from '../../backlog/item-kinds.ts';
import { whileLocked } from '../../backlog/lock.ts';
import { stateFile, timestamp } from '../../backlog/state-file.ts';
import {
  addTree,
  hasTree,
  type ItemTree,
  keepOnBranch,
  mergeWork,
  moveTree,
  presentState,
  removeTree,
  treesIn,
  type Work,
  workIn,
} from '../../git/item-tree.ts';

/** Where agents work on an item. The folders are absolute. */
export type Place = {
  /** The root of the work tree; without a repository, the backlog. */
  root: string;
  /** The backlog in this work tree. It does not exist if git ignores the backlog. */
  backlog: string;
};

/** `conflicts`: the files that cannot be merged. `changed`: the merged files, as paths below the backlog. */
export type Merge = { conflicts: string[] } | { changed: string[] };

const folder = 'agent_runs/worktrees';

/**
 * The work trees in which agents work: that of the project, or, if several items are in progress at once, one for each
 * item. What was done in one of these is merged into that of the project (W-1); what is not merged is kept on a branch.
 */
export class Places {
  private readonly home: Place;
  private readonly backlog: string;
  readonly areApart: boolean;

  /** `home`: the work tree of the project. */
  constructor(home: Place, areApart: boolean) {
    this.home = home;
    this.backlog = home.backlog;
    this.areApart = areApart;
  }

  /** Returns the place for an item. For its first phase, the work tree is created if necessary. */
  async of(id: string, phase: WorkPhase): Promise<Place> {
    const { backlog } = this;
    if (!this.areApart) return this.home;
    const tree = this.itemTree(id);
    if (!hasTree(tree)) {
      if (phase === 'testing') throw new Error(`the work tree of ${id} is gone`);
      await this.end(id);
      await addTree(tree, await whileLocked(backlog, () => presentState(backlog)));
    }
    return { root: tree.root, backlog: join(tree.root, tree.backlog) };
  }

  /**
   * Merges the work on an item; null if it was done in the work tree of the project. `itemFolder`: below the backlog.
   * Repeating it changes nothing. Throws if the place holds no work that git could merge.
   */
  async merge(id: string, itemFolder: string): Promise<Merge | null> {
    const tree = this.itemTree(id);
    if (!hasTree(tree)) return null;
    putBack(join(tree.root, tree.backlog), itemFolder);
    const work = await this.workIn(tree, id);
    const own = join(tree.backlog, itemFolder).split(sep).join('/');
    const isGone = !existsSync(join(tree.root, own)) && work.changed.some((name) => name.startsWith(`${own}/`));
    if (isGone) throw new Error(`${itemFolder} is gone from its work tree`);
    const conflicts = await whileLocked(this.backlog, () => mergeWork(this.backlog, work, tree.backlog));
    return conflicts.length > 0 ? { conflicts } : { changed: work.changed.map((name) => relative(tree.backlog, name)) };
  }

  /** Removes the place of an item whose work is merged. */
  async end(id: string): Promise<void> {
    if (this.left().includes(id)) await removeTree(this.itemTree(id));
  }

  /** Keeps the work on an item that is not merged. Returns its branch; null if nothing changed. */
  async keep(id: string, run: string): Promise<{ branch: string; isNew: boolean } | null> {
    const tree = this.itemTree(id);
    if (!hasTree(tree)) return null;
    const work = await this.workIn(tree, id);
    return work.changed.length === 0 ? null : keepOnBranch(this.backlog, work, `pawl/${run}/${id}`);
  }

  /** Moves a place whose work could not be kept. Returns where it is now. */
  async moveAside(id: string): Promise<string> {
    const tree = this.itemTree(id);
    const place = join(tree.project, 'agent_runs/kept-worktrees', `${id}-${timestamp(new Date())}`);
    await moveTree(tree, place);
    return place;
  }

  /** Returns the ids of the items that have a place of their own. */
  left(): string[] {
    return treesIn(join(this.backlog, folder));
  }

  private async workIn(tree: ItemTree, id: string): Promise<Work> {
    return workIn(tree, runFiles(tree.backlog), `Work on ${id}`);
  }

  private itemTree(id: string): ItemTree {
    const project = realpathSync(this.backlog);
    return { project, root: join(project, folder, id), backlog: relative(realpathSync(this.home.root), project) };
  }
}

/** The files that only the run writes, as paths below the root. What agents change in them is not merged. */
function runFiles(backlog: string): string[] {
  return [...layouts.map(({ summaryFile }) => summaryFile), stateFile].map((name) =>
    join(backlog, name).split(sep).join('/'),
  );
}

/** The run archives a finished item itself, so one that an agent archived is moved back first. */
function putBack(backlog: string, itemFolder: string): void {
  const archived = join(backlog, 'completed', basename(itemFolder));
  if (existsSync(archived) && !existsSync(join(backlog, itemFolder))) renameSync(archived, join(backlog, itemFolder));
}
