import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { copyFileSync, existsSync, readdirSync, realpathSync, rmSync, statSync, utimesSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { eventLoopTurn, sleep, systemClock } from '../../host/clock.ts';
import { messageOf, PawlError } from '../../input/errors.ts';
import { isWithin } from '../../platform/node-only/paths.ts';
import { signalGroup } from '../../platform/node-only/process-groups.ts';
import { headOf } from '../../platform/text.ts';
import { redact } from '../../secrets/redact.ts';
import { onlyByDotGit } from '../../workspace/repositories.ts';

/** A hook may run tests, and a checkout may be large. */
const timeoutMs = 300_000;
/** How long git then has to remove its locks, in ms. */
const graceMs = 5_000;
/** How long git's output may stay open and silent after git has ended, in ms: a process that a hook left may hold it. */
const quietMs = 1_000;
/** How many times such an interval is waited for at most, whatever that process prints. */
const mostLooks = 5;
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

/** How many times a command is run at most when other git processes get in its way. */
const tries = 5;

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
  const command = args.find((one) => /^[a-z]/.test(one) && !one.includes('=')) ?? '';
  const hooks = await hookOptions(folder, command);
  for (let left = tries - 1; ; left -= 1) {
    const { code, stdout, stderr, why } = await ended([...hooks, ...args], {
      cwd: folder,
      env: { ...environment(), ...env },
      input,
    });
    if (code === 0 || fine.some((one) => one === code)) return stdout.replace(/\n+$/, '');
    if (left > 0 && (await othersAreDone(stderr, withHooks.has(command)))) continue;
    const printed = stderr.trim() || stdout.trim();
    const said = [why, printed].filter((text) => text !== '').join(': ') || `it ended with ${code}`;
    // It goes into reports and work items, and a hook may print anything (S-5).
    throw new Error(headOf(redact(`git ${command} failed: ${said}`), messageBytes));
  }
}

/** How long a lock is waited for. One that is older was probably left behind by a process that died. */
const lockMs = 60_000;
/** The interval at which a lock is looked for, in ms. */
const lookMs = 100;

/**
 * Whether git failed because of another git command, of a user, an editor or an agent, which has ended now. Waits for
 * one that holds a lock, such as that of the index.
 */
async function othersAreDone(stderr: string, mayRunHooks: boolean): Promise<boolean> {
  // Git reads the entries of all work trees without a lock: one that is being added or removed may be incomplete.
  if (/^fatal: failed to read .*\/commondir/m.test(stderr)) return true;
  const [, lock] = /^fatal: (?:cannot lock ref .*: )?Unable to create '(.+\.lock)': File exists/m.exec(stderr) ?? [];
  if (lock === undefined) return false;
  const age = ageOf(lock);
  // What a hook met was the lock of the command that ran it.
  if (age === null) return !mayRunHooks;
  for (let left = lockMs - age; left > 0; left -= lookMs) {
    if (ageOf(lock) === null) return true;
    await sleep(systemClock, lookMs);
  }
  return false;
}

/** Returns the age of a file in ms; null if it is gone. One that cannot be read is not waited for. */
function ageOf(path: string): number | null {
  try {
    const about = statSync(path, { throwIfNoEntry: false });
    return about === undefined ? null : Math.max(0, Date.now() - about.mtimeMs);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

type Ended = { code: number | null; stdout: string; stderr: string; why: string };

/**
 * Runs git to its end, in a process group of its own: an interruption at the keyboard is for the run, which ends when what it
 * has begun is done.
 */
async function ended(
  args: readonly string[],
  { input, ...options }: { cwd: string; env: NodeJS.ProcessEnv; input: string },
): Promise<Ended> {
  const child = spawn('git', args, { ...options, detached: process.platform !== 'win32' });
  // A command that fails, or needs no input, may not read it.
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr] = [read(child.stdout), read(child.stderr)];
  const over = new AbortController();
  let why = '';
  let stop = systemClock.alarm(timeoutMs, () => {
    why = `it took more than ${timeoutMs / 1_000} s`;
    const signal = (name: NodeJS.Signals) => child.pid !== undefined && signalGroup(child.pid, name);
    // Git removes its locks on SIGTERM.
    signal('SIGTERM');
    stop = systemClock.alarm(graceMs, () => signal('SIGKILL'));
  });
  const end = new Promise<number | null>((resolve, reject) => {
    for (const source of [child, child.stdout, child.stderr]) source.once('error', reject);
    child.once('close', resolve);
    child.once('exit', (code) => {
      const size = () => stdout.chunks.length + stderr.chunks.length;
      void quiet(size, over.signal).then(() => resolve(code));
    });
  });
  try {
    const code = await end;
    return { code, stdout: stdout.text(), stderr: stderr.text(), why };
  } catch (error) {
    return { code: null, stdout: '', stderr: '', why: messageOf(error) };
  } finally {
    over.abort();
    stop();
    for (const output of [stdout, stderr]) output.leave();
  }
}

/** Resolves when nothing more comes of the output of a git that has ended, though something holds it open. */
async function quiet(size: () => number, signal: AbortSignal): Promise<void> {
  for (let looks = 0; looks < mostLooks && !signal.aborted; looks += 1) {
    const before = size();
    await sleep(systemClock, quietMs, signal);
    // What has come meanwhile is read first.
    await eventLoopTurn();
    if (size() === before) return;
  }
}

type Output = { chunks: readonly Buffer[]; text(): string; leave(): void };

/** Reads what git prints. A process that is left may go on printing: then nothing is kept of it, and it is not broken off. */
function read(stream: Socket | Readable): Output {
  const chunks: Buffer[] = [];
  const keep = (chunk: Buffer) => chunks.push(chunk);
  stream.on('data', keep);
  return {
    chunks,
    text: () => Buffer.concat(chunks).toString('utf8'),
    leave: () => {
      stream.off('data', keep).resume();
      if ('unref' in stream) stream.unref();
    },
  };
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

/** No prompts, untranslated messages, and no lock on the index for a command that only reads: others could not commit. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !ignored.has(name));
  return onlyByDotGit({ ...Object.fromEntries(own), GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' });
}

/** Calls `work` with the environment for a temporary index. Starting from a `copy` of the real index is faster. */
export async function withIndex<T>(
  { gitFolder }: Repository,
  { copy }: { copy: boolean },
  work: (env: { GIT_INDEX_FILE: string }) => Promise<T>,
): Promise<T> {
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
  const { gitFolder } = (await openRepository(folder).catch(() => null)) ?? {};
  if (gitFolder === undefined) return;
  const names = readdirSync(gitFolder).filter((name) => /^pawl-[0-9a-f]{12}\.index/.test(name));
  for (const path of names.map((name) => join(gitFolder, name))) {
    // Another process may be using it.
    const isOld = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now()) > timeoutMs;
    if (isOld) rmSync(path, { force: true });
  }
}

/** Returns a short human-readable `git status`, or an error message if there is no repository or no git. */
export async function gitStatus(folder: string): Promise<string> {
  try {
    return await git(folder, ['status', '--short', '--branch', '--', '.']);
  } catch (error) {
    return messageOf(error);
  }
}

/** Where a folder is in the repository that contains it. */
export type Repository = {
  /** The root of the work tree, absolute. */
  root: string;
  /** Where git keeps what is of this work tree alone, such as its index; absolute. */
  gitFolder: string;
  /** The folder below the root: empty for the root itself, or with a slash at its end. */
  prefix: string;
};

/** Returns the repository that contains a folder. It asks git once, since to start it costs more than the questions. */
export async function openRepository(folder: string): Promise<Repository> {
  const told = await git(folder, ['rev-parse', '--show-toplevel', '--absolute-git-dir', '--show-prefix']);
  const [root = '', gitFolder = '', ...prefix] = told.split('\n');
  return { root, gitFolder, prefix: prefix.join('\n') };
}

/**
 * Returns the repository that contains a folder; null if the folder is in none. Throws if it is in one that git does not
 * open, since it belongs to another user.
 */
export function repositoryOf(folder: string): Promise<Repository | null> {
  return openRepository(folder).catch((error) => {
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
