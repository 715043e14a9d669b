import { realpathSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { queue } from '../../../platform/queue.ts';
import { layouts } from '../../backlog/item-kinds.ts';
import { whileLocked } from '../../backlog/lock.ts';
import { stateFile } from '../../backlog/state-file.ts';
import { repositoryOf } from '../../git/git.ts';
import {
  addTree,
  hasTree,
  type ItemTree,
  keepAsBranch,
  mergeWork,
  removeTree,
  treesIn,
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
 * item. What was done in one of these is merged into that of the project (W-1); what is not merged is kept as a branch.
 */
export class Places {
  private readonly backlog: string;
  private readonly areApart: boolean;
  /** A project is not read while work is merged into it. */
  private readonly oneAtATime = queue();

  constructor(backlog: string, areApart: boolean) {
    this.backlog = backlog;
    this.areApart = areApart;
  }

  /** Returns the place for an item. If no work has begun there, it holds the project as it is now. */
  async of(id: string): Promise<Place> {
    const { backlog } = this;
    if (!this.areApart) return { root: (await repositoryOf(backlog)) ?? backlog, backlog };
    const tree = this.treeOf(id);
    await this.oneAtATime(async () => {
      if (hasTree(tree)) return;
      await removeTree(tree);
      await addTree(tree);
    });
    return { root: tree.root, backlog: join(tree.root, await this.below()) };
  }

  /** Merges the work on an item; null if it was done in the work tree of the project. Repeating it changes nothing. */
  async merge(id: string): Promise<Merge | null> {
    const { backlog } = this;
    const tree = this.treeOf(id);
    if (!hasTree(tree)) return null;
    const work = await workIn(tree, await this.own(), titleOf(id));
    const merge = () => whileLocked(backlog, () => mergeWork(backlog, work, 'comments.md'));
    const conflicts = await this.oneAtATime(merge);
    const below = await this.below();
    return conflicts.length > 0 ? { conflicts } : { changed: work.changed.map((name) => relative(below, name)) };
  }

  /** Removes the place of an item whose work is merged. */
  async end(id: string): Promise<void> {
    if (this.left().includes(id)) await removeTree(this.treeOf(id));
  }

  /** Removes the place of an item whose work is not merged. Returns the branch that keeps it; null if there is nothing. */
  async leave(id: string, run: string): Promise<string | null> {
    const { backlog } = this;
    const tree = this.treeOf(id);
    if (!hasTree(tree)) {
      await this.end(id);
      return null;
    }
    const work = await workIn(tree, await this.own(), titleOf(id));
    const branch = work.changed.length === 0 ? null : `pawl/${run}/${id}`;
    if (branch !== null) await keepAsBranch(backlog, work, branch);
    await removeTree(tree);
    return branch;
  }

  /** Returns the ids of the items that have a place of their own, such as after a crash. */
  left(): string[] {
    return treesIn(join(this.backlog, folder));
  }

  private treeOf(id: string): ItemTree {
    return { project: this.backlog, root: join(realpathSync(this.backlog), folder, id) };
  }

  /** The path of the backlog below the root of the project. */
  private async below(): Promise<string> {
    const own = realpathSync(this.backlog);
    return relative(realpathSync((await repositoryOf(own)) ?? own), own);
  }

  /** The files that only the run writes, as paths below the root. What agents change in them is not merged. */
  private async own(): Promise<string[]> {
    const below = await this.below();
    return [...layouts.map(({ summaryFile }) => summaryFile), stateFile].map((name) =>
      join(below, name).split(sep).join('/'),
    );
  }
}

function titleOf(id: string): string {
  return `What was done for ${id}`;
}
