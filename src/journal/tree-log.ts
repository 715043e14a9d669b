import { systemClock } from '../host/clock.ts';
import { messageOf, PawlError } from '../input/errors.ts';
import { oneAtATime } from '../platform/promises.ts';
import { randomId } from '../platform/random-id.ts';
import { isSameList } from '../platform/text.ts';
import { isDelta, joinedDelta, withoutEarlierProgress } from './entries.ts';
import {
  type Append,
  callText,
  giveBack,
  type Journal,
  type JournalEntry,
  type SessionChange,
  type SessionHead,
  type SessionMessage,
  type WaitingCall,
} from './journal.ts';
import { endLater } from './late-end.ts';
import { HeldLease } from './lease.ts';

/** How often the inbox is read, in ms. */
const inboxMs = 250;

/** Characters of notes that wait for the next write; more are written at once. */
const mostNoted = 65_536;

type OfferedTools = Extract<JournalEntry, { type: 'offered' }>['tools'];

/** What a tree of sessions gives to its log, once it is there. */
export type TreeOwner = {
  /** The position in the root's event stream. */
  position(): number;
  waiting(): WaitingCall[];
  /** How it ended, as far as its facts say: the journal never holds the facts of an end without it. Empty before. */
  ending(): SessionChange;
  /** Takes in a message. Returns the log of the session that it is for; null if it is for none. */
  receive(message: SessionMessage): { receives(id: number): void } | null;
  /** The log can no longer be written: nothing more may be done. */
  failed(error: PawlError): void;
  /** The journal could not be read, which is reported once per outage. */
  troubled(error: unknown): void;
};

/**
 * The open journal of a session and its sub-agents: one sequence of entries, with one owner. What is noted is written
 * with the next write, in one append; writes that come together are one append too.
 */
export class TreeLog {
  readonly journal: Journal;
  readonly session: Pick<SessionHead, 'sessionId' | 'agent' | 'metadata'>;
  private readonly owner: string;
  /** The number of entries in the journal; null before the session is in it. */
  private written: number | null;
  private notes: JournalEntry[] = [];
  private noted = 0;
  private taken: number[] = [];
  /** The last write of a session in the journal, as long as it is not known to be done. */
  private unwritten: Append | null = null;
  /** The ids of all messages received. They are kept, since a slow read of the inbox may return one that was taken. */
  private readonly received = new Set<number>();
  /** Writes come one after the other. */
  private readonly inTurn = oneAtATime();
  private next: Promise<void> | null = null;
  private tree: TreeOwner | null = null;
  /** The row's list of waiting calls; null if it is not known. */
  private waiting: readonly WaitingCall[] | null;
  /** The numbers of the lists of tools, by their JSON, and by themselves: most requests offer the same. */
  private readonly offers: Map<string, number>;
  private readonly lists = new WeakMap<OfferedTools, number>();
  private stopTicking = () => {};
  private readonly lease: HeldLease;
  private closed = false;
  private isListening = false;
  private isEndWritten = false;
  /** Why the journal cannot be written any more. */
  private failure: unknown = null;

  /** `recorded` holds the entries of a session that is resumed; its lease must have been taken by `owner`. */
  constructor(
    journal: Journal,
    session: Pick<SessionHead, 'sessionId' | 'agent' | 'metadata'>,
    owner: string = randomId(),
    recorded: readonly JournalEntry[] = [],
  ) {
    this.journal = journal;
    this.session = session;
    this.owner = owner;
    this.written = recorded.length === 0 ? null : recorded.length;
    this.waiting = recorded.length === 0 ? [] : null;
    this.lease = new HeldLease(journal, session.sessionId, owner, (error) => this.fail(error));
    this.offers = new Map(
      recorded.flatMap((entry) => (entry.type === 'offered' ? [[JSON.stringify(entry.tools), entry.number]] : [])),
    );
  }

  /** Connects the sessions, whose events and messages go through this log. */
  connect(tree: TreeOwner): void {
    this.tree = tree;
  }

  /** Whether the journal holds the session, as far as it can be asked. */
  async holdsSession(): Promise<boolean> {
    return (await this.journal.read(this.session.sessionId)).length > 0;
  }

  /** The messages that came while no process ran the session. */
  messages(): ReturnType<Journal['inbox']> {
    return this.journal.inbox(this.session.sessionId);
  }

  /** From now on, messages are taken in; these first. */
  listen(first: Awaited<ReturnType<Journal['inbox']>> = []): void {
    this.isListening = true;
    for (const { id, message } of first) this.receive(id, message);
  }

  /** Begins to renew the lease, and to look for messages. */
  keep(): void {
    let isReported = false;
    const tick = async () => {
      try {
        if (this.lease.isDue) await this.lease.extend();
        if (this.isListening)
          for (const { id, message } of await this.journal.inbox(this.session.sessionId)) this.receive(id, message);
        // Nothing else would write a step without effects, or what was sighted since, until the next delivery.
        if (!this.notes.every(isDelta)) await this.write();
        isReported = false;
      } catch (error) {
        if (this.journal.isClosed === true) this.fail(error);
        // The journal may come back. If another process takes the session before that, the next write is refused.
        else if (!isReported) this.tree?.troubled(error);
        isReported = true;
      }
      if (!this.closed) this.stopTicking = systemClock.alarm(Math.min(inboxMs, this.journal.leaseMs / 4), tick);
    };
    void tick();
  }

  /** True while this process's last renewal of the lease is valid, and once all has ended. */
  get isHeld(): boolean {
    return this.closed || this.lease.isHeld;
  }

  /** Renews a lease that may have run out. Everything fails if another process has the session, or may have it. */
  async renew(): Promise<void> {
    if (!this.closed) await this.lease.recover();
  }

  get position(): number {
    return this.tree?.position() ?? 0;
  }

  /** Adds an entry to the next write. */
  note(entry: JournalEntry): void {
    this.journal.noted?.(this.session.sessionId, entry);
    this.notes = withoutEarlierProgress(this.notes, entry);
    const before = this.notes.at(-1);
    const joined = before === undefined ? null : joinedDelta(before, entry);
    if (joined === null) this.notes.push(entry);
    else this.notes[this.notes.length - 1] = joined;
    if (entry.type !== 'sighted' || entry.sighting.type !== 'model.delta') return;
    this.noted += entry.sighting.delta.length;
    if (this.noted > mostNoted) void this.write().catch(failedAlready);
  }

  /** Returns the number of a list of tools; notes it when it is new. */
  offered(scope: string, tools: OfferedTools): number | null {
    if (tools.length === 0) return null;
    const number = this.lists.get(tools) ?? this.numberOf(scope, tools);
    this.lists.set(tools, number);
    return number;
  }

  private numberOf(scope: string, tools: OfferedTools): number {
    const text = JSON.stringify(tools);
    const known = this.offers.get(text);
    if (known !== undefined) return known;
    const number = this.offers.size;
    this.offers.set(text, number);
    // All sessions of an agent share the list, and a store may change what it is given.
    this.note({ scope, type: 'offered', number, tools: [...tools] });
    return number;
  }

  /** Whether nothing more is written. */
  get isClosed(): boolean {
    return this.closed;
  }

  /** Whether the session is in the journal. */
  get isBegun(): boolean {
    return this.written !== null;
  }

  /** Writes all notes and the end of the session, and gives the session back. Rejects if it is still to be written. */
  async end(change: SessionChange): Promise<void> {
    if (this.failure !== null && !this.isEndWritten) throw this.failure;
    if (this.closed) return;
    await this.inTurn(() => this.append(change));
    await this.release();
  }

  /** Writes all notes. Resolves when they are durable. */
  write(): Promise<void> {
    this.next ??= this.inTurn(() => {
      this.next = null;
      return this.append({});
    });
    return this.next;
  }

  /** Marks a message as taken in by the entries of the next write. */
  took(id: number): void {
    this.taken.push(id);
  }

  /** Stops everything: the journal is not written any more. */
  fail(error: unknown): void {
    if (this.closed) return;
    this.failure = error;
    this.close();
    const message = messageOf(error);
    this.tree?.failed(error instanceof PawlError ? error : new PawlError('journal_failed', message, { cause: error }));
  }

  /** Writes all notes, and gives the session back, so that another process can take it at once. */
  async release(): Promise<void> {
    await this.write();
    this.close();
    await this.journal.release(this.session.sessionId, this.owner);
  }

  /** Writes nothing more. */
  close(): void {
    this.closed = true;
    this.stopTicking();
  }

  /** Gives the session back, if the journal still takes it; otherwise its lease runs out. */
  async leave(): Promise<void> {
    await giveBack(this.journal, this.session.sessionId, this.owner);
  }

  private async append(given: SessionChange): Promise<void> {
    if (this.failure !== null) throw this.failure;
    const change = { ...this.tree?.ending(), ...given };
    try {
      await this.appendNotes(change);
    } catch (error) {
      this.fail(error);
      // It may have ended during the write.
      const end = { ...change, ...this.tree?.ending() };
      if (this.unwritten !== null) endLater(this.journal, this.session.sessionId, this.unwritten, this.notes, end);
      throw error;
    }
  }

  private async appendNotes(change: SessionChange): Promise<void> {
    const isEnd = change.status !== undefined && !this.isEndWritten;
    const { notes: entries, taken, owner } = this;
    const waitingCalls = this.tree?.waiting() ?? [];
    const isChanged = this.waiting === null || !isSameList(waitingCalls.map(callText), this.waiting.map(callText));
    if (entries.length + taken.length === 0 && !isChanged && !isEnd) return;
    this.notes = [];
    this.noted = 0;
    this.taken = [];
    const after = this.written ?? 0;
    const written = this.lease.writing();
    const append: Append = { owner, after, entries, change: isChanged ? { waitingCalls, ...change } : change, taken };
    this.unwritten = this.written === null ? null : append;
    if (this.written === null) {
      const { sessionId, agent, metadata } = this.session;
      await this.journal.create({ sessionId, agent, metadata }, append);
      this.keep();
    } else {
      await this.journal.append(this.session.sessionId, append);
    }
    written();
    this.isEndWritten ||= isEnd;
    this.unwritten = null;
    this.waiting = waitingCalls;
    this.written = after + entries.length;
  }

  private receive(id: number, message: SessionMessage): void {
    if (this.received.has(id) || this.closed) return;
    this.received.add(id);
    const scope = this.tree?.receive(message) ?? null;
    if (scope !== null) {
      scope.receives(id);
      return;
    }
    this.took(id);
    void this.write().catch(failedAlready);
  }
}

/** The tree already knows of an append that failed. */
const failedAlready = () => undefined;
