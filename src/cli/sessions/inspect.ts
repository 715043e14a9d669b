import { existsSync, readFileSync } from 'node:fs';
import type { Journal, JournalEntry, SessionChange } from '../../journal/journal.ts';
import { MemoryJournal } from '../../journal/memory.ts';
import { sqliteJournal } from '../../journal/sqlite.ts';
import { readTape } from '../../journal/tape.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { openInspector } from '../session-page.ts';
import { journalFile } from './journal.ts';

/** `pawl inspect`: shows a journal, or an exported session, in a page until Ctrl-C. */
export async function inspectCommand([file, ...rest]: readonly string[], flags: Flags): Promise<number> {
  if (rest.length > 0) throw new UsageError(`Pass one journal or exported session; got ${[file, ...rest].join(' ')}.`);
  if (file !== undefined && !existsSync(file)) throw new UsageError(`There is no file ${file}.`);
  const journal = isTape(file) ? await tapeJournal(file) : sqliteJournal(journalFile({ ...flags, journal: file }));
  const shown = await openInspector(flags, journal);
  process.stderr.write(`Open this in a browser: ${shown.address}\nPress Ctrl-C to end.\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
  });
  await shown.close();
  await journal.close();
  return exitCodes.succeeded;
}

/** A SQLite file begins with its name; an exported session is text. */
function isTape(file: string | undefined): file is string {
  return file !== undefined && readFileSync(file).subarray(0, 6).toString() !== 'SQLite';
}

async function tapeJournal(file: string): Promise<Journal> {
  const entries = readTape(readFileSync(file, 'utf8'));
  const [first] = entries;
  if (first?.type !== 'started') throw new UsageError(`${file} is no session.`);
  const { sessionId, agent, metadata } = first.head;
  const journal = new MemoryJournal();
  await journal.create({ sessionId, agent, metadata }, { owner: 'file', entries, change: endOf(entries) });
  await journal.release(sessionId, 'file');
  return journal;
}

/** How the session ended, as its last facts say. */
function endOf(entries: readonly JournalEntry[]): SessionChange {
  const told = entries.flatMap((one) => (one.type === 'stepped' && one.scope === '' ? one.facts.split(' ') : []));
  const [, status] = /^session\.(succeeded|failed|aborted)$/.exec(told.at(-1) ?? '') ?? [];
  return status === 'succeeded' || status === 'failed' || status === 'aborted' ? { status } : {};
}
