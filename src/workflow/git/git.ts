import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, realpathSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { redact } from '../../agent/redact.ts';
import { messageOf, PawlError } from '../../errors.ts';
import { isWithin } from '../../platform/paths.ts';
import { headOf } from '../../text.ts';

const run = promisify(execFile);
/** A hook may run tests, and a checkout may be large. */
const timeoutMs = 300_000;
/** The most of git's message that is told, in bytes. */
const messageBytes = 4_000;

/** The commands for which the hooks of the user run. */
const withHooks = new Set(['commit', 'update-ref']);
/** Other commands that could run hooks, on what belongs to a run. */
const withoutHooks = new Set(['add', 'read-tree', 'reset', 'status', 'update-index', 'worktree', 'write-tree']);
const noHooks = ['-c', 'core.hooksPath=/dev/null'];

async function hookOptions(folder: string, command: string): Promise<string[]> {
  if (withHooks.has(command)) return trustedHooks(folder);
  return withoutHooks.has(command) ? noHooks : [];
}

/**
 * Runs git without a shell and returns its output. If git fails, the error contains its message. Exit codes in `fine`
 * count as success. `input` is what it reads.
 */
export async function git(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
  { fine = [], input = '' }: { fine?: readonly number[]; input?: string } = {},
): Promise<string> {
  const hooks = await hookOptions(folder, args[0] ?? '');
  try {
    const running = run('git', [...hooks, ...args], {
      cwd: folder,
      timeout: timeoutMs,
      maxBuffer: 64 * 1024 * 1024,
      env: { ...environment(), ...env },
    });
    // A command that fails, or needs no input, may not read it.
    running.child.stdin?.on('error', () => undefined).end(input);
    const { stdout } = await running;
    return stdout.replace(/\n+$/, '');
  } catch (error) {
    if (error instanceof Error && 'code' in error && fine.some((code) => code === error.code))
      return String(Reflect.get(error, 'stdout') ?? '').replace(/\n+$/, '');
    const said =
      error instanceof Error
        ? (['stderr', 'stdout']
            .map((stream) => String(Reflect.get(error, stream) ?? '').trim())
            .find((text) => text !== '') ?? '')
        : '';
    const command = args.find((one) => /^[a-z]/.test(one) && !one.includes('=')) ?? '';
    // It goes into reports and work items, and a hook may print anything (S-5).
    throw new Error(headOf(redact(`git ${command} failed: ${said === '' ? messageOf(error) : said}`), messageBytes));
  }
}

/** The environment in which paths are names of files, not patterns. */
export const literal = { GIT_LITERAL_PATHSPECS: '1' };

/** What points git at another repository, or changes how it works, such as a hook's. A run's commands do not see it. */
const ignored = new Set(
  [
    ...['DIR', 'WORK_TREE', 'IMPLICIT_WORK_TREE', 'COMMON_DIR', 'INDEX_FILE', 'PREFIX', 'NAMESPACE', 'SHALLOW_FILE'],
    ...['CONFIG', 'CONFIG_PARAMETERS', 'NO_REPLACE_OBJECTS', 'REPLACE_REF_BASE', 'AUTHOR_DATE', 'COMMITTER_DATE'],
    ...['OBJECT_DIRECTORY', 'ALTERNATE_OBJECT_DIRECTORIES', 'QUARANTINE_PATH', 'GRAFT_FILE'],
    ...['LITERAL_PATHSPECS', 'GLOB_PATHSPECS', 'NOGLOB_PATHSPECS', 'ICASE_PATHSPECS'],
  ].map((name) => `GIT_${name}`),
);

/** No prompts, and untranslated messages. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !ignored.has(name));
  return { ...Object.fromEntries(own), GIT_TERMINAL_PROMPT: '0', LC_ALL: 'C' };
}

/** Calls `work` with the environment for a temporary index. Starting from a `copy` of the real index is faster. */
export async function withIndex<T>(
  folder: string,
  { copy }: { copy: boolean },
  work: (env: { GIT_INDEX_FILE: string }) => Promise<T>,
): Promise<T> {
  const gitFolder = await git(folder, ['rev-parse', '--absolute-git-dir']);
  const index = join(gitFolder, `pawl-${randomBytes(6).toString('hex')}.index`);
  try {
    if (copy) copyIndex(join(gitFolder, 'index'), index);
    return await work({ GIT_INDEX_FILE: index });
  } finally {
    rmSync(index, { force: true });
  }
}

/**
 * Copies an index with its time. Git looks into a file only if it may have changed since its entry was written, and tells
 * that by the time of the index: with a later one, a change of the same size within the same second is missed.
 */
function copyIndex(from: string, to: string): void {
  const about = statSync(from, { throwIfNoEntry: false });
  if (about === undefined) return;
  copyFileSync(from, to);
  utimesSync(to, about.atime, about.mtime);
}

/** Removes the temporary indexes of processes that died. */
export async function sweepIndexes(folder: string): Promise<void> {
  const gitFolder = await git(folder, ['rev-parse', '--absolute-git-dir']).catch(() => null);
  const names =
    gitFolder === null ? [] : readdirSync(gitFolder).filter((name) => /^pawl-[0-9a-f]{12}\.index/.test(name));
  for (const path of names.map((name) => join(gitFolder ?? '', name))) {
    // Another process may be using it.
    const isOld = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > timeoutMs;
    if (isOld) rmSync(path, { force: true });
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

/**
 * Returns the root of the repository that contains a folder; null if the folder is in no repository. Throws if it is in one
 * that git does not open, since it belongs to another user.
 */
export function repositoryOf(folder: string): Promise<string | null> {
  return git(folder, ['rev-parse', '--show-toplevel']).catch((error) => {
    const message = messageOf(error);
    if (/dubious ownership/.test(message)) throw new PawlError('invalid_workflow', message, { cause: error });
    return null;
  });
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
  return isWritable ? noHooks : [];
}
