import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { McpServerConfig } from '../../src/index.ts';
import { callsIn, type Run } from './session.ts';

export const faultyFile = join(import.meta.dirname, './faulty-mcp.ts');

/** Identifies this file's servers in the process list. */
export const mark = `pawl-test-${process.pid}`;

export const odd = (...flags: string[]): McpServerConfig => ({
  command: process.execPath,
  args: [faultyFile, '--stdio', mark, ...flags],
});

/** A server that writes `before` characters and its secret to stderr, and exits. */
export const leaking = (secret: string, before = 0) => ({
  command: process.execPath,
  env: { API_KEY: secret },
  args: [
    '-e',
    `process.stderr.write('x '.repeat(${before / 2}) + process.env.API_KEY + '\\n'); setTimeout(() => process.exit(1), 50)`,
  ],
});

export const call = (name: string, input: unknown = {}) => ({ name, input });

/** Lists the processes of this file's servers and their process groups. */
export function running(): string[] {
  const lines = execFileSync('ps', ['-eo', 'pid,pgid,args'], { encoding: 'utf8' }).split('\n');
  const leaders = lines.filter((line) => line.includes(mark) && !line.includes('vitest'));
  const groups = leaders.map((line) => line.trim().split(/\s+/)[1]);
  return lines.filter((line) => groups.includes(line.trim().split(/\s+/)[1]));
}

export const texts = (run: Run) =>
  callsIn(run.result).map(({ output }) =>
    output.type === 'text' || output.type === 'error-text' ? output.value : output.type,
  );

export const slugsOf = (run: Run) => callsIn(run.result).map(({ slug }) => slug);
