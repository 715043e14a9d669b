import { spawn } from 'node:child_process';
import { z } from 'zod';
import { check } from '../agent/check.ts';
import { messageOf } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import { ToolError } from '../tools/result.ts';
import { allows, wordsOf } from './allowed.ts';

export type ShellToolOptions = {
  /** The directory in which commands run. A command can leave it. */
  cwd: string;
  /**
   * The commands that run without approval: `npm test` is just that, `git diff *` any arguments, `*` everything. Default:
   * none, so that every command asks; in an unattended run, it is denied.
   */
  allow?: readonly string[];
  /** The time for a command, in ms; then it is killed, with all that it started. Default: 120,000. */
  timeoutMs?: number;
  /** Environment variables of the commands, beside a few harmless ones such as `PATH` and `HOME`. */
  env?: Readonly<Record<string, string>>;
};

const text = z.string().min(1);
const optionsSchema = z.strictObject({
  cwd: z.string({ error: 'the path of a directory' }).min(1, { error: 'the path of a directory' }),
  allow: z.array(text, { error: 'an array of commands such as `npm test`' }).default([]),
  timeoutMs: z.int({ error: 'ms of at least 1' }).min(1, { error: 'ms of at least 1' }).default(120_000),
  env: z.record(z.string(), z.string()).default({}),
} satisfies Record<keyof ShellToolOptions, z.ZodType>);

const description =
  'Runs a command in the directory and returns its exit code and output. A single command runs at once if it is allowed; anything with pipes, variables or redirections needs approval.';

/** Characters of an output that are kept, half of them from its end. */
const mostOutput = 200_000;

/**
 * Returns a tool that runs commands. One that `allow` names runs without a shell, so that nothing in it means more than it
 * says; any other needs approval first. Throws `invalid_options`.
 */
export function shellTool(options: ShellToolOptions) {
  const { cwd, allow, timeoutMs, env } = check(optionsSchema, options, 'options', 'invalid_options');
  return {
    description,
    inputSchema: z.object({ command: z.string().min(1).max(10_000) }),
    needsApproval: ({ command }: { command: string }) => !allow.some((pattern) => allows(pattern, command)),
    execute: ({ command }: { command: string }, { abortSignal }: { abortSignal?: AbortSignal } = {}) => {
      const [file = '', ...args] = wordsOf(command) ?? [shell, shellFlag, command];
      return run(file, args, { cwd, env: { ...harmless(), ...env }, timeoutMs, signal: abortSignal });
    },
  };
}

const isWindows = process.platform === 'win32';
const [shell, shellFlag] = isWindows ? ['cmd.exe', '/c'] : ['/bin/sh', '-c'];

const harmlessNames = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TERM', 'TMPDIR', 'TZ'],
  ...['SYSTEMROOT', 'COMSPEC', 'PATHEXT', 'USERPROFILE', 'APPDATA', 'TEMP', 'TMP'],
];

/** The environment holds keys, which no command gets unasked. */
function harmless(): Record<string, string> {
  return Object.fromEntries(harmlessNames.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

type Limits = { cwd: string; env: Record<string, string>; timeoutMs: number; signal: AbortSignal | undefined };
type Ran = { exitCode: number | null; signal: string | null; stdout: string; stderr: string };

function run(file: string, args: readonly string[], { cwd, env, timeoutMs, signal }: Limits): Promise<Ran> {
  return new Promise((resolve, reject) => {
    // A group of its own, so that all that it starts ends with it.
    const child = spawn(file, args, { cwd, env, detached: !isWindows, stdio: ['ignore', 'pipe', 'pipe'] });
    const [stdout, stderr] = [new Output(), new Output()];
    child.stdout.setEncoding('utf8').on('data', (part: string) => stdout.add(part));
    child.stderr.setEncoding('utf8').on('data', (part: string) => stderr.add(part));
    const said = () => ({ stdout: stdout.text, stderr: stderr.text });
    let why: string | null = null;
    const kill = (reason: string) => {
      why ??= reason;
      end(child.pid);
      // A grandchild in a group of its own may hold them open.
      child.stdout.destroy();
      child.stderr.destroy();
    };
    const abort = () => kill('The command was aborted.');
    const cancel = systemClock.alarm(timeoutMs, () => kill(`The command was killed after ${timeoutMs} ms.`));
    signal?.addEventListener('abort', abort, { once: true });
    if (signal?.aborted) abort();
    const leave = () => {
      cancel();
      signal?.removeEventListener('abort', abort);
    };
    child.once('error', (error) => {
      leave();
      reject(new ToolError(`${file} could not be run: ${messageOf(error)}`));
    });
    child.once('close', (exitCode, endedBy) => {
      leave();
      // What it left behind in its group would keep running.
      end(child.pid);
      if (why === null) resolve({ exitCode, signal: endedBy, ...said() });
      else reject(new ToolError(why, said()));
    });
  });
}

function end(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(isWindows ? pid : -pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

/** The beginning and the end of an output. */
class Output {
  private head = '';
  private tail = '';
  private leftOut = 0;

  add(part: string): void {
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
