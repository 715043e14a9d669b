import { messageOf, PawlError } from '../input/errors.ts';
import { type JournalEntry, journalFormat } from './journal.ts';

/** The first line of a tape. */
type TapeHead = { pawl: 'session'; format: number };

/** Returns a session's entries as a file: lines of JSON, of which the first says what it is. */
export function tapeOf(entries: readonly JournalEntry[]): string {
  const head: TapeHead = { pawl: 'session', format: journalFormat };
  return [head, ...entries].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Returns the entries of a file that `tapeOf` made. Throws `invalid_journal`, with the line, for any other text. */
export function readTape(text: string): JournalEntry[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw invalid(lines.length + 1, 'it is cut off');
  const [head, ...entries] = lines.map((line, index) => parsed(line, index + 1));
  if (head?.pawl !== 'session') throw invalid(1, 'it is not the beginning of a session');
  if (head.format !== journalFormat) {
    throw invalid(1, `it has format ${String(head.format)}, and this release of Pawl reads format ${journalFormat}`);
  }
  return entries as unknown as JournalEntry[];
}

function parsed(line: string, number: number): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null && ('type' in value || 'pawl' in value)) return { ...value };
    throw new Error('it is not an entry');
  } catch (error) {
    throw invalid(number, messageOf(error));
  }
}

function invalid(line: number, why: string): PawlError {
  return new PawlError('invalid_journal', `Line ${line} of the exported session cannot be used: ${why}.`);
}
