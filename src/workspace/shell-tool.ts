import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { systemClock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { messageOf } from '../input/errors.ts';
import { longestMs, milliseconds } from '../input/shapes.ts';
import { endGroup, signalGroup, startGroup } from '../platform/node-only/process-groups.ts';
import { ToolError } from '../vocabulary/tool-error.ts';
import { allows, shellWords } from './allowed.ts';
import { onlyByDotGit } from './repositories.ts';

export type ShellToolOptions = {
  /** The directory in which commands start. A command can access other directories. */
  cwd: string;
  /**
   * The commands that run without approval: `npm test` allows exactly this command, `npm run *` any arguments, and `*` every
   * command. With some arguments, a program can write anywhere (`git diff --output`), so prefer complete commands. Default:
   * none. An unattended run denies all other commands.
   */
  allow?: readonly string[];
  /** The timeout of a command in ms, after which its process group is killed. Default: 120,000. */
  timeoutMs?: number;
  /** Environment variables in addition to a few harmless ones, such as `PATH` and `HOME`. Default: none. */
  env?: Readonly<Record<string, string>>;
};

const text = z.string().min(1);
const optionsSchema = z.strictObject({
  cwd: z.string({ error: 'the path of a directory' }).min(1, { error: 'the path of a directory' }),
  allow: z.array(text, { error: 'an array of commands such as `npm test`' }).default([]),
  timeoutMs: milliseconds.default(120_000),
  env: z.record(z.string(), z.string()).default({}),
} satisfies Record<keyof ShellToolOptions, z.ZodType>);

const description =
  'Runs a command in the directory and returns its exit code and output. A single command runs at once if it is allowed; anything with pipes, variables or redirections needs approval.';

/** Maximum characters of an output: half from the beginning, half from the end. */
const mostOutput = 200_000;

/**
 * Returns a tool that runs commands. A command that `allow` matches runs without approval. A single command runs without a
 * shell, so that its arguments have no special meaning. Throws `invalid_options`.
 */
export function shellTool(options: ShellToolOptions) {
  const { cwd, allow, timeoutMs, env } = check(optionsSchema, options, 'options', 'invalid_options');
  return {
    description,
    // Its own limit comes first, and keeps the output.
    timeoutMs: Math.min(timeoutMs + 2 * graceMs, longestMs),
    inputSchema: z.object({ command: z.string().min(1).max(10_000) }),
    needsApproval: ({ command }: { command: string }) => !allow.some((pattern) => allows(pattern, command)),
    execute: ({ command }: { command: string }, { abortSignal }: { abortSignal?: AbortSignal } = {}) => {
      const words = shellWords(command);
      const isProgram = words !== null && !builtIns.has(words[0] ?? '');
      const [file = '', ...args] = isProgram ? words : [shell, shellFlag, command];
      return run(file, args, { cwd, env: onlyByDotGit({ ...harmless(), ...env }), timeoutMs, signal: abortSignal });
    },
  };
}

const isWindows = process.platform === 'win32';
const [shell, shellFlag] = isWindows ? ['cmd.exe', '/c'] : ['/bin/sh', '-c'];

/** Commands that only a shell has. */
const builtIns = new Set(
  isWindows
    ? ['cd', 'copy', 'del', 'dir', 'echo', 'exit', 'md', 'mkdir', 'move', 'rd', 'ren', 'rmdir', 'set', 'type', 'ver']
    : ['.', 'alias', 'cd', 'command', 'eval', 'exit', 'export', 'set', 'source', 'type', 'ulimit', 'umask', 'unset'],
);

const harmlessNames = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TERM', 'TMPDIR', 'TZ'],
  ...['SYSTEMROOT', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'APPDATA', 'TEMP', 'TMP'],
];

/** Commands do not inherit the rest of the environment, which may contain keys. */
function harmless(): Record<string, string> {
  return Object.fromEntries(harmlessNames.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

type Limits = { cwd: string; env: NodeJS.ProcessEnv; timeoutMs: number; signal: AbortSignal | undefined };
type Ran = { exitCode: number | null; signal: string | null; stdout: string; stderr: string; note?: string };

const killedNote = 'A process that the command left running in the background was killed.';

function run(file: string, args: readonly string[], { cwd, env, timeoutMs, signal }: Limits): Promise<Ran> {
  return new Promise((resolve, reject) => {
    // A separate process group can be killed with everything in it.
    const child = startGroup(() =>
      spawn(file, args, { cwd, env, detached: !isWindows, stdio: ['ignore', 'pipe', 'pipe'] }),
    );
    const { pid } = child;
    const streams = [child.stdout, child.stderr];
    let [why, cancel]: [string | null, () => void] = [null, () => {}];
    const leave = () => {
      cancel();
      signal?.removeEventListener('abort', abort);
    };
    let isLeft = false;
    const endAll = () => {
      if (pid !== undefined) isLeft = signalGroup(pid, 'SIGKILL') || isLeft;
      // A process that left the group may keep them open.
      for (const stream of streams) stream?.destroy();
    };
    const kill = (reason: string) => {
      why ??= reason;
      endAll();
    };
    const abort = () => kill('The command was aborted.');
    child.once('error', (error) => {
      leave();
      const place = existsSync(cwd) ? '' : ` (${cwd} does not exist)`;
      reject(new ToolError(`${file} could not be run: ${messageOf(error)}${place}`));
    });
    const [stdout, stderr] = [new Output(child.stdout), new Output(child.stderr)];
    if (pid === undefined) return;
    cancel = systemClock.alarm(timeoutMs, () => kill(`The command was killed after ${timeoutMs} ms.`));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    child.once('exit', () => {
      cancel();
      // Background processes may write a little longer, but must not delay the result.
      cancel = systemClock.alarm(graceMs, endAll);
    });
    child.once('close', (exitCode, endedBy) => {
      leave();
      isLeft = endGroup(pid) || isLeft;
      const said = { stdout: stdout.text, stderr: stderr.text };
      if (why === null) resolve({ exitCode, signal: endedBy, ...said, ...(isLeft && { note: killedNote }) });
      else reject(new ToolError(why, said));
    });
  });
}

/** How long to read output after a command has exited, in ms. */
const graceMs = 500;

/** Keeps the beginning and the end of an output. */
class Output {
  private head = '';
  private tail = '';
  private leftOut = 0;

  constructor(stream: Readable | null) {
    stream?.setEncoding('utf8').on('data', (part: string) => this.add(part));
  }

  private add(part: string): void {
    const room = mostOutput / 2 - this.head.length;
    this.head += part.slice(0, Math.max(0, room));
    this.tail += part.slice(Math.max(0, room));
    const over = this.tail.length - mostOutput / 2;
    if (over <= mostOutput / 2) return;
    this.leftOut += over;
    this.tail = this.tail.slice(over);
  }

  get text(): string {
    const over = Math.max(0, this.tail.length - mostOutput / 2);
    const leftOut = this.leftOut + over;
    const gap = leftOut === 0 ? '' : `\n[${leftOut} characters left out]\n`;
    return `${this.head}${gap}${this.tail.slice(over)}`.toWellFormed();
  }
}
