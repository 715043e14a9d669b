import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { messageOf } from '../../errors.ts';
import { isWithin } from '../../platform/paths.ts';

const run = promisify(execFile);
const timeoutMs = 30_000;

/** The commands that run hooks; `status` does, too, as it writes the index. */
const runHooks = new Set(['add', 'commit', 'read-tree', 'status', 'update-ref', 'write-tree']);

/** Runs git without a shell and returns its output. If git fails, the error contains its message. */
async function git(folder: string, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const hooks = runHooks.has(args[0] ?? '') ? await trustedHooks(folder) : [];
  try {
    const { stdout } = await run('git', [...hooks, ...args], {
      cwd: folder,
      timeout: timeoutMs,
      maxBuffer: 16 * 1024 * 1024,
      // No editor, no prompts, and untranslated messages.
      env: { ...process.env, GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C', ...env },
    });
    return stdout.trim();
  } catch (error) {
    const said =
      error instanceof Error
        ? (['stderr', 'stdout']
            .map((stream) => String(Reflect.get(error, stream) ?? '').trim())
            .find((text) => text !== '') ?? '')
        : '';
    throw new Error(
      `git ${args.find((one) => /^[a-z]/.test(one) && !one.includes('=')) ?? ''} failed: ${said === '' ? messageOf(error) : said}`,
    );
  }
}

/** Returns a short human-readable `git status`, or an error message if there is no repository or no git. */
export async function gitStatus(folder: string): Promise<string> {
  try {
    const status = await git(folder, ['status', '--short', '--branch', '--', '.']);
    return status === '' ? 'Nothing to commit.' : status;
  } catch (error) {
    return messageOf(error);
  }
}

/** Returns the root of the repository that contains a folder, or null if the folder is in no repository. */
export function repositoryOf(folder: string): Promise<string | null> {
  return git(folder, ['rev-parse', '--show-toplevel']).catch(() => null);
}

/** The state of a work tree: its repository, and the tree of all its files that git does not ignore. */
export type Snapshot = { root: string; tree: string };

/** Returns the state of the work tree around a folder, through an index of its own; null if there is no repository. */
export async function snapshot(folder: string): Promise<Snapshot | null> {
  const told = await git(folder, ['rev-parse', '--absolute-git-dir', '--show-toplevel']).catch(() => null);
  if (told === null) return null;
  const [gitFolder = '', root = ''] = told.split('\n');
  const index = join(gitFolder, `pawl-${randomBytes(6).toString('hex')}.index`);
  try {
    // With a copy of the index, files that did not change are not read again.
    if (existsSync(join(gitFolder, 'index'))) copyFileSync(join(gitFolder, 'index'), index);
    // The logs of runs grow all the time, and are no work of agents.
    await git(folder, ['add', '--all', '--', ':/', ':(exclude)agent_runs'], { GIT_INDEX_FILE: index });
    return { root, tree: await git(root, ['write-tree'], { GIT_INDEX_FILE: index }) };
  } finally {
    rmSync(index, { force: true });
  }
}

/** Returns the files that differ between two states of a work tree, as paths below `folder`. */
export async function changedBetween(folder: string, before: Snapshot, after: Snapshot): Promise<string[]> {
  const names = await git(before.root, ['diff-tree', '-r', '-z', '--name-only', before.tree, after.tree]);
  const own = realpathSync(folder);
  return names
    .split('\0')
    .filter((name) => name !== '')
    .map((name) => relative(own, join(realpathSync(before.root), name)));
}

/** Whether the last commit has a path. */
export async function isCommitted(folder: string, path: string): Promise<boolean> {
  return (await git(folder, ['ls-tree', '--name-only', 'HEAD', '--', path]).catch(() => '')) !== '';
}

export type Commit = { ok: true; sha: string; branch: string } | { ok: false; message: string };

/**
 * Commits `paths` (below `folder`) and nothing else. With `branch`, commits to that branch, which is created if needed;
 * the working tree and its current branch stay unchanged.
 */
export async function commitPaths(
  folder: string,
  paths: readonly string[],
  message: string,
  branch: string | null = null,
): Promise<Commit> {
  try {
    const current = await git(folder, ['symbolic-ref', '--short', '--quiet', 'HEAD']).catch(() => null);
    const known = await knownPaths(folder, paths);
    if (branch !== null && branch !== current) return await commitOnto(folder, known, message, branch);
    if (known.length > 0) await git(folder, ['add', '--all', '--', ...known]);
    // A path that was moved away may exist only in the last commit.
    const changed = await filtered(paths, async (path) => (await statusOf(folder, path)) !== '');
    // An interrupted call may already have committed; then nothing is left to do.
    if (changed.length > 0) await git(folder, ['commit', '--quiet', `--message=${message}`, '--', ...changed]);
    const sha = await git(folder, ['rev-parse', 'HEAD']);
    return { ok: true, sha, branch: await git(folder, ['rev-parse', '--abbrev-ref', 'HEAD']) };
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
}

/** Returns the option that disables all hooks if some are in the work tree, where an agent may have written them. */
async function trustedHooks(folder: string): Promise<string[]> {
  const told = await git(folder, ['rev-parse', '--git-path', 'hooks', '--git-common-dir', '--show-toplevel']).catch(
    () => null,
  );
  if (told === null) return [];
  const [hooks = '', common = '', root = ''] = told.split('\n');
  const [place, gitFolder, tree] = [resolve(folder, hooks), realpathSync(resolve(folder, common)), realpathSync(root)];
  const names = existsSync(place) ? readdirSync(place).map((name) => join(place, name)) : [];
  const isInTree = (path: string) => isWithin(tree, path) && !isWithin(gitFolder, path);
  const isWritable = [place, ...names].some((path) => existsSync(path) && isInTree(realpathSync(path)));
  return isWritable ? ['-c', 'core.hooksPath=/dev/null'] : [];
}

/** Returns the paths that exist or are in the index. */
function knownPaths(folder: string, paths: readonly string[]): Promise<string[]> {
  return filtered(
    paths,
    async (path) => existsSync(join(folder, path)) || (await git(folder, ['ls-files', '--', path])) !== '',
  );
}

function statusOf(folder: string, path: string): Promise<string> {
  return git(folder, ['status', '--porcelain', '--', path]);
}

async function filtered(paths: readonly string[], isWanted: (path: string) => Promise<boolean>): Promise<string[]> {
  const wanted: string[] = [];
  for (const path of paths) if (await isWanted(path)) wanted.push(path);
  return wanted;
}

/** Commits to another branch through a separate index, so that nothing is checked out. */
async function commitOnto(folder: string, paths: readonly string[], message: string, branch: string): Promise<Commit> {
  await git(folder, ['check-ref-format', '--branch', branch]);
  const worktrees = await git(folder, ['worktree', 'list', '--porcelain']);
  if (worktrees.split('\n').includes(`branch refs/heads/${branch}`)) {
    throw new Error(`the branch ${branch} is checked out in another worktree`);
  }
  const gitFolder = await git(folder, ['rev-parse', '--absolute-git-dir']);
  const index = join(gitFolder, `pawl-${randomBytes(6).toString('hex')}.index`);
  const own = { GIT_INDEX_FILE: index };
  const ref = `refs/heads/${branch}`;
  try {
    const before = await git(folder, ['rev-parse', '--verify', '--quiet', ref]).catch(() => null);
    const parent = before ?? (await git(folder, ['rev-parse', '--verify', 'HEAD']));
    await git(folder, ['read-tree', parent], own);
    await git(folder, ['add', '--all', '--', ...paths], own);
    const tree = await git(folder, ['write-tree'], own);
    const sha = await git(folder, ['commit-tree', tree, '-p', parent, '-m', message], own);
    // Updates the branch only if it has not moved in the meantime.
    await git(folder, ['update-ref', ref, sha, before ?? '0'.repeat(sha.length)]);
    return { ok: true, sha, branch };
  } finally {
    rmSync(index, { force: true });
  }
}
