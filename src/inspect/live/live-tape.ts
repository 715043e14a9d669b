import { redact } from '../../agent/redact.ts';
import { messageOf } from '../../errors.ts';
import { systemClock } from '../../host/clock.ts';
import type { JournalEntry, JournaledSession } from '../../journal/journal.ts';
import { Redactor } from '../tape/redacted.ts';
import type { Heard, WatchedJournal } from './watched-journal.ts';

/** How often the journal is asked what another process wrote, in ms. */
const lookMs = 250;

type Delta = Extract<Extract<JournalEntry, { type: 'sighted' }>['sighting'], { type: 'model.delta' }>;

/**
 * What a reader of a tape gets: entries with the number of those before them, a piece of a reply, the session's row, or why no more
 * comes.
 */
export type TapePiece =
  | { after: number; entries: readonly JournalEntry[] }
  | { scope: string; delta: Delta }
  | { row: JournaledSession }
  | { failure: string };

/** The tape of one session while somebody watches it: its entries without secrets, as they come. */
export class LiveTape {
  readonly entries: JournalEntry[] = [];
  private readonly journal: WatchedJournal;
  private readonly sessionId: string;
  private readonly secrets: readonly string[];
  private readonly redactor: Redactor;
  private readonly readers = new Set<(piece: TapePiece) => void>();
  private readonly stops: (() => void)[];
  private reading: Promise<void> = Promise.resolve();
  private row: JournaledSession | null = null;
  /** What was heard to be written after the entries. */
  private heard: JournalEntry[] = [];

  constructor(journal: WatchedJournal, sessionId: string, secrets: readonly string[]) {
    this.journal = journal;
    this.sessionId = sessionId;
    this.secrets = secrets;
    this.redactor = new Redactor(secrets);
    this.stops = [journal.listen((heard) => this.hear(heard))];
  }

  /** Whether nobody watches. */
  get isIdle(): boolean {
    return this.readers.size === 0;
  }

  /** Adds a reader, once all that was written is there. Returns how to leave. */
  async join(reader: (piece: TapePiece) => void, from: number): Promise<() => void> {
    await this.update();
    if (this.readers.size === 0) this.look();
    this.readers.add(reader);
    if (this.row !== null) reader({ row: this.row });
    reader({ after: from, entries: this.entries.slice(from) });
    return () => this.readers.delete(reader);
  }

  close(): void {
    for (const stop of this.stops) stop();
    this.readers.clear();
  }

  /** Another process may write the journal: then nothing is heard of it. */
  private look(): void {
    this.stops[1]?.();
    this.stops[1] = systemClock.alarm(lookMs, () => {
      void this.followed().then(() => {
        if (!this.isIdle) this.look();
      });
    });
  }

  private hear(heard: Heard): void {
    if (heard.sessionId !== this.sessionId) return;
    if ('entries' in heard) {
      if (heard.after === this.entries.length + this.heard.length) this.heard.push(...heard.entries);
      void this.followed();
      return;
    }
    const { noted } = heard;
    if (noted.type !== 'sighted' || noted.sighting.type !== 'model.delta') return;
    const delta = { ...noted.sighting, delta: redact(noted.sighting.delta, this.secrets) };
    this.tell({ scope: noted.scope, delta });
  }

  /** Takes in what was written since; whoever watches is told why it cannot be. */
  private async followed(): Promise<void> {
    try {
      await this.update();
    } catch (error) {
      this.tell({ failure: messageOf(error) });
    }
  }

  private update(): Promise<void> {
    this.reading = this.reading.then(
      () => this.take(),
      () => this.take(),
    );
    return this.reading;
  }

  private async take(): Promise<void> {
    const [row] = await this.journal.list({ sessionId: this.sessionId });
    if (row === undefined) return;
    const after = this.entries.length;
    if (row.entries > after) {
      const isHeard = this.heard.length === row.entries - after;
      const written = isHeard ? this.heard : (await this.journal.read(this.sessionId)).slice(after);
      this.heard = [];
      const entries = this.redactor.take(written);
      this.entries.push(...entries);
      this.tell({ after, entries });
    }
    const isChanged =
      JSON.stringify([row.status, row.waiting]) !== JSON.stringify([this.row?.status, this.row?.waiting]);
    this.row = row;
    if (isChanged) this.tell({ row });
  }

  private tell(piece: TapePiece): void {
    for (const reader of this.readers) reader(piece);
  }
}
