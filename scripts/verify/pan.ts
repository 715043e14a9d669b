import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The SPIN model of a session. */
export const model = 'test/spin/session.pml';

type Search = {
  /** The files by name; `session.pml` is the model. */
  files: Record<string, string>;
  /** The model's constants. */
  constants: Record<string, number>;
  /** Options of SPIN, of the compiler and of the search. */
  flags?: string[];
  compile: string[];
  search: string[];
};

/** Lets SPIN search the states of a model. Returns its report, and throws an error if the search is not whole. */
export function searched({ files, constants, flags = [], compile, search }: Search): string {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-spin-'));
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 });
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const sized = Object.entries(constants).map(([constant, value]) => `-D${constant}=${value}`);
    run('spin', ...flags, ...sized, '-a', 'session.pml');
    run('gcc', ...compile, '-DCOLLAPSE', '-o', 'pan', 'pan.c');
    const report = run('./pan', ...search);
    if (!/errors: \d+/.test(report) || report.includes('max search depth too small'))
      throw new Error(`SPIN did not search all states: ${report}`);
    return report;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
