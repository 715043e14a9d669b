import { z } from 'zod';
import { check } from '../../input/check.ts';
import { milliseconds } from '../../input/shapes.ts';
import { lazily } from '../../platform/lazily.ts';
import type { BudgetStore } from '../../shared/budget-store.ts';
import type { GateStore } from '../../shared/gate-store.ts';
import { parsedInTurns } from '../entries.ts';
import {
  type Append,
  type Journal,
  type JournalEntry,
  matchesQuery,
  maySay,
  type SessionMessage,
  type SessionQuery,
} from '../journal.ts';
import { doesNotRun, exists, incomplete, noLongerOwned, runsElsewhere } from '../journal-errors.ts';
import { sqliteBudgets } from './budgets.ts';
import { Database } from './database.ts';
import { sqliteGates } from './gates.ts';
import { isRowHeld, journaledSession, type SessionRow } from './schema.ts';

export type SqliteJournalOptions = {
  /**
   * How long a session belongs to its process without a sign of life from it, in ms. Default: 10,000. After a crash,
   * another process can take the session when this time is over.
   */
  leaseMs?: number;
};

const aFile = 'a path, or :memory:';
const fileSchema = z.string({ error: aFile }).regex(/^(?!file:|[a-z][a-z0-9+.-]*:\/\/).*\S/is, { error: aFile });
const optionsSchema = lazily(() => z.strictObject({ leaseMs: milliseconds.default(10_000) }));

/**
 * Opens a journal in a SQLite file, creating the file if it does not exist; `:memory:` is for tests. Several processes
 * may open the same file. Every append is durable when it resolves. Throws `PawlError`: `invalid_options`,
 * `invalid_journal` for a file that is no journal of this version, `journal_failed` for one that cannot be opened.
 */
export function sqliteJournal(file: string, options: SqliteJournalOptions = {}): Journal {
  check(fileSchema, file, 'file', 'invalid_options');
  const { leaseMs } = check(optionsSchema(), options, 'options', 'invalid_options');
  return new SqliteJournal(file, leaseMs);
}

/** Characters of entries that are read at once. */
const pageSize = 131_072;

const columns = '*, (SELECT json_group_array(message) FROM inbox WHERE session = number) AS inbox';

class SqliteJournal implements Journal {
  readonly leaseMs: number;
  readonly budgets: BudgetStore;
  readonly gates: GateStore;
  private readonly file: string;
  private readonly database: Database;

  constructor(file: string, leaseMs: number) {
    this.file = file;
    this.leaseMs = leaseMs;
    this.database = new Database(file);
    this.budgets = sqliteBudgets(this.database);
    this.gates = sqliteGates(this.database);
  }

  create({ sessionId, agent, metadata }: Parameters<Journal['create']>[0], append: Parameters<Journal['create']>[1]) {
    return this.database.write(() => {
      if (this.rowOf(sessionId) !== undefined) throw exists(sessionId);
      const now = Date.now();
      this.database.run(
        "INSERT INTO sessions (id, agent, metadata, slugs, waiting, created, updated, entries, owner, leased, lease) VALUES (?, ?, ?, '[]', '[]', ?, ?, 0, ?, 0, 0)",
        sessionId,
        agent,
        JSON.stringify(metadata),
        now,
        now,
        append.owner,
      );
      // This makes the lease, too.
      this.insert(sessionId, { ...append, after: 0 });
    });
  }

  append(sessionId: string, append: Append) {
    return this.database.write(() => this.insert(sessionId, append));
  }

  async read(sessionId: string, after = 0) {
    const entries: JournalEntry[] = [];
    for (let from = after; ; ) {
      const { page, known } = await this.database.readWhole(() => this.pageAfter(sessionId, from));
      from = page.at(-1)?.position ?? from;
      entries.push(...(await parsedInTurns(page.map(({ entry }) => entry))));
      if (page.length > 0) continue;
      if (entries.length === Math.max(0, known - after)) return entries;
      throw incomplete(sessionId, after + entries.length, known, this.file);
    }
  }

  /** Returns the entries after a position, up to some size, and how many the session has in all. */
  private pageAfter(sessionId: string, from: number): { page: { position: number; entry: string }[]; known: number } {
    const { number, entries: known } = this.rowOf(sessionId) ?? { number: null, entries: 0 };
    const page: { position: number; entry: string }[] = [];
    let size = 0;
    const sql = 'SELECT position, entry FROM entries WHERE session = ? AND position > ? ORDER BY position';
    for (const row of this.database.each<{ position: number; entry: string }>(sql, number, from)) {
      page.push(row);
      size += row.entry.length;
      if (size > pageSize) break;
    }
    return { page, known };
  }

  lease(sessionId: string, owner: string) {
    return this.database.write(() => {
      const now = Date.now();
      const row = this.rowOf(sessionId);
      if (row === undefined || (row.owner !== owner && isRowHeld(row, now))) return false;
      this.database.run(
        'UPDATE sessions SET owner = ?, leased = ?, lease = ? WHERE number = ?',
        owner,
        now + this.leaseMs,
        this.leaseMs,
        row.number,
      );
      return true;
    });
  }

  renew(sessionId: string, owner: string) {
    return this.database.write(() => {
      const sql = 'UPDATE sessions SET leased = ?, lease = ? WHERE id = ? AND owner = ? RETURNING number';
      return this.database.all(sql, Date.now() + this.leaseMs, this.leaseMs, sessionId, owner).length > 0;
    });
  }

  release(sessionId: string, owner: string) {
    return this.database.write(() => {
      this.database.run('UPDATE sessions SET owner = NULL, leased = 0 WHERE id = ? AND owner = ?', sessionId, owner);
    });
  }

  post(sessionId: string, message: SessionMessage) {
    return this.database.write(() => {
      const row = this.rowOf(sessionId);
      if (row === undefined || row.ended !== null) return false;
      if (!maySay(message, journaledSession(row, 0).waitingCalls)) return false;
      this.database.run('INSERT INTO inbox (session, message) VALUES (?, ?)', row.number, JSON.stringify(message));
      return true;
    });
  }

  inbox(sessionId: string) {
    return this.database.read(() =>
      this.database
        .all<{ id: number; message: string }>(
          'SELECT id, message FROM inbox WHERE session = (SELECT number FROM sessions WHERE id = ?) ORDER BY id',
          sessionId,
        )
        .map(({ id, message }) => ({ id, message: JSON.parse(message) as SessionMessage })),
    );
  }

  list(query: SessionQuery) {
    const { sessionId, idPrefix = '', agent, since = 0 } = query;
    return this.database.read(() => {
      const now = Date.now();
      const rows = this.database.all<SessionRow>(
        `SELECT ${columns} FROM sessions WHERE id >= ? AND id < CAST(? AS TEXT) AND substr(id, 1, length(?)) = ? AND updated >= ? AND agent = coalesce(?, agent)
         ${sessionId === undefined ? '' : 'AND id = ?'} ORDER BY updated DESC, number DESC`,
        // The bounds let the index find them: no character begins with the byte 255.
        ...[idPrefix, Buffer.concat([Buffer.from(idPrefix), Buffer.of(255)]), idPrefix, idPrefix, since, agent ?? null],
        ...(sessionId === undefined ? [] : [sessionId]),
      );
      return rows.map((row) => journaledSession(row, now)).filter((session) => matchesQuery(session, query));
    });
  }

  async delete(sessionId: string) {
    const isDeleted = await this.database.write(() => {
      const row = this.rowOf(sessionId);
      if (row === undefined) return false;
      // A session that has ended may still have a lease.
      if (row.ended === null && isRowHeld(row, Date.now())) throw runsElsewhere(sessionId);
      for (const table of ['entries', 'inbox']) this.database.run(`DELETE FROM ${table} WHERE session = ?`, row.number);
      this.database.run('DELETE FROM sessions WHERE number = ?', row.number);
      return true;
    });
    if (isDeleted) await this.database.shrink();
    return isDeleted;
  }

  get isClosed(): boolean {
    return !this.database.isOpen;
  }

  close() {
    return this.database.close();
  }

  private insert(sessionId: string, { owner, after, entries, change = {}, taken }: Append): void {
    const now = Date.now();
    const json = (list: readonly unknown[] | undefined) => (list === undefined ? null : JSON.stringify(list));
    const [held] = this.database.all<Pick<SessionRow, 'number'>>(
      `UPDATE sessions SET entries = ?, updated = ?, leased = ?, lease = ?, ended = coalesce(?, ended), slugs = coalesce(?, slugs),
       waiting = coalesce(?, waiting) WHERE id = ? AND owner = ? AND entries = ? RETURNING number`,
      after + entries.length,
      now,
      now + this.leaseMs,
      this.leaseMs,
      change.status ?? null,
      json(change.slugs),
      json(change.waitingCalls),
      sessionId,
      owner,
      after,
    );
    if (held === undefined)
      throw this.rowOf(sessionId) === undefined ? doesNotRun(sessionId) : noLongerOwned(sessionId);
    for (const [index, entry] of entries.entries()) {
      const text = JSON.stringify(entry);
      this.database.run(
        'INSERT INTO entries (session, position, entry) VALUES (?, ?, ?)',
        held.number,
        after + index + 1,
        text,
      );
    }
    taken?.forEach((id) => void this.database.run('DELETE FROM inbox WHERE id = ?', id));
  }

  private rowOf(sessionId: string): SessionRow | undefined {
    return this.database.all<SessionRow>(`SELECT ${columns} FROM sessions WHERE id = ?`, sessionId)[0];
  }
}
