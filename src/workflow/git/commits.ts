import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../errors.ts';
import { git, withIndex } from './git.ts';

/** Paths are names of files, not patterns. */
const literal = { GIT_LITERAL_PATHSPECS: '1' };

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
    if (branch !== null && branch !== current) return await commitOnto(folder, paths, message, branch);
    await addPaths(folder, paths);
    // A path that was moved away may exist only in the last commit.
    const changed = await filtered(paths, async (path) => (await statusOf(folder, path)) !== '');
    // An interrupted call may already have committed; then nothing is left to do.
    if (changed.length > 0) await git(folder, ['commit', '--quiet', `--message=${message}`, '--', ...changed], literal);
    const sha = await git(folder, ['rev-parse', 'HEAD']);
    return { ok: true, sha, branch: await git(folder, ['rev-parse', '--abbrev-ref', 'HEAD']) };
  } catch (error) {
    return { ok: false, message: messageOf(error) };
  }
}

/** Returns the paths that git does not ignore. */
export function notIgnored(folder: string, paths: readonly string[]): Promise<string[]> {
  // This command takes no literal pathspecs. A path that begins with a dot is never a pattern.
  return filtered(paths, async (path) => (await git(folder, ['check-ignore', '--', `./${path}`], {}, [1])) === '');
}

/** Adds paths to an index, as far as they exist or it has them. */
async function addPaths(folder: string, paths: readonly string[], index: { GIT_INDEX_FILE?: string } = {}) {
  const env = { ...index, ...literal };
  const known = await filtered(
    paths,
    async (path) =>
      lstatSync(join(folder, path), { throwIfNoEntry: false }) !== undefined ||
      (await git(folder, ['ls-files', '--', path], env)) !== '',
  );
  // Without a path, git would add everything.
  if (known.length > 0) await git(folder, ['add', '--all', '--', ...known], env);
}

function statusOf(folder: string, path: string): Promise<string> {
  return git(folder, ['status', '--porcelain', '--', path], literal);
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
  const ref = `refs/heads/${branch}`;
  return withIndex(folder, { copy: false }, async (own) => {
    const before = await git(folder, ['rev-parse', '--verify', '--quiet', ref]).catch(() => null);
    const parent = before ?? (await git(folder, ['rev-parse', '--verify', 'HEAD']));
    await git(folder, ['read-tree', parent], own);
    await addPaths(folder, paths, own);
    const tree = await git(folder, ['write-tree'], own);
    // As in a work tree: an interrupted call may already have committed.
    const isKept = tree === (await git(folder, ['rev-parse', `${parent}^{tree}`]));
    const sha = isKept ? parent : await git(folder, ['commit-tree', tree, '-p', parent, '-m', message], own);
    // Updates the branch only if it has not moved in the meantime.
    await git(folder, ['update-ref', ref, sha, before ?? '0'.repeat(sha.length)]);
    return { ok: true, sha, branch };
  });
}
