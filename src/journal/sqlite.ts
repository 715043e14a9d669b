import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { z } from 'zod';
import { check } from '../agent/check.ts';
import { milliseconds } from '../agent/shapes.ts';
import { PawlError, reasonOf } from '../errors.ts';
import { builtin } from '../platform/node.ts';
import { lazily } from '../schema/lazily.ts';
import {
  type Append,
  type Journal,
  type JournalEntry,
  matches,
  type SessionMessage,
  type SessionQuery,
} from './journal.ts';
import { doesNotRun, exists, incomplete, noLongerOwned, runsElsewhere, UnsentError } from './journal-errors.ts';
import { databaseOpened } from './open-databases.ts';
import { applicationId, isHeld, type Row, schema, schemaVersion, sessionOf } from './sqlite-schema.ts';

export type SqliteJournalOptions = {
  /**
   * How long a session belongs to its process without a sign of life from it, in ms. Default: 10,000. After a crash,
   * another process can take the session when this time is over.
   */
  leaseMs?: number;
};

/** How long a write waits for one of another process, in ms. */
const busyMs = 5_000;

const aFile = 'a path, or :memory:';
const fileSchema = z.string({ error: aFile }).regex(/^(?!file:|[a-z][a-z0-9+.-]*:\/\/).*\S/is, { error: aFile });
const optionsSchema = lazily(() => z.strictObject({ leaseMs: milliseconds.default(10_000) }));

/**
 * Opens a journal in a SQLite file, and creates the file if there is none; `:memory:` is one for tests. Several processes
 * may open the same file. Every append is durable when it resolves. Throws `PawlError`: `invalid_options`,
 * `invalid_journal` for a file that is no journal of this version, `journal_failed` for one that cannot be opened.
 */
export function sqliteJournal(file: string, options: SqliteJournalOptions = {}): Journal {
  check(fileSchema, file, 'file', 'invalid_options');
  const { leaseMs } = check(optionsSchema(), options, 'options', 'invalid_options');
  return new SqliteJournal(file, leaseMs);
}

class SqliteJournal implements Journal {
  readonly leaseMs: number;
  private readonly file: string;
  private readonly database: DatabaseSync;
  private readonly statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  private readonly closed: () => void;

  constructor(file: string, leaseMs: number) {
    this.file = file;
    this.leaseMs = leaseMs;
    const sqlite = builtin('node:sqlite');
    const fs = builtin('node:fs');
    if (sqlite === undefined || fs === undefined)
      throw this.failed('opened', new Error('it needs Node 22.13 or later, for node:sqlite'));
    let opened: DatabaseSync | null = null;
    try {
      // Only its owner may read it: it holds conversations.
      if (file !== ':memory:' && !fs.existsSync(file)) fs.closeSync(fs.openSync(file, 'a', 0o600));
      opened = new sqlite.DatabaseSync(file);
      this.database = opened;
      this.database.exec(`PRAGMA busy_timeout = ${busyMs}`);
      this.checkSchema();
      this.database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
      this.closed = fs.existsSync(file) ? databaseOpened(fs.realpathSync(file)) : () => {};
    } catch (error) {
      opened?.close();
      throw error instanceof PawlError ? error : this.failed('opened', error);
    }
  }

  create({ sessionId, agent, metadata }: Parameters<Journal['create']>[0], append: Parameters<Journal['create']>[1]) {
    return this.write(() => {
      if (this.rowOf(sessionId) !== undefined) throw exists(sessionId);
      const now = Date.now();
      this.run(
        "INSERT INTO sessions (id, agent, metadata, slugs, waiting, created, updated, entries, owner, leased) VALUES (?, ?, ?, '[]', '[]', ?, ?, 0, ?, ?)",
        sessionId,
        agent,
        JSON.stringify(metadata),
        now,
        now,
        append.owner,
        now + this.leaseMs,
      );
      this.insert(sessionId, { ...append, after: 0 });
    });
  }

  append(sessionId: string, append: Append) {
    return this.write(() => this.insert(sessionId, append));
  }

  read(sessionId: string, after = 0) {
    const read = (): JournalEntry[] => {
      const rows = this.all<{ entry: string }>(
        `SELECT entry FROM entries
         WHERE session = (SELECT number FROM sessions WHERE id = ?) AND position > ? ORDER BY position`,
        sessionId,
        after,
      );
      const known = this.rowOf(sessionId)?.entries ?? 0;
      if (rows.length !== Math.max(0, known - after))
        throw incomplete(sessionId, after + rows.length, known, this.file);
      return rows.map(({ entry }) => JSON.parse(entry));
    };
    // Another process may write meanwhile.
    return this.answer(() => this.transaction(read, 'DEFERRED'));
  }

  lease(sessionId: string, owner: string) {
    return this.write(() => {
      const now = Date.now();
      const row = this.rowOf(sessionId);
      if (row === undefined || (row.owner !== owner && isHeld(row, now))) return false;
      this.run('UPDATE sessions SET owner = ?, leased = ? WHERE number = ?', owner, now + this.leaseMs, row.number);
      return true;
    });
  }

  renew(sessionId: string, owner: string) {
    return this.write(() => {
      const sql = 'UPDATE sessions SET leased = ? WHERE id = ? AND owner = ? RETURNING number';
      return this.all(sql, Date.now() + this.leaseMs, sessionId, owner).length > 0;
    });
  }

  release(sessionId: string, owner: string) {
    return this.write(() => {
      this.run('UPDATE sessions SET owner = NULL, leased = 0 WHERE id = ? AND owner = ?', sessionId, owner);
    });
  }

  post(sessionId: string, message: SessionMessage) {
    return this.write(() => {
      const row = this.rowOf(sessionId);
      if (row === undefined || row.ended !== null) return false;
      this.run('INSERT INTO inbox (session, message) VALUES (?, ?)', row.number, JSON.stringify(message));
      return true;
    });
  }

  inbox(sessionId: string) {
    return this.answer(() =>
      this.all<{ id: number; message: string }>(
        'SELECT id, message FROM inbox WHERE session = (SELECT number FROM sessions WHERE id = ?) ORDER BY id',
        sessionId,
      ).map(({ id, message }) => ({ id, message: JSON.parse(message) as SessionMessage })),
    );
  }

  list(query: SessionQuery) {
    const { sessionId, idPrefix = '', agent, since = 0 } = query;
    return this.answer(() => {
      const now = Date.now();
      const rows = this.all<Row>(
        `SELECT * FROM sessions WHERE id >= ? AND substr(id, 1, length(?)) = ? AND updated >= ? AND agent = coalesce(?, agent)
         AND id = coalesce(?, id) ORDER BY updated DESC, number DESC`,
        idPrefix,
        idPrefix,
        idPrefix,
        since,
        agent ?? null,
        sessionId ?? null,
      );
      return rows.map((row) => sessionOf(row, now)).filter((session) => matches(session, query));
    });
  }

  delete(sessionId: string) {
    return this.write(() => {
      const row = this.rowOf(sessionId);
      if (row === undefined) return false;
      // A session that has ended may still have a lease.
      if (row.ended === null && isHeld(row, Date.now())) throw runsElsewhere(sessionId);
      for (const table of ['entries', 'inbox']) this.run(`DELETE FROM ${table} WHERE session = ?`, row.number);
      this.run('DELETE FROM sessions WHERE number = ?', row.number);
      return true;
    });
  }

  get isClosed(): boolean {
    return !this.database.isOpen;
  }

  close() {
    return this.answer(() => {
      this.statements.clear();
      if (!this.database.isOpen) return;
      this.database.close();
      this.closed();
    });
  }

  private insert(sessionId: string, { owner, after, entries, change = {}, taken = [] }: Append): void {
    const now = Date.now();
    const json = (list: readonly string[] | undefined) => (list === undefined ? null : JSON.stringify(list));
    const [held] = this.all<Pick<Row, 'number'>>(
      `UPDATE sessions SET entries = ?, updated = ?, leased = ?, ended = coalesce(?, ended), slugs = coalesce(?, slugs),
       waiting = coalesce(?, waiting) WHERE id = ? AND owner = ? AND entries = ? RETURNING number`,
      after + entries.length,
      now,
      now + this.leaseMs,
      change.status ?? null,
      json(change.slugs),
      json(change.waiting),
      sessionId,
      owner,
      after,
    );
    if (held === undefined)
      throw this.rowOf(sessionId) === undefined ? doesNotRun(sessionId) : noLongerOwned(sessionId);
    for (const [index, entry] of entries.entries()) {
      const text = JSON.stringify(entry);
      this.run('INSERT INTO entries (session, position, entry) VALUES (?, ?, ?)', held.number, after + index + 1, text);
    }
    for (const id of taken) this.run('DELETE FROM inbox WHERE id = ?', id);
  }

  private rowOf(sessionId: string): Row | undefined {
    return this.all<Row>('SELECT * FROM sessions WHERE id = ?', sessionId)[0];
  }

  private run(sql: string, ...values: SQLInputValue[]): void {
    this.statement(sql).run(...values);
  }

  private all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.statement(sql).all(...values) as T[];
  }

  private statement(sql: string) {
    const known = this.statements.get(sql) ?? this.database.prepare(sql);
    this.statements.set(sql, known);
    return known;
  }

  /** Creates the tables in a new file. Throws if the file is not a journal of this version. */
  private checkSchema(): void {
    const pragma = (name: string) => Number(Object.values(this.database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
    if (pragma('application_id') === 0 && pragma('user_version') === 0) {
      this.transaction(() => {
        // Another process may just have done it.
        if (pragma('application_id') !== 0) return;
        const tables = this.database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get();
        if (tables?.tables !== 0) throw this.foreign();
        this.database.exec(schema);
      });
    }
    if (pragma('application_id') !== applicationId) throw this.foreign();
    const version = pragma('user_version');
    if (version === schemaVersion) return;
    const message = `${this.file} is a journal of version ${version}; this release of Pawl reads version ${schemaVersion}.`;
    throw new PawlError('invalid_journal', message);
  }

  private foreign(): PawlError {
    return new PawlError(
      'invalid_journal',
      `${this.file} is a database, but not a journal of Pawl. It was left as it is.`,
    );
  }

  private transaction<T>(work: () => T, kind: 'IMMEDIATE' | 'DEFERRED' = 'IMMEDIATE'): T {
    this.database.exec(`BEGIN ${kind}`);
    try {
      const result = work();
      this.database.exec('COMMIT');
      return result;
    } catch (error) {
      // A full disk rolls back by itself.
      if (this.database.isTransaction) this.database.exec('ROLLBACK');
      throw error;
    }
  }

  private write<T>(work: () => T): Promise<T> {
    return this.answer(() => this.transaction(work), 'written');
  }

  /** Returns what `work` does, or how it failed, as a promise. */
  private async answer<T>(work: () => T, what: 'read' | 'written' = 'read'): Promise<T> {
    try {
      return work();
    } catch (error) {
      throw error instanceof PawlError ? error : this.failed(what, error);
    }
  }

  private failed(what: 'opened' | 'read' | 'written', error: unknown): PawlError {
    const Kind = what === 'written' && !this.database.isOpen ? UnsentError : PawlError;
    return new Kind('journal_failed', `The journal ${this.file} cannot be ${what}: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}
