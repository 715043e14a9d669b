import { systemClock } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import type { JournalEntry, JournaledSession } from '../../journal/journal.ts';
import { oneAtATime } from '../../platform/promises.ts';
import { redact } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { Redactor } from '../tape/redacted.ts';
import { cleanRow, soFar } from './clean.ts';
import type { Heard, WatchedJournal } from './watched-journal.ts';

/** The interval at which the journal is read for entries of other processes, in ms. */
const lookMs = 250;

/** The interval at which a streaming reply is sent to readers, in ms. */
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

/** The tape of one session while it has readers: its entries without secrets, as they come. */
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
  /** Reads come one after the other. */
  private readonly inTurn = oneAtATime();
  private row: JournaledSession | null = null;
  /** Entries from notifications, not yet in `entries`. */
  private heard: JournalEntry[] = [];
  /** The parts of streaming replies, and the keys of those not yet sent to readers. */
  private readonly arriving = new Map<string, Arriving>();
  private readonly untold = new Set<string>();
  /** Whether it is closed, or can no longer be shown. */
  isOver = false;
  private joining = 0;

  constructor(journal: WatchedJournal, sessionId: string, secrets: () => readonly string[]) {
    this.journal = journal;
    this.sessionId = sessionId;
    this.secrets = secrets;
    this.redactor = new Redactor(secrets);
    this.stopListening = journal.listen((heard) => this.hear(heard));
  }

  /** Whether it has no readers, and none that is about to join. */
  get isIdle(): boolean {
    return this.readers.size + this.joining === 0;
  }

  /** Adds a reader once the tape is up to date. Returns a function that removes it. Rejects if the tape cannot be shown. */
  async join(reader: (piece: TapePiece) => void, from: number): Promise<() => void> {
    this.joining += 1;
    try {
      await this.update();
    } finally {
      this.joining -= 1;
    }
    if (this.readers.size === 0) this.look();
    this.readers.add(reader);
    if (this.row !== null) reader({ row: this.row });
    reader({ after: from, entries: this.entries.slice(from), redacted: this.redactor.changed });
    return () => this.readers.delete(reader);
  }

  close(): void {
    this.isOver = true;
    this.stopListening();
    this.stopLooking();
    this.stopStreaming?.();
    this.readers.clear();
  }

  /** Polls the journal, since writes of another process send no notification. */
  private look(): void {
    this.stopLooking();
    this.stopLooking = systemClock.alarm(lookMs, () => {
      void this.followed().then(() => {
        if (this.readers.size > 0) this.look();
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

  /** Reads new entries. On failure, sends the reason to the readers and closes the tape. */
  private async followed(): Promise<void> {
    if (this.isOver) return;
    try {
      await this.update();
    } catch (error) {
      this.tell({ failure: redact(messageOf(error), writtenSecrets(this.secrets())) });
      this.close();
    }
  }

  private update(): Promise<void> {
    return this.inTurn(() => this.readNew());
  }

  private async readNew(): Promise<void> {
    const [found] = await this.journal.list({ sessionId: this.sessionId });
    if (found === undefined) return;
    const row = cleanRow(found, this.secrets());
    const after = this.entries.length;
    if (row.entries > after) {
      const isHeard = this.heard.length === row.entries - after;
      const written = isHeard ? this.heard : await this.journal.read(this.sessionId, after);
      this.heard = [];
      const entries = this.redactor.takeEntries(written);
      for (const entry of entries) this.entries.push(entry);
      this.tell({ after, entries, redacted: this.redactor.changed });
    }
    const isChanged =
      JSON.stringify([row.status, row.waiting]) !== JSON.stringify([this.row?.status, this.row?.waiting]);
    this.row = row;
    if (isChanged) this.tell({ row });
  }

  /** Adds a delta of a reply. Readers get the whole part so far, without an end that may be the start of a secret. */
  private arrive(scope: string, { turn, attempt, part, kind, delta }: Delta): void {
    const key = `${scope} ${turn} ${attempt} ${part}`;
    if (!this.arriving.has(key)) this.forgetBefore(scope, turn, attempt);
    const before = this.arriving.get(key)?.text ?? '';
    this.arriving.set(key, { scope, turn, attempt, part, kind, text: before + delta });
    this.untold.add(key);
    this.stopStreaming ??= systemClock.alarm(streamMs, () => this.tellArriving());
  }

  /** Forgets the replies of earlier attempts, which have been recorded. */
  private forgetBefore(scope: string, turn: number, attempt: number): void {
    for (const [key, one] of this.arriving) {
      const isOther = one.scope === scope && (one.turn !== turn || one.attempt !== attempt);
      if (isOther && !this.untold.has(key)) this.arriving.delete(key);
    }
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
