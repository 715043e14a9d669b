import { redact } from '../../agent/redact.ts';
import { writtenSecrets } from '../../agent/secrets.ts';
import { messageOf } from '../../errors.ts';
import { systemClock } from '../../host/clock.ts';
import type { JournalEntry, JournaledSession } from '../../journal/journal.ts';
import { Redactor } from '../tape/redacted.ts';
import { cleanRow, soFar } from './clean.ts';
import type { Heard, WatchedJournal } from './watched-journal.ts';

/** How often the journal is asked what another process wrote, in ms. */
const lookMs = 250;

/** How often readers are told of a reply that arrives, in ms. */
const streamMs = 40;

type Delta = Extract<Extract<JournalEntry, { type: 'sighted' }>['sighting'], { type: 'model.delta' }>;

/** What has arrived of a part of a reply. */
export type Arriving = Pick<Delta, 'turn' | 'attempt' | 'part' | 'kind'> & { scope: string; text: string };

/**
 * What a reader of a tape gets: entries with the number of those before them, and of all that had secrets; what has
 * arrived of a reply; the session's row; or why no more comes.
 */
export type TapePiece =
  | { after: number; entries: readonly JournalEntry[]; redacted: number }
  | { arriving: Arriving }
  | { row: JournaledSession }
  | { failure: string };

/** The tape of one session while somebody watches it: its entries without secrets, as they come. */
export class LiveTape {
  private readonly entries: JournalEntry[] = [];
  private readonly journal: WatchedJournal;
  private readonly sessionId: string;
  private readonly secrets: () => readonly string[];
  private readonly redactor: Redactor;
  private readonly readers = new Set<(piece: TapePiece) => void>();
  private readonly stopListening: () => void;
  private stopLooking = () => {};
  private stopStreaming: (() => void) | null = null;
  private reading: Promise<void> = Promise.resolve();
  private row: JournaledSession | null = null;
  /** What was heard to be written after the entries. */
  private heard: JournalEntry[] = [];
  /** The parts of replies that arrive, and those of which readers are still to be told. */
  private readonly arriving = new Map<string, Arriving>();
  private readonly untold = new Set<string>();
  private hasEnded = false;

  constructor(journal: WatchedJournal, sessionId: string, secrets: () => readonly string[]) {
    this.journal = journal;
    this.sessionId = sessionId;
    this.secrets = secrets;
    this.redactor = new Redactor(secrets);
    this.stopListening = journal.listen((heard) => this.hear(heard));
  }

  /** Whether nobody watches. */
  get isIdle(): boolean {
    return this.readers.size === 0;
  }

  /** Adds a reader, once all that was written is there. Returns how to leave. Rejects if it cannot be shown. */
  async join(reader: (piece: TapePiece) => void, from: number): Promise<() => void> {
    await this.update();
    if (this.readers.size === 0) this.look();
    this.readers.add(reader);
    if (this.row !== null) reader({ row: this.row });
    reader({ after: from, entries: this.entries.slice(from), redacted: this.redactor.changed });
    return () => this.readers.delete(reader);
  }

  close(): void {
    this.hasEnded = true;
    this.stopListening();
    this.stopLooking();
    this.stopStreaming?.();
    this.readers.clear();
  }

  /** Another process may write the journal: then nothing is heard of it. */
  private look(): void {
    this.stopLooking();
    this.stopLooking = systemClock.alarm(lookMs, () => {
      void this.followed().then(() => {
        if (!this.isIdle && !this.hasEnded) this.look();
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
    if (noted.type === 'sighted' && noted.sighting.type === 'model.delta') this.arrive(noted.scope, noted.sighting);
  }

  /** Takes in what was written since; whoever watches is told why it cannot be, once. */
  private async followed(): Promise<void> {
    if (this.hasEnded) return;
    try {
      await this.update();
    } catch (error) {
      this.tell({ failure: redact(messageOf(error), writtenSecrets(this.secrets())) });
      this.close();
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
    const [found] = await this.journal.list({ sessionId: this.sessionId });
    if (found === undefined) return;
    const row = cleanRow(found, this.secrets());
    const after = this.entries.length;
    if (row.entries > after) {
      const isHeard = this.heard.length === row.entries - after;
      const written = isHeard ? this.heard : (await this.journal.read(this.sessionId)).slice(after);
      this.heard = [];
      const entries = this.redactor.take(written);
      for (const entry of entries) this.entries.push(entry);
      this.tell({ after, entries, redacted: this.redactor.changed });
    }
    const isChanged =
      JSON.stringify([row.status, row.waiting]) !== JSON.stringify([this.row?.status, this.row?.waiting]);
    this.row = row;
    if (isChanged) this.tell({ row });
  }

  /** Takes in a piece of a reply. Readers are told of the whole part, as far as it cannot end in half a secret. */
  private arrive(scope: string, { turn, attempt, part, kind, delta }: Delta): void {
    const key = `${scope} ${turn} ${attempt} ${part}`;
    const before = this.arriving.get(key)?.text ?? '';
    this.arriving.set(key, { scope, turn, attempt, part, kind, text: before + delta });
    this.untold.add(key);
    this.stopStreaming ??= systemClock.alarm(streamMs, () => this.tellArriving());
  }

  private tellArriving(): void {
    this.stopStreaming = null;
    const secrets = writtenSecrets(this.secrets());
    for (const key of this.untold) {
      const part = this.arriving.get(key);
      if (part !== undefined) this.tell({ arriving: { ...part, text: soFar(part.text, secrets) } });
    }
    this.untold.clear();
  }

  private tell(piece: TapePiece): void {
    for (const reader of this.readers) reader(piece);
  }
}
