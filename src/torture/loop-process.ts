import { spawn } from 'node:child_process';
import { systemClock } from '../host/clock.ts';
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

/** Characters of the output that are kept: the last line counts. */
const mostOutput = 1_000_000;

/** Runs the loop once. `killable` is given what kills it. */
export function runOf(
  { command: [program = '', ...args], timeoutMs }: { command: readonly string[]; timeoutMs: number },
  task: TortureTask,
  killable: (kill: () => void) => void,
): Promise<LoopEnd> {
  return new Promise((resolve) => {
    const env = { ...process.env, TORTURE_TASK: JSON.stringify(task) };
    // A group of its own: a loop may be started by a shell, or by a tool such as npx.
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    let [output, errors] = ['', ''];
    let [isKilled, isLate] = [false, false];
    const killAll = () => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended already.
      }
    };
    process.once('exit', killAll);
    const inTime = systemClock.alarm(timeoutMs, () => {
      isLate = true;
      killAll();
    });
    killable(() => {
      isKilled = true;
      killAll();
    });
    child.stdout.setEncoding('utf8').on('data', (data) => {
      output = `${output}${data}`.slice(-mostOutput);
    });
    child.stderr.setEncoding('utf8').on('data', (data) => {
      errors = `${errors}${data}`.slice(-mostOutput);
    });
    child.once('error', (error) => {
      errors = error.message;
    });
    // What it leaves behind ends with it.
    child.once('exit', killAll);
    child.once('close', (code) => {
      inTime();
      process.off('exit', killAll);
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
