import type { JournalEntry } from '../../journal/journal.ts';
import type { Part } from '../recorded/replayer.ts';

/** What the page asks of its worker. `file` is a tape, gzipped and in base64. */
export type ToWorker =
  | { type: 'file'; file: string }
  | { type: 'entries'; entries: JournalEntry[] }
  | { type: 'context'; id: number; frame: number };

/** What the worker tells. `total`: the number of entries that it knows of. */
export type FromWorker =
  | { type: 'part'; part: Part; total: number }
  | { type: 'context'; id: number; value: unknown }
  | { type: 'failed'; message: string };
