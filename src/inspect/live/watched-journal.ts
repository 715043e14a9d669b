import type { Append, Journal, JournalEntry, SessionMessage, SessionQuery } from '../../journal/journal.ts';

/** A notification: entries written after the first `after`, or one that is noted but not yet written. */
export type Heard = { sessionId: string } & (
  | { after: number; entries: readonly JournalEntry[] }
  | { noted: JournalEntry }
);

/** Wraps a journal and notifies listeners of each write. */
export class WatchedJournal implements Journal {
  readonly inner: Journal;
  private readonly listeners = new Set<(heard: Heard) => void>();

  constructor(inner: Journal) {
    this.inner = inner;
  }

  /** Returns a function that removes the listener. */
  listen(listener: (heard: Heard) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  get leaseMs(): number {
    return this.inner.leaseMs;
  }

  get isClosed(): boolean {
    return this.inner.isClosed === true;
  }

  async create(session: Parameters<Journal['create']>[0], append: Omit<Append, 'after'>): Promise<void> {
    await this.inner.create(session, append);
    this.tell({ sessionId: session.sessionId, after: 0, entries: append.entries });
  }

  async append(sessionId: string, append: Append): Promise<void> {
    await this.inner.append(sessionId, append);
    this.tell({ sessionId, after: append.after, entries: append.entries });
  }

  noted(sessionId: string, entry: JournalEntry): void {
    this.inner.noted?.(sessionId, entry);
    if (this.listeners.size > 0) this.tell({ sessionId, noted: entry });
  }

  read(sessionId: string, after?: number): Promise<JournalEntry[]> {
    return this.inner.read(sessionId, after);
  }

  lease(sessionId: string, owner: string): Promise<boolean> {
    return this.inner.lease(sessionId, owner);
  }

  renew(sessionId: string, owner: string): Promise<boolean> {
    return this.inner.renew(sessionId, owner);
  }

  release(sessionId: string, owner: string): Promise<void> {
    return this.inner.release(sessionId, owner);
  }

  post(sessionId: string, message: SessionMessage): Promise<boolean> {
    return this.inner.post(sessionId, message);
  }

  inbox(sessionId: string): ReturnType<Journal['inbox']> {
    return this.inner.inbox(sessionId);
  }

  list(query: SessionQuery): ReturnType<Journal['list']> {
    return this.inner.list(query);
  }

  delete(sessionId: string): Promise<boolean> {
    return this.inner.delete(sessionId);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  private tell(heard: Heard): void {
    for (const listener of this.listeners) listener(heard);
  }
}
