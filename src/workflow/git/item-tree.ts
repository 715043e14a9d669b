import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { listed } from '../../platform/text.ts';
import { readIfThere, writeAtomically } from '../backlog/files.ts';
import { git, literal, openRepository, repositoryOf, withIndex } from './git.ts';
import { changedNames, hiddenIn, sparseFiles, treeOf } from './snapshot.ts';
import { changedSubmodules } from './submodules.ts';

/** A work tree for one item: a checkout of the project as it was, uncommitted changes included. */
export type ItemTree = {
  /** A folder in the work tree of the project, absolute. */
  project: string;
  /** The root of the checkout, absolute. */
  root: string;
  /** The path of the backlog below the root. */
  backlog: string;
};

/** The file with the commit that was checked out. It exists only while the checkout is complete. */
const baseOf = ({ root }: ItemTree) => `${root}.base`;

/** The author of Pawl's internal commits, so that none has to be configured. */
const author = {
  GIT_AUTHOR_NAME: 'Pawl',
  GIT_AUTHOR_EMAIL: 'pawl@localhost',
  GIT_COMMITTER_NAME: 'Pawl',
  GIT_COMMITTER_EMAIL: 'pawl@localhost',
};

/** Returns what is needed to merge without a checkout; null if the installed git can do it. */
export async function neededToMerge(folder: string): Promise<string | null> {
  return neededFor(await git(folder, ['version']));
}

export function neededFor(version: string): string | null {
  const [, major = '0', minor = '0'] = /(\d+)\.(\d+)/.exec(version) ?? [];
  const isOld = Number(major) < 2 || (Number(major) === 2 && Number(minor) < 38);
  return isOld ? `git 2.38 or newer; found ${version}` : null;
}

/** Returns a commit of the project as it is now: the last one, or one on top of it with what is not committed. */
export async function presentState(project: string): Promise<string> {
  const present = await withIndex(await openRepository(project), { copy: true }, (env) => treeOf(project, env));
  const head = await git(project, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']).catch(() => null);
  const isCommitted = head !== null && (await git(project, ['rev-parse', 'HEAD^{tree}'])) === present;
  return isCommitted ? head : commitOf(project, present, head, 'The work tree as it was');
}

/** Checks out a commit. */
export async function addTree(tree: ItemTree, base: string): Promise<void> {
  const { project, root } = tree;
  mkdirSync(dirname(root), { recursive: true });
  // Keeps the checkout out of the project's `git status`.
  writeFileSync(join(dirname(root), '.gitignore'), '*\n');
  // What a setting of the user marks as unchanged would not be seen as work.
  await git(project, ['-c', 'core.ignoreStat=false', 'worktree', 'add', '--quiet', '--force', '--detach', root, base]);
  writeAtomically(baseOf(tree), base);
}

/** Removes the checkout, even if it is incomplete. From its beginning, the checkout no longer counts as complete. */
export async function removeTree(tree: ItemTree): Promise<void> {
  const { project, root } = tree;
  rmSync(baseOf(tree), { force: true });
  const remove = () => git(project, ['worktree', 'remove', '--force', '--force', root]);
  // Git refuses to remove a checkout that is incomplete.
  await remove().catch(() => {});
  rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  if (await isRegistered(tree)) await remove();
}

/** Moves the checkout to `place`, where it is no longer used. */
export async function moveTree(tree: ItemTree, place: string): Promise<void> {
  const { project, root } = tree;
  mkdirSync(dirname(place), { recursive: true });
  writeFileSync(join(dirname(place), '.gitignore'), '*\n');
  renameSync(root, place);
  rmSync(baseOf(tree), { force: true });
  if (await isRegistered(tree)) await git(project, ['worktree', 'remove', '--force', '--force', root]);
}

async function isRegistered({ project, root }: ItemTree): Promise<boolean> {
  return (await git(project, ['worktree', 'list', '--porcelain'])).split('\n').includes(`worktree ${root}`);
}

/** Returns whether the checkout was completed and not removed. */
export function hasTree(tree: ItemTree): boolean {
  return existsSync(tree.root) && existsSync(baseOf(tree));
}

/** Returns the names of the checkouts in a folder, incomplete ones included. */
export function treesIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name !== '.gitignore') : [];
  return [...new Set(names.map((name) => name.replace(/\.base$/, '')))];
}

/** The base of a checkout, and its present state as a commit on top of it. */
export type Work = { base: string; commit: string; changed: string[] };

/** Returns what was changed in a checkout. Ignores changes to the files in `without` (paths below the root). */
export async function workIn(itemTree: ItemTree, without: readonly string[], title: string): Promise<Work> {
  const { project, root } = itemTree;
  const backlog = join(root, itemTree.backlog);
  const base = readFileSync(baseOf(itemTree), 'utf8');
  await checkTree(itemTree);
  const tree = await withIndex(await openRepository(root), { copy: true }, async (env) => {
    await treeOf(existsSync(backlog) ? backlog : root, env);
    const unseen = await sparseFiles(root, env);
    if (unseen.length > 0) throw new Error(`git leaves ${listed(unseen)} out of its sparse checkout`);
    const unchanged = ['reset', '--quiet', base, '--', ...without];
    // Without a path, git would reset everything.
    if (without.length > 0) await git(root, unchanged, { ...env, ...literal });
    return git(root, ['write-tree'], env);
  });
  const nested = [...(await nestedIn(project, base, tree)), ...(await changedSubmodules(project, root, base))];
  if (nested.length > 0) throw new Error(`git cannot merge the nested repositories ${nested.join(', ')}`);
  const commit = await commitOf(project, tree, base, title);
  return { base, commit, changed: await changedNames(project, base, commit) };
}

/** Returns the submodules and other nested repositories that are new or changed. Their content is not in the tree. */
async function nestedIn(project: string, base: string, tree: string): Promise<string[]> {
  const lines = (await git(project, ['diff-tree', '-r', '-z', base, tree])).split('\0');
  return lines.flatMap((line, index) => (/^:\d+ 160000 /.test(line) ? [lines[index + 1] ?? ''] : []));
}

/** Checks that a checkout is one, because git would otherwise take the project around it. */
async function checkTree({ project, root }: ItemTree): Promise<void> {
  const isTree = async () => (await repositoryOf(root))?.root === root;
  // Its .git file may be gone, or the whole project may have been moved, which only the second one repairs.
  for (const paths of [[], [root]])
    if (!(await isTree())) await git(project, ['worktree', 'repair', ...paths]).catch(() => {});
  if (!(await isTree())) throw new Error(`${root} is no longer a git work tree`);
}

/** Keeps work on a branch with this name, or a numbered one if another work has it. Work that is kept is not kept again. */
export async function keepOnBranch(
  project: string,
  { commit }: Work,
  wanted: string,
): Promise<{ branch: string; isNew: boolean }> {
  const tree = await git(project, ['rev-parse', `${commit}^{tree}`]);
  const name = (await isTaken(project, dirname(wanted))) ? wanted.replaceAll('/', '-') : wanted;
  for (let number = 1; ; number += 1) {
    const branch = number === 1 ? name : `${name}-${number}`;
    const ref = `refs/heads/${branch}`;
    const kept = await git(project, ['rev-parse', '--verify', '--quiet', `${ref}^{tree}`]).catch(() => null);
    if (kept === tree) return { branch, isNew: false };
    if (kept !== null) continue;
    await git(project, ['update-ref', ref, commit]);
    return { branch, isNew: true };
  }
}

/** Whether a branch has the name of a folder of branches, or of one above it. Then the folder can hold none. */
async function isTaken(project: string, folder: string): Promise<boolean> {
  const names = folder.split('/').map((_, index, all) => `refs/heads/${all.slice(0, index + 1).join('/')}`);
  const branches = (await git(project, ['for-each-ref', '--format=%(refname)', ...names])).split('\n');
  return names.some((name) => branches.includes(name));
}

/**
 * Merges work into the work tree of the project. Nothing is written if some files conflict; returns their paths. The
 * `comments.md` of items below `backlog` are union-merged.
 */
export async function mergeWork(project: string, { base, commit }: Work, backlog: string): Promise<string[]> {
  const repository = await openRepository(project);
  const { root } = repository;
  return withIndex(repository, { copy: true }, async (env) => {
    const ours = await treeOf(project, env);
    const own = await commitOf(project, ours, base, 'The work tree as it is');
    const attributes = `${env.GIT_INDEX_FILE}.attributes`;
    try {
      const place = backlog.replaceAll(/[[\]*?\\]/g, '\\$&');
      const pattern = JSON.stringify(`/${place === '' ? '' : `${place}/`}**/comments.md`);
      writeFileSync(attributes, `${await ownAttributes(root)}\n${pattern} merge=union\n`);
      const settings = [`core.attributesFile=${attributes}`, 'merge.directoryRenames=false', 'merge.renames=true'];
      const options = settings.flatMap((setting) => ['-c', setting]);
      const command = ['merge-tree', '--write-tree', '--name-only', '-z', own, commit];
      const merged = await git(root, [...options, ...command], {}, { fine: [1] });
      const [tree = '', ...rest] = merged.split('\0');
      const conflicts = rest.slice(0, Math.max(0, rest.indexOf('')));
      const hidden = new Set(await hiddenIn(root, env));
      const unseen = (await changedNames(root, ours, tree)).filter((name) => hidden.has(name));
      const covered = await coveredFiles(root, { ours, merged: tree }, env);
      const all = new Set([...conflicts, ...unseen, ...covered]);
      if (all.size > 0) return [...all];
      // Refuses to write a file that changed since the snapshot.
      await git(root, ['read-tree', '-m', '-u', ours, tree], env);
      return [];
    } finally {
      rmSync(attributes, { force: true });
    }
  });
}

/** Returns the new files that would replace others, which git ignores. */
async function coveredFiles(
  root: string,
  { ours, merged }: { ours: string; merged: string },
  env: { GIT_INDEX_FILE: string },
): Promise<string[]> {
  const added = await git(root, ['diff-tree', '-r', '-z', '--name-only', '--diff-filter=A', ours, merged]);
  const covered: string[] = [];
  for (const name of added.split('\0').filter((one) => one !== '')) {
    const there = placeOf(root, name);
    if (there === null) continue;
    // A folder that the new file replaces may hold files of its own; a file may stand where its folder belongs.
    const isCovered = there.isFolder
      ? (await git(root, ['ls-files', '--others', '-z', '--', name], { ...env, ...literal })) !== ''
      : (await git(root, ['ls-tree', '--name-only', ours, '--', there.path], literal)) === '';
    if (isCovered) covered.push(name);
  }
  return covered;
}

/** Returns what is where a file will be, or where one of its folders will be; null if nothing is. */
function placeOf(root: string, name: string): { path: string; isFolder: boolean } | null {
  const names = name.split('/');
  for (const index of names.keys()) {
    const path = names.slice(0, index + 1).join('/');
    const about = lstatSync(join(root, path), { throwIfNoEntry: false });
    if (about === undefined) return null;
    if (!about.isDirectory()) return { path, isFolder: false };
  }
  return { path: name, isFolder: true };
}

/** Returns the user's own attributes, which a file given to git would hide. */
async function ownAttributes(root: string): Promise<string> {
  const given = await git(root, ['config', '--type=path', 'core.attributesFile']).catch(() => '');
  const usual = join(process.env.XDG_CONFIG_HOME ?? join(homedir(), '.config'), 'git/attributes');
  return readIfThere(given === '' ? usual : given) ?? '';
}

function commitOf(folder: string, tree: string, parent: string | null, title: string): Promise<string> {
  return git(folder, ['commit-tree', tree, ...(parent === null ? [] : ['-p', parent]), '-m', title], author);
}
