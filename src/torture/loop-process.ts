import { spawn } from 'node:child_process';
import { systemClock } from '../host/clock.ts';
import { PawlError } from '../input/errors.ts';
import { endGroup, startGroup } from '../platform/node-only/process-groups.ts';
import type { Wire } from '../testing/model-server.ts';
import type { LoopEnd } from './judge.ts';
import type { WorldTool } from './world.ts';

/** What the loop finds in `TORTURE_TASK`, as JSON. */
export type TortureTask = {
  id: string;
  instructions: string;
  prompt: string;
  /** `POST toolUrl/NAME` with the input makes a call. */
  tools: readonly WorldTool[];
  toolUrl: string;
  /** The base URL of the model's server, and the name of the model. It takes any key. */
  baseUrl: string;
  model: string;
  wire: Wire;
  maxRequests: number;
  settings: string;
  /** A folder that is the same for each run of the task, and how often it was started. */
  state: string;
  run: number;
};

/** How long the output of a loop that has ended may stay open, in ms. */
const holdMs = 500;

/** Characters of the output that are kept: the last line counts. */
const mostOutput = 1_000_000;

/** Runs the loop once. `killable` is given what kills it. */
export function runOf(
  {
    command: [program = '', ...args],
    timeoutMs,
    signal,
  }: { command: readonly string[]; timeoutMs: number; signal?: AbortSignal | undefined },
  task: TortureTask,
  killable: (kill: () => void) => void,
): Promise<LoopEnd> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, TORTURE_TASK: JSON.stringify(task) };
    // A group of its own: a loop may be started by a shell, or by a tool such as npx.
    const child = startGroup(() => spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true }));
    let [output, errors] = ['', ''];
    let [isKilled, isLate] = [false, false];
    const end = () => {
      if (child.pid !== undefined) endGroup(child.pid);
    };
    const inTime = systemClock.alarm(timeoutMs, () => {
      isLate = true;
      end();
    });
    signal?.addEventListener('abort', end, { once: true });
    killable(() => {
      isKilled = true;
      end();
    });
    child.stdout.setEncoding('utf8').on('data', (data) => {
      output = `${output}${data}`.slice(-mostOutput);
    });
    child.stderr.setEncoding('utf8').on('data', (data) => {
      errors = `${errors}${data}`.slice(-mostOutput);
    });
    child.once('error', ({ message }) => {
      reject(new PawlError('invalid_options', `options.command: \`${program}\` does not start: ${message}`));
    });
    // What it leaves behind ends with it; what has left its group may hold its output open.
    child.once('exit', () => {
      end();
      systemClock.alarm(holdMs, () => {
        child.stdout.destroy();
        child.stderr.destroy();
      });
    });
    child.once('close', (code) => {
      inTime();
      signal?.removeEventListener('abort', end);
      if (isLate) resolve(null);
      else resolve(isKilled ? 'killed' : endOf(code, output, errors));
    });
  });
}

/** What the last line says: `{"status":"done"|"failed","answer":"…"}`. A loop that gives no such line has failed. */
function endOf(code: number | null, output: string, errors: string): LoopEnd {
  const last = output.trim().split('\n').at(-1) ?? '';
  const failed = (why: string) => ({ status: 'failed', answer: why.trim().slice(-500) }) as const;
  if (code !== 0) return failed(errors === '' ? `exit code ${code}` : errors);
  try {
    const { status, answer = '' } = JSON.parse(last);
    if (status === 'done' || status === 'failed') return { status, answer: String(answer).slice(0, 500) };
  } catch {
    // Said below.
  }
  return failed(`the last line says no status: ${last}`);
}
