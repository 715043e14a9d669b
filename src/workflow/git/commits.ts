import {
  closeSync,
  existsSync,
  fchmodSync,
  futimesSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join, posix } from 'node:path';
import { messageOf } from '../../input/errors.ts';
import { isMissing } from '../../platform/node-only/paths.ts';
import { git, literal, openRepository, type Repository, withIndex } from './git.ts';

/** Whether the last commit has a path. */
export async function isCommitted(folder: string, path: string): Promise<boolean> {
  return (await git(folder, ['ls-tree', '--name-only', 'HEAD', '--', path]).catch(() => '')) !== '';
}

export type Commit = { ok: true; sha: string; branch: string } | { ok: false; message: string };

/**
 * Commits `paths` (below `folder`) and nothing else. With `branch`, commits to that branch, which is created if needed;
 * the working tree and its current branch stay unchanged. If it fails, the index is brought back to what it was.
 */
export async function commitPaths(
  folder: string,
  paths: readonly string[],
  message: string,
  branch: string | null = null,
): Promise<Commit> {
  let index: StagedIndex | null = null;
  try {
    const repository = await openRepository(folder);
    if (branch !== null && branch !== (await currentBranch(folder)))
      return await commitOnto(folder, repository, paths, message, branch);
    index = new StagedIndex(folder, paths, join(repository.gitFolder, 'index'));
    await addPaths(folder, paths);
    index.isStaged();
    const names = await namesToCommit(folder, repository, paths);
    const input = namesOf(names);
    // An interrupted call may already have committed; then nothing is left to do.
    if (names.length > 0)
      await git(repository.root, ['commit', '--quiet', `--message=${message}`, ...fromInput], literal, { input });
    const [sha = '', name = ''] = (await git(folder, ['rev-parse', 'HEAD', '--abbrev-ref', 'HEAD'])).split('\n');
    return { ok: true, sha, branch: name };
  } catch (error) {
    const message = messageOf(error);
    const reason = await index?.restore().then(
      () => null,
      (reason) => messageOf(reason),
    );
    const more = reason == null ? '' : `; what was to be committed may still be staged: ${reason}`;
    return { ok: false, message: `${message}${more}` };
  }
}

/** Returns the branch that is checked out; null if none is. */
function currentBranch(folder: string): Promise<string | null> {
  return git(folder, ['symbolic-ref', '--short', '--quiet', 'HEAD']).catch(() => null);
}

/** An index in which paths are staged for a commit, and what was in it before: a user's changes, or a merge. */
class StagedIndex {
  private readonly folder: string;
  private readonly paths: readonly string[];
  private readonly file: string;
  private readonly before: Buffer | null;
  private readonly mode: number;
  /** When it was written, in seconds. */
  private readonly at: number;
  private staged: Buffer | null = null;

  constructor(folder: string, paths: readonly string[], file: string) {
    this.folder = folder;
    this.paths = paths;
    this.file = file;
    const about = statSync(this.file, { throwIfNoEntry: false });
    this.mode = about?.mode ?? 0;
    this.at = (about?.mtimeMs ?? 0) / 1_000;
    this.before = this.read();
  }

  /** The paths are staged. */
  isStaged(): void {
    this.staged = this.read();
  }

  /** Brings back what was there before. If someone else has staged something meanwhile, takes out these paths alone. */
  async restore(): Promise<void> {
    const now = this.read();
    if (now === null || this.before?.equals(now)) return;
    if (this.before === null || !(this.staged ?? now).equals(now)) {
      await git(this.folder, ['reset', '--quiet', ...fromInput], literal, { input: namesOf(this.paths) });
      return;
    }
    // Following git's own protocol: whoever creates the lock file may replace the index with it.
    const lock = `${this.file}.lock`;
    const file = openSync(lock, 'wx');
    try {
      writeFileSync(file, this.before);
      fchmodSync(file, this.mode);
      // By its time, git knows which files may have changed since.
      futimesSync(file, this.at, this.at);
      renameSync(lock, this.file);
    } catch (error) {
      rmSync(lock, { force: true });
      throw error;
    } finally {
      closeSync(file);
    }
  }

  private read(): Buffer | null {
    return existsSync(this.file) ? readFileSync(this.file) : null;
  }
}

/** Returns the paths that git does not ignore, and those of files that are gone but in the last commit. */
export async function notIgnored(folder: string, paths: readonly string[]): Promise<string[]> {
  // This command takes no literal pathspecs. A path that begins with a dot is never a pattern.
  const asked = paths.map((path) => `./${path}`);
  const said = await git(folder, ['check-ignore', '-z', '--stdin'], {}, { fine: [1], input: namesOf(asked) });
  const ignored = new Set(said.split('\0').map((path) => path.slice('./'.length)));
  // Git goes by its index, from which a file may be removed already.
  const gone = new Set(paths.filter((path) => ignored.has(path) && endOf(folder, path) === null));
  if (gone.size === 0) return paths.filter((path) => !ignored.has(path));
  const { prefix } = await openRepository(folder);
  const changed = await changedSinceCommit(folder);
  const removed = new Set(changed.flatMap(({ name, isGone }) => (isGone ? [name] : [])));
  return paths.filter((path) => !ignored.has(path) || (gone.has(path) && removed.has(fromRoot(prefix, path))));
}

const fromInput = ['--pathspec-from-file=-', '--pathspec-file-nul'];

function namesOf(paths: readonly string[]): string {
  return paths.join('\0');
}

/** Lists what an index holds of these paths. A command line is not long enough for all paths of a large removal. */
async function known(folder: string, paths: readonly string[], env: Record<string, string>): Promise<string> {
  let list = '';
  for (let at = 0; at < paths.length; at += mostArguments)
    list += await git(folder, ['ls-files', '-z', '--', ...paths.slice(at, at + mostArguments)], env);
  return list;
}

/** A path may have 4,096 bytes, and Linux takes 2 MiB of arguments. */
const mostArguments = 400;

/** Adds paths to an index, as they are now: what is gone is taken out. */
async function addPaths(folder: string, paths: readonly string[], index: { GIT_INDEX_FILE?: string } = {}) {
  const env = { ...index, ...literal };
  const places = paths.map((path) => ({ path, end: endOf(folder, path) }));
  const gone = places.filter(({ path, end }) => end !== path);
  const removed = await known(
    folder,
    gone.map(({ path }) => path),
    env,
  );
  if (removed !== '') await git(folder, ['update-index', '--force-remove', '-z', '--stdin'], env, { input: removed });
  // Git says what is wrong with a path behind a link that it does not know.
  const links = [...new Set(gone.flatMap(({ end }) => (end === null || paths.includes(end) ? [] : [end])))];
  const knownLinks = `\0${await known(folder, links, env)}`;
  const isWrong = (end: string | null) => end !== null && links.includes(end) && !knownLinks.includes(`\0${end}\0`);
  const there = places.flatMap(({ path, end }) => (end === path || isWrong(end) ? [path] : []));
  // Without a path, git would add everything.
  if (there.length > 0) await git(folder, ['add', '--all', ...fromInput], env, { input: namesOf(there) });
}

/** Returns the path, or the link that stands in its way. Null if it is gone. */
function endOf(folder: string, path: string): string | null {
  const names = path.split('/');
  for (const index of names.keys()) {
    const at = names.slice(0, index + 1).join('/');
    const isLink = isLinkAt(join(folder, at));
    if (isLink === null) return null;
    if (isLink || index === names.length - 1) return at;
  }
  return path;
}

/** Whether there is a link at a path; null if there is nothing. */
function isLinkAt(path: string): boolean | null {
  try {
    return lstatSync(path).isSymbolicLink();
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/**
 * Returns the names, from the root of the work tree, of what `paths` hold that the last commit has not. A name that a folder
 * took, or one below what is no folder now, goes by itself.
 */
async function namesToCommit(folder: string, { prefix }: Repository, paths: readonly string[]): Promise<string[]> {
  const wanted = new Set(paths.map((path) => fromRoot(prefix, path)));
  const isWanted = (name: string) => wanted.has('.') || aboveOf(name).some((one) => wanted.has(one));
  const changed = (await changedSinceCommit(folder)).filter(({ name }) => isWanted(name));
  const kept = changed.flatMap(({ name, isGone }) => (isGone ? [] : [name]));
  const [files, folders] = [new Set(kept), new Set(kept.flatMap((name) => aboveOf(name).slice(1)))];
  const goesByItself = (name: string) => folders.has(name) || aboveOf(name).some((one) => files.has(one));
  return changed.flatMap(({ name, isGone }) => (isGone && goesByItself(name) ? [] : [name]));
}

/** Returns the names, from the root of the work tree, of all that differs from the last commit. */
async function changedSinceCommit(folder: string): Promise<{ name: string; isGone: boolean }[]> {
  const last = await git(folder, ['rev-parse', '--verify', '--quiet', 'HEAD']).catch(() => null);
  const before = last ?? (await git(folder, ['hash-object', '-t', 'tree', '/dev/null']));
  // A user's setting would leave out what is not below the folder.
  const command = ['-c', 'diff.relative=false', 'diff'];
  const options = ['--name-status', '--no-renames', '--no-ext-diff', '--ignore-submodules=dirty', '-z'];
  const told = await git(folder, [...command, ...options, before, '--']);
  return [...told.matchAll(/([A-Z])\0([^\0]*)\0/g)].map(([, status = '', name = '']) => ({
    name,
    isGone: status === 'D',
  }));
}

function fromRoot(prefix: string, path: string): string {
  return posix.normalize(prefix + path).replace(/\/$/, '');
}

/** Returns a name and those of the folders above it. */
function aboveOf(name: string): string[] {
  const parts = name.split('/');
  return parts.map((_, index) => parts.slice(0, parts.length - index).join('/'));
}

/** Commits to another branch through a separate index, so that nothing is checked out. */
async function commitOnto(
  folder: string,
  repository: Repository,
  paths: readonly string[],
  message: string,
  branch: string,
): Promise<Commit> {
  await git(folder, ['check-ref-format', '--branch', branch]);
  const worktrees = await git(folder, ['worktree', 'list', '--porcelain']);
  if (worktrees.split('\n').includes(`branch refs/heads/${branch}`)) {
    throw new Error(`the branch ${branch} is checked out in another worktree`);
  }
  const ref = `refs/heads/${branch}`;
  return withIndex(repository, { copy: false }, async (own) => {
    const before = await git(folder, ['rev-parse', '--verify', '--quiet', ref]).catch(() => null);
    const parent = before ?? (await git(folder, ['rev-parse', '--verify', 'HEAD']));
    await git(folder, ['read-tree', parent], own);
    await addPaths(folder, paths, own);
    const tree = await git(folder, ['write-tree'], own);
    // As in a work tree: an interrupted call may already have committed.
    const isKept = tree === (await git(folder, ['rev-parse', `${parent}^{tree}`]));
    const signs = await git(folder, ['config', '--type=bool', '--default=false', 'commit.gpgSign']);
    const command = ['commit-tree', ...(signs === 'true' ? ['-S'] : []), tree, '-p', parent, '-m', message];
    const sha = isKept ? parent : await git(folder, command, own);
    // Updates the branch only if it has not moved in the meantime.
    await git(folder, ['update-ref', ref, sha, before ?? '0'.repeat(sha.length)]);
    return { ok: true, sha, branch };
  });
}
