import { realpathSync } from 'node:fs';
import { join, relative } from 'node:path';
import { git, repositoryOf, withIndex } from './git.ts';

/** The state of a work tree: its repository, and the tree of all its files that git does not ignore. */
export type Snapshot = { root: string; tree: string };

/** Returns the state of the work tree around a folder; null if there is no repository. */
export async function snapshot(folder: string): Promise<Snapshot | null> {
  const repository = await repositoryOf(folder);
  if (repository === null) return null;
  const tree = await withIndex(repository, { copy: true }, (env) => treeOf(folder, env));
  return { root: repository.root, tree };
}

/** The files of unfinished writes. */
const temporary = ':(top,exclude,glob)**/.????????????.tmp';

/** Returns the tree of the work tree around a folder, without the logs of runs below it. The index then matches it. */
export async function treeOf(folder: string, env: { GIT_INDEX_FILE: string }): Promise<string> {
  // Git fails if a pathspec names an ignored path, even to exclude it.
  const isIgnored = (await git(folder, ['check-ignore', 'agent_runs'], {}, { fine: [1] })) !== '';
  const excluded = [temporary, ...(isIgnored ? [] : [':(exclude)agent_runs'])];
  const add = () => git(folder, ['add', '--all', '--', ':/', ...excluded], env);
  // A file may vanish between its discovery and its reading.
  await add().catch(add).catch(add);
  return git(folder, ['write-tree'], env);
}

/** Returns the changed files, below the root, that an index does not take, since a sparse checkout does not hold them. */
export async function sparseFiles(root: string, env: { GIT_INDEX_FILE: string }): Promise<string[]> {
  const isSparse = await git(root, ['config', '--type=bool', '--default=false', 'core.sparseCheckout']);
  if (isSparse !== 'true') return [];
  const names = await git(root, ['diff-files', '--name-only', '--ignore-submodules', '-z', '--', ':/', temporary], env);
  return names.split('\0').filter((name) => name !== '');
}

/** Returns the files whose changes git does not write: they are outside of a sparse checkout, or marked by a user. */
export async function hiddenIn(root: string, env: { GIT_INDEX_FILE: string }): Promise<string[]> {
  const names = (await git(root, ['ls-files', '-v', '-z'], env)).split('\0');
  return names.flatMap((name) => (/^s /i.test(name) ? [name.slice(2)] : []));
}

/** Returns the files that differ between two states of a repository, as paths below `folder`. */
export async function changedBetween(folder: string, before: Snapshot, after: Snapshot): Promise<string[]> {
  const own = realpathSync(folder);
  const names = await changedNames(before.root, before.tree, after.tree);
  return names.map((name) => relative(own, join(realpathSync(before.root), name)));
}

/** Returns the files that differ between two trees or commits, as paths below the root. */
export async function changedNames(root: string, before: string, after: string): Promise<string[]> {
  const names = await git(root, ['diff-tree', '-r', '-z', '--name-only', before, after]);
  return names.split('\0').filter((name) => name !== '');
}
