import { spawn } from 'node:child_process';

type Finished = { code: number | null; stdout: string; stderr: string };

/** Runs the command as a process of its own; `during` may send it a signal. */
export function pawl(
  args: readonly string[],
  during?: (kill: (signal: NodeJS.Signals) => void, stdout: string) => void,
): Promise<Finished> {
  const { ANTHROPIC_API_KEY: _, OPENAI_API_KEY: __, GOOGLE_GENERATIVE_AI_API_KEY: ___, ...env } = process.env;
  const child = spawn(process.execPath, ['src/cli/main.ts', ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const finished: Finished = { code: null, stdout: '', stderr: '' };
  let killed = false;
  const kill = (signal: NodeJS.Signals) => {
    if (!killed) killed = child.kill(signal);
  };
  child.stdout.on('data', (data) => {
    finished.stdout += data;
    during?.(kill, finished.stdout);
  });
  child.stderr.on('data', (data) => {
    finished.stderr += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ ...finished, code })));
}
