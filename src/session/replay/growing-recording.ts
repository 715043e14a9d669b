import { checkEntries } from '../../journal/entries.ts';
import type { Journal } from '../../journal/journal.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { recordedHead } from './recorded-entries.ts';
import { Recording } from './recording.ts';

/** A session that another process runs, read again and again: each time, only what came since is played. */
export class GrowingRecording {
  private readonly journal: Journal;
  private readonly sessionId: string;
  private readonly recording: Recording;
  private known = 0;

  /** `secrets` are taken out of the events (S-5). */
  constructor(journal: Journal, sessionId: string, secrets: readonly string[]) {
    this.journal = journal;
    this.sessionId = sessionId;
    this.recording = new Recording(writtenSecrets(secrets));
  }

  /** Whether the journal's row tells of entries that were not read yet. */
  hasMore(entries: number): boolean {
    return entries !== this.known;
  }

  /** Returns all events so far. Throws like `readSession`. */
  async events(): Promise<readonly SessionEvent[]> {
    const entries = await this.journal.read(this.sessionId, this.known);
    if (this.known === 0) recordedHead(entries, this.sessionId);
    checkEntries(entries, this.known);
    this.known += entries.length;
    this.recording.play(entries);
    return this.recording.events;
  }
}
