import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, reasonOf } from '../../input/errors.ts';
import { MicrostepReplay } from '../../inspect/recorded/microstep-replay.ts';
import { ShownRecording } from '../../inspect/recorded/shown-recording.ts';
import type { Journal, SessionStatus } from '../../journal/journal.ts';
import { MemoryJournal } from '../../journal/memory.ts';
import { readTape } from '../../journal/tape.ts';
import { exitCodes, type Flags, UsageError } from '../command-line.ts';
import { openInspector, untilInterrupted } from '../session-page.ts';
import { journalFile, openJournal } from './opened-journal.ts';

/** `pawl inspect`: shows a journal, or exported sessions, in a page until Ctrl-C. */
export async function inspectCommand([file, ...rest]: readonly string[], flags: Flags): Promise<number> {
  if (rest.length > 0)
    throw new UsageError(`Pass one journal, exported session or folder; got ${[file, ...rest].join(' ')}.`);
  if (file !== undefined && !existsSync(file)) throw new UsageError(`There is no file ${file}.`);
  const journal = await journalOf(file, flags);
  const shown = await openInspector(flags, journal);
  await untilInterrupted(`Open this in a browser: ${shown.address}\nPress Ctrl-C to end.`);
  await shown.close();
  await journal.close();
  return exitCodes.succeeded;
}

/** A journal; or one in memory with the exported sessions of a file, or of a folder. */
async function journalOf(file: string | undefined, flags: Flags): Promise<Journal> {
  if (file === undefined || !(statSync(file).isDirectory() || isTape(file)))
    return openJournal(journalFile({ ...flags, journal: file ?? flags.journal }));
  const tapes = statSync(file).isDirectory()
    ? readdirSync(file).flatMap((name) => (name.endsWith('.jsonl') ? [join(file, name)] : []))
    : [file];
  if (tapes.length === 0) throw new UsageError(`The folder ${file} holds no exported session (NAME.jsonl).`);
  const journal = new MemoryJournal();
  for (const tape of tapes) loadTape(journal, tape);
  return journal;
}

/** A SQLite file begins with its name; an exported session is text. */
function isTape(file: string): boolean {
  const begin = Buffer.alloc(6);
  const opened = openSync(file, 'r');
  readSync(opened, begin);
  closeSync(opened);
  return begin.toString() !== 'SQLite';
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${reasonOf(error)}.`);
  }
}

function loadTape(journal: MemoryJournal, file: string): void {
  const entries = readTape(textOf(file));
  const recorded = new ShownRecording();
  try {
    recorded.takePart(new MicrostepReplay().play(entries));
  } catch (error) {
    throw new UsageError(`${file} cannot be shown: ${messageOf(error)}`);
  }
  const head = recorded.heads.get('');
  if (head === undefined) throw new UsageError(`${file} is not an exported session.`);
  const { root } = recorded.rows;
  const [, status = 'suspended'] =
    /^session\.(succeeded|failed|aborted)$/.exec(recorded.microsteps.at(-1)?.states.at(0) ?? '') ?? [];
  const { sessionId, agent, metadata, input } = head;
  const slugs = root?.slugs ?? [];
  const times = { createdAt: input.at, updatedAt: recorded.told.at(-1)?.at ?? input.at };
  const row = { sessionId, agent, metadata, slugs, waiting: [], waitingCalls: [], ...times, entries: entries.length };
  journal.load({ ...row, status: status as SessionStatus }, entries);
}
