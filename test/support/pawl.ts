import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { screenOf } from './screen.ts';

/** The built command, which starts faster; a copy of the sources alone has none. */
const built = 'dist/src/cli/main.js';
export const command = existsSync(built) ? built : 'src/cli/main.ts';

/** Keys of providers, and what decides about colours: a test of the command says these for itself. */
const unset = [
  ...['ANTHROPIC_API_KEY', 'OPENAI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
  ...['CI', 'COLORTERM', 'FORCE_COLOR', 'NO_COLOR', 'NODE_DISABLE_COLORS', 'TMUX'],
];

/** The same environment on every machine, and `more`. */
function environment(more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !unset.includes(name));
  return { ...Object.fromEntries(kept), TERM: 'xterm-256color', ...more };
}

type Finished = { code: number | null; stdout: string; stderr: string };

/** Runs the command in a separate process; `during` may send it a signal. `leavesAtOnce` closes the pipe of its output. */
export function pawl(
  args: readonly string[],
  during?: (kill: (signal: NodeJS.Signals) => void, stdout: string) => void,
  { input, env, leavesAtOnce = false }: { input?: string; env?: Record<string, string>; leavesAtOnce?: boolean } = {},
): Promise<Finished> {
  const child = spawn(process.execPath, [command, ...args], { env: environment(env) });
  child.stdin.end(input);
  const finished: Finished = { code: null, stdout: '', stderr: '' };
  let killed = false;
  const kill = (signal: NodeJS.Signals) => {
    if (!killed) killed = child.kill(signal);
  };
  child.stdout.on('data', (data) => {
    finished.stdout += data;
    during?.(kill, finished.stdout);
    if (leavesAtOnce) child.stdout.destroy();
  });
  child.stderr.on('data', (data) => {
    finished.stderr += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...finished, code })));
}

type During = (type: (keys: string) => void, written: string, close: () => void) => void;

/** Types `keys[n]` at the `n`th prompt that is `text`, once; null types nothing there. */
export function atPrompts(text: string, ...keys: readonly (string | null)[]): During {
  let seen = 0;
  return (type, written) => {
    const prompts = written.split(text).length - 1;
    for (; seen < prompts; seen += 1) {
      const typed = keys[seen] ?? null;
      if (typed !== null) type(typed);
    }
  };
}

/**
 * Runs the command on a terminal with `columns` columns. Returns all output and the final screen. `during` gets the
 * output so far, and may type keys or close the terminal.
 */
export async function pawlOnTerminal(
  args: readonly string[],
  during: During | readonly During[] = [],
  columns = 100,
  env?: Record<string, string>,
): Promise<{ code: number | null; written: string; screen: string }> {
  const quoted = [process.execPath, command, ...args].map((one) => `'${one.replaceAll("'", "'\\''")}'`);
  const child = spawn('script', ['-qec', `stty cols ${columns} rows 40; exec ${quoted.join(' ')}`, '/dev/null'], {
    env: environment(env),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (data) => {
    written += data;
    for (const each of [during].flat())
      each(
        (keys) => child.stdin.write(keys),
        written,
        () => child.kill('SIGKILL'),
      );
  });
  const code: number | null = await new Promise((resolve) => child.on('close', resolve));
  return { code, written, screen: screenOf(written).join('\n') };
}

/** Starts the command in a process group of its own, as a terminal does; `interrupt` signals all of the group. */
export function pawlInGroup(args: readonly string[]) {
  const child = spawn(process.execPath, [command, ...args], { env: environment(), detached: true, stdio: 'ignore' });
  const code = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { code, interrupt: () => process.kill(-(child.pid ?? 0), 'SIGINT') };
}

/** Starts a command that runs until it is interrupted. `said` resolves with the first match in its stderr. */
export function startPawl(args: readonly string[]) {
  const child = spawn(process.execPath, [command, ...args], {
    env: environment(),
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.on('close', resolve));
  let text = '';
  return {
    code,
    interrupt: () => child.kill('SIGINT'),
    said: async (pattern: RegExp): Promise<RegExpExecArray | null> => {
      for await (const data of child.stderr) {
        text += data;
        const found = pattern.exec(text);
        if (found !== null) return found;
      }
      return null;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await code;
    },
  };
}
