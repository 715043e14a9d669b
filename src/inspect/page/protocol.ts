import type { Json } from '../../../machines/index.ts';
import type { JournalEntry, JournaledSession } from '../../journal/journal.ts';
import type { RecordingPart } from '../recorded/recording-data.ts';
import type { DeliveryChange } from '../study/what-if.ts';

/** What the page asks of its worker. `file` is a tape, gzipped and in base64. */
export type ToWorker =
  | { type: 'file'; file: string }
  | { type: 'entries'; entries: JournalEntry[] }
  | { type: 'context'; id: number; frame: number }
  | { type: 'delivery'; id: number; frame: number }
  | { type: 'whatIf'; id: number; change: DeliveryChange }
  | { type: 'values'; id: number; paths: string[] };

/** The delivery that led to a step, by the number of its entry; null if a command of ours or a sub-agent's did. */
export type LeadingDelivery = DeliveryChange | null;

/** What the worker tells. `total`: the number of entries that it knows of. */
export type FromWorker =
  | { type: 'part'; part: RecordingPart; total: number }
  | { type: 'answer'; id: number; value: unknown }
  | { type: 'refusal'; id: number; message: string }
  | { type: 'failed'; message: string };

export type Command =
  | { type: 'answer'; callId: string; output: Json; sessionId?: string }
  | { type: 'steer'; text: string }
  | { type: 'stop' }
  | { type: 'abort' };

/** A session, or a run, that a server shows. `sessions`: those of the run. */
export type Live = {
  row: JournaledSession | null;
  /** Whether the server does not answer. */
  isAway: boolean;
  sessions: readonly JournaledSession[];
  send(command: Command): Promise<void>;
};
