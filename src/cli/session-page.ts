import { accessSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Agent } from '../agent/definition.ts';
import { reasonOf } from '../input/errors.ts';
import type { Inspector } from '../inspect/inspector.ts';
import type { Journal } from '../journal/journal.ts';
import { unknownSession } from '../journal/journal-errors.ts';
import { type Flags, UsageError } from './command-line.ts';

/** Returns a session as a page in one file. */
export async function sessionPage(journal: Journal, sessionId: string): Promise<string> {
  const { sessionFile } = await import('../inspect/tape/session-file.ts');
  const entries = await journal.read(sessionId);
  if (entries.length === 0) throw unknownSession(sessionId);
  return sessionFile(entries);
}

/** Shows the sessions of a journal, or of this process, in a page on this machine. */
export async function openInspector(
  { port = 0 }: Flags,
  journal: Journal | undefined,
  agents: readonly Agent[] = [],
): Promise<Inspector> {
  const { inspector } = await import('../inspect/inspector.ts');
  return inspector({ port, agents, ...(journal !== undefined && { journal }) });
}

/** Says where a page is, which outlives its session only if stderr is a terminal. */
export function tellPage(address: string | null): void {
  const how = process.stderr.isTTY === true ? '' : ' (until the session ends: this is no terminal)';
  process.stderr.write(`Open this in a browser${how}: ${address}\n`);
}

/** Keeps a page open until Ctrl-C if stderr is a terminal. */
export async function keepOpenUntilInterrupted(address: string | null): Promise<void> {
  if (address === null || process.stderr.isTTY !== true) return;
  await untilInterrupted(`The page stays open at ${address}. Press Ctrl-C to close it.`);
}

/**
 * Resolves on SIGINT or SIGTERM.
 * `notice` is written to stderr once both are listened to, since whoever reads it may send one at once.
 */
export async function untilInterrupted(notice: string): Promise<void> {
  const interrupted = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  process.stderr.write(`${notice}\n`);
  await interrupted;
}

/** Refuses a file that could not be written, before anything is spent on what it is for. */
export function checkWritable(file: string): void {
  try {
    const found = statSync(file, { throwIfNoEntry: false });
    if (found?.isDirectory()) throw new Error('it is a folder');
    const folder = dirname(file);
    if (!statSync(folder).isDirectory()) throw new Error(`${folder} is no folder`);
    accessSync(found === undefined ? folder : file, constants.W_OK);
  } catch (error) {
    throw new UsageError(`${file} cannot be written: ${reasonOf(error)}.`);
  }
}

export function writeFile(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new UsageError(`${file} cannot be written: ${reasonOf(error)}.`);
  }
}
