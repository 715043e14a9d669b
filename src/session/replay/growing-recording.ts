import { checkEntries } from '../../journal/entries.ts';
import type { Journal } from '../../journal/journal.ts';
import { unknownSession } from '../../journal/journal-errors.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { oneAtATime } from '../../platform/promises.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { recordedHead } from './recorded-entries.ts';
import { Recording } from './recording.ts';

/** A session that another process runs, read again and again: each time, only what came since is played. */
export class GrowingRecording {
  private readonly journal: Journal;
  private readonly sessionId: string;
  private readonly recording: Recording;
  private readonly inTurn = oneAtATime();
  private known = 0;
  /** Why it cannot be played on. */
  private failure: unknown = null;

  /** `secrets` are taken out of the events (S-5). */
  private constructor(journal: Journal, sessionId: string, secrets: readonly string[]) {
    this.journal = journal;
    this.sessionId = sessionId;
    this.recording = new Recording(writtenSecrets(secrets));
  }

  /**
   * The recording of a session: one for all who read it at the same time, so that it is played once. Another session may
   * get the id of one that was deleted. Rejects with `session_unknown`.
   */
  static async of(journal: Journal, sessionId: string, secrets: readonly string[]): Promise<GrowingRecording> {
    const [row] = await journal.list({ sessionId });
    if (row === undefined) throw unknownSession(sessionId);
    const all = recordings.get(journal) ?? new Map<string, WeakRef<GrowingRecording>>();
    recordings.set(journal, all);
    const key = JSON.stringify([sessionId, row.createdAt, ...secrets.toSorted()]);
    const known = all.get(key)?.deref();
    if (known !== undefined && known.failure === null) return known;
    const recording = new GrowingRecording(journal, sessionId, secrets);
    all.set(key, new WeakRef(recording));
    forgotten.register(recording, () => {
      if (all.get(key)?.deref() === undefined) all.delete(key);
    });
    return recording;
  }

  /** Returns all events so far, at least those of this many entries. Throws like `readSession`. */
  events(entries = Number.POSITIVE_INFINITY): Promise<readonly SessionEvent[]> {
    return this.inTurn(async () => {
      if (this.failure !== null) throw this.failure;
      if (this.known < entries) await this.readOn();
      return this.recording.events;
    });
  }

  private async readOn(): Promise<void> {
    const entries = await this.journal.read(this.sessionId, this.known);
    try {
      if (this.known === 0) recordedHead(entries, this.sessionId);
      checkEntries(entries, this.known);
      this.known += entries.length;
      await this.recording.playInTurns(entries);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }
}

/** The recordings in use. */
const recordings = new WeakMap<Journal, Map<string, WeakRef<GrowingRecording>>>();
const forgotten = new FinalizationRegistry<() => void>((forget) => forget());
