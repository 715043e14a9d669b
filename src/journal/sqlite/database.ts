import type { BigIntStats } from 'node:fs';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { eventLoop } from '../../host/event-loop.ts';
import { PawlError, reasonOf } from '../../input/errors.ts';
import { builtin } from '../../platform/node.ts';
import { UnsentError } from '../journal-errors.ts';
import { databaseOpened } from '../open-databases.ts';
import { applicationId, schema, schemaVersion } from './schema.ts';

/** How long a write waits for one of another process, in ms. */
const busyMs = 5_000;
const busyLookMs = 5;
const sqliteBusy = 5;
/** How long the file of recent writes is waited for, before it stays as it is. */
const shrinkBusyMs = 250;

/**
 * A journal's database. What it does blocks the process, so other work has its turn before each read and write. Throws
 * `journal_failed` for what fails.
 */
export class Database {
  private readonly file: string;
  private readonly database: DatabaseSync;
  private readonly statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  private readonly closed: () => void;
  /** How much waits for its turn. */
  private waiting = 0;
  private isClosing = false;
  /** What is at its path now; null for a database in memory. */
  private readonly found: () => BigIntStats | undefined | null;
  private readonly opened: BigIntStats | undefined | null;

  constructor(file: string) {
    this.file = file;
    const sqlite = builtin('node:sqlite');
    const fs = builtin('node:fs');
    if (sqlite === undefined || fs === undefined)
      throw this.failed('opened', new Error('it needs Node 22.13 or later, for node:sqlite'));
    let opened: DatabaseSync | null = null;
    try {
      const isFile = file !== ':memory:';
      // Only its owner may read it: it holds conversations.
      if (isFile && !fs.existsSync(file)) fs.closeSync(fs.openSync(file, 'a', 0o600));
      opened = new sqlite.DatabaseSync(file);
      this.database = opened;
      this.database.exec(`PRAGMA busy_timeout = ${busyMs}`);
      // What is deleted is overwritten.
      this.database.exec('PRAGMA secure_delete = ON');
      this.checkSchema();
      this.waitsFor('PRAGMA journal_mode = WAL');
      this.database.exec('PRAGMA synchronous = FULL');
      this.closed = isFile ? databaseOpened(fs.realpathSync(file)) : () => {};
      // A later change of the working directory must not matter.
      const path = /^([a-z]:)?[\\/]/i.test(file) ? file : `${fs.realpathSync('.')}/${file}`;
      this.found = () => (isFile ? fs.statSync(path, { bigint: true, throwIfNoEntry: false }) : null);
      this.opened = this.found();
    } catch (error) {
      opened?.close();
      throw error instanceof PawlError ? error : this.failed('opened', error);
    }
  }

  get isOpen(): boolean {
    return this.database.isOpen && !this.isClosing;
  }

  /** Closes it at once, or after what waits for its turn. */
  async close(): Promise<void> {
    this.isClosing = true;
    if (this.waiting > 0) await eventLoop.turn();
    this.statements.clear();
    if (!this.database.isOpen) return;
    this.database.close();
    this.closed();
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.statement(sql).run(...values);
  }

  all<T>(sql: string, ...values: SQLInputValue[]): T[] {
    return this.statement(sql).all(...values) as T[];
  }

  /** Returns rows one at a time, as long as they are asked for. */
  each<T>(sql: string, ...values: SQLInputValue[]): IterableIterator<T> {
    return this.statement(sql).iterate(...values) as IterableIterator<T>;
  }

  /** Returns what `work` reads. */
  read<T>(work: () => T): Promise<T> {
    return this.answer(work, 'read');
  }

  /** Returns what `work` reads of one moment, although another process may write meanwhile. */
  readWhole<T>(work: () => T): Promise<T> {
    return this.answer(() => this.transaction(work, 'BEGIN'), 'read');
  }

  /** Does `work` as a whole, or not at all. */
  write<T>(work: () => T): Promise<T> {
    return this.answer(() => {
      this.checkFile();
      return this.transaction(work);
    }, 'written');
  }

  /** Throws if the path now leads to another file: no other process would read what is written to this one. */
  private checkFile(): void {
    const found = this.found();
    if (found?.ino === this.opened?.ino && found?.dev === this.opened?.dev) return;
    const what = found === undefined ? 'moved or deleted' : 'replaced by another file';
    throw new UnsentError('journal_failed', `The journal ${this.file} was ${what} while it was open.`);
  }

  /**
   * Frees the space of what was deleted, and takes its old text out of the file of recent writes. While others read that
   * file it stays as it is, until the next time.
   */
  shrink(): Promise<void> {
    return this.answer(() => {
      this.database.exec(`PRAGMA busy_timeout = ${shrinkBusyMs}`);
      try {
        this.database.exec('PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)');
      } catch (error) {
        if (!isBusy(error)) throw error;
      } finally {
        this.database.exec(`PRAGMA busy_timeout = ${busyMs}`);
      }
    }, 'written');
  }

  /** Runs what SQLite does not wait with while another process writes. */
  private waitsFor(sql: string): void {
    const until = Date.now() + busyMs;
    for (;;) {
      try {
        this.database.exec(sql);
        return;
      } catch (error) {
        if (!isBusy(error) || Date.now() > until) throw error;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, busyLookMs);
      }
    }
  }

  private statement(sql: string) {
    const known = this.statements.get(sql) ?? this.database.prepare(sql);
    this.statements.set(sql, known);
    return known;
  }

  /** Creates the tables in a new file. Throws if the file is not a journal of this version. */
  private checkSchema(): void {
    const pragma = (name: string) => Number(Object.values(this.database.prepare(`PRAGMA ${name}`).get() ?? {})[0]);
    const tables = () => this.database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables;
    if (pragma('application_id') === 0 && pragma('user_version') === 0) {
      // Whether a file can shrink is decided before it has a table.
      if (tables() === 0) this.waitsFor('PRAGMA auto_vacuum = INCREMENTAL');
      this.transaction(() => {
        // Another process may just have done it.
        if (pragma('application_id') !== 0) return;
        if (tables() !== 0) throw this.foreign();
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

  private transaction<T>(work: () => T, begin: 'BEGIN' | 'BEGIN IMMEDIATE' = 'BEGIN IMMEDIATE'): T {
    this.database.exec(begin);
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

  private async answer<T>(work: () => T, what: 'read' | 'written'): Promise<T> {
    if (eventLoop.isDue) {
      this.waiting += 1;
      await eventLoop.turn();
      this.waiting -= 1;
    }
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

/** Whether another process writes. */
function isBusy(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy;
}
