import { memoryBudgets } from '../shared/budget-store.ts';
import { memoryGates } from '../shared/gate-store.ts';
import {
  type Append,
  isEnded,
  isLeaseHeld,
  type Journal,
  type JournalEntry,
  type JournaledSession,
  matchesQuery,
  maySay,
  type SessionMessage,
  type SessionQuery,
  undecided,
} from './journal.ts';
import { doesNotRun, exists, noLongerOwned, runsElsewhere } from './journal-errors.ts';

type Kept = Omit<JournaledSession, 'status' | 'entries' | 'waiting'> & {
  ended: 'succeeded' | 'failed' | 'aborted' | null;
  entries: JournalEntry[];
  inbox: { id: number; message: SessionMessage }[];
  owner: string | null;
  leasedUntil: number;
};

/**
 * A journal in the memory of this process, lost when it ends; for inspection only. It keeps all open sessions, and the
 * latest `keep` that have ended.
 */
export class MemoryJournal implements Journal {
  readonly leaseMs: number;
  readonly budgets = memoryBudgets();
  readonly gates = memoryGates();
  private readonly keep: number;
  private readonly kept = new Map<string, Kept>();
  private messages = 0;

  constructor({ leaseMs = 10_000, keep = Number.POSITIVE_INFINITY }: { leaseMs?: number; keep?: number } = {}) {
    this.leaseMs = leaseMs;
    this.keep = keep;
  }

  async create(
    session: Parameters<Journal['create']>[0],
    { owner, entries, change = {} }: Parameters<Journal['create']>[1],
  ): Promise<void> {
    if (this.kept.has(session.sessionId)) throw exists(session.sessionId);
    const now = Date.now();
    const row = { ...session, slugs: [], waitingCalls: [], createdAt: now, updatedAt: now, ended: null };
    this.kept.set(session.sessionId, { ...row, entries: [], inbox: [], owner, leasedUntil: 0 });
    await this.append(session.sessionId, { owner, after: 0, entries, change });
  }

  async append(sessionId: string, { owner, after, entries, change = {}, taken }: Append): Promise<void> {
    const kept = this.kept.get(sessionId);
    if (kept === undefined) throw doesNotRun(sessionId);
    if (kept.owner !== owner || kept.entries.length !== after) throw noLongerOwned(sessionId);
    for (const entry of entries) kept.entries.push(entry);
    const { status = kept.ended, slugs = kept.slugs, waitingCalls = kept.waitingCalls } = change;
    const now = Date.now();
    Object.assign(kept, { ended: status, slugs, waitingCalls, updatedAt: now, leasedUntil: now + this.leaseMs });
    kept.inbox = kept.inbox.filter(({ id }) => !taken?.includes(id));
    if (change.status === undefined) return;
    // The order is that of the endings.
    this.kept.delete(sessionId);
    this.kept.set(sessionId, kept);
    this.forget();
  }

  /** Takes in a session that was written elsewhere. */
  load(session: JournaledSession, entries: readonly JournalEntry[]): void {
    const { status, entries: _, waiting: __, ...row } = session;
    const ended = isEnded(status) ? status : null;
    this.kept.set(row.sessionId, { ...row, ended, entries: [...entries], inbox: [], owner: null, leasedUntil: 0 });
  }

  private forget(): void {
    const ended = [...this.kept.values()].filter((one) => one.ended !== null);
    const most = Math.max(0, ended.length - this.keep);
    for (const { sessionId } of ended.slice(0, most)) this.kept.delete(sessionId);
  }

  async read(sessionId: string, after = 0): Promise<JournalEntry[]> {
    return this.kept.get(sessionId)?.entries.slice(after) ?? [];
  }

  async lease(sessionId: string, owner: string): Promise<boolean> {
    const kept = this.kept.get(sessionId);
    if (kept === undefined || (kept.owner !== owner && isHeld(kept, this.leaseMs))) return false;
    Object.assign(kept, { owner, leasedUntil: Date.now() + this.leaseMs });
    return true;
  }

  async renew(sessionId: string, owner: string): Promise<boolean> {
    const kept = this.kept.get(sessionId);
    if (kept?.owner !== owner) return false;
    kept.leasedUntil = Date.now() + this.leaseMs;
    return true;
  }

  async release(sessionId: string, owner: string): Promise<void> {
    const kept = this.kept.get(sessionId);
    if (kept?.owner === owner) Object.assign(kept, { owner: null, leasedUntil: 0 });
  }

  async post(sessionId: string, message: SessionMessage): Promise<boolean> {
    const kept = this.kept.get(sessionId);
    if (kept === undefined || kept.ended !== null) return false;
    if (!maySay(message, this.rowOf(kept).waitingCalls)) return false;
    this.messages += 1;
    kept.inbox.push({ id: this.messages, message });
    return true;
  }

  async inbox(sessionId: string): Promise<{ id: number; message: SessionMessage }[]> {
    return [...(this.kept.get(sessionId)?.inbox ?? [])];
  }

  async list({ sessionId, idPrefix = '', agent, since = 0, ...query }: SessionQuery): Promise<JournaledSession[]> {
    return [...this.kept.values()]
      .reverse()
      .filter((one) => one.sessionId.startsWith(idPrefix) && one.updatedAt >= since)
      .filter((one) => one.sessionId === (sessionId ?? one.sessionId) && one.agent === (agent ?? one.agent))
      .map((kept) => this.rowOf(kept))
      .filter((one) => matchesQuery(one, query))
      .sort((one, other) => other.updatedAt - one.updatedAt);
  }

  async delete(sessionId: string): Promise<boolean> {
    const kept = this.kept.get(sessionId);
    // A session that has ended may still have a lease.
    if (kept?.ended === null && isHeld(kept, this.leaseMs)) throw runsElsewhere(sessionId);
    return this.kept.delete(sessionId);
  }

  private rowOf(kept: Kept): JournaledSession {
    const { entries, ended, inbox, owner: _, leasedUntil: __, ...row } = kept;
    const waits = undecided(
      kept.waitingCalls,
      inbox.map(({ message }) => message),
    );
    return {
      ...row,
      ...waits,
      status: ended ?? (isHeld(kept, this.leaseMs) ? 'running' : 'suspended'),
      entries: entries.length,
    };
  }

  /** Does nothing; the sessions are kept. */
  async close(): Promise<void> {}
}

function isHeld({ leasedUntil }: Kept, leaseMs: number): boolean {
  return isLeaseHeld(leasedUntil - Date.now(), leaseMs);
}
