import { z } from 'zod';
import { check } from '../../input/check.ts';
import { PawlError, reasonOf } from '../../input/errors.ts';
import { nonBlank } from '../../input/shapes.ts';
import { builtin } from '../../platform/node.ts';
import type { CachedValue, CacheStore } from '../../tools/running/cache.ts';

/**
 * Keeps the values of tools in a SQLite file of its own, which several processes may open; `:memory:` is for tests. Values
 * whose time is over are deleted now and then. Throws `invalid_options`, and `journal_failed` without `node:sqlite`.
 */
export function sqliteCache(file: string): CacheStore & { close(): void } {
  check(z.object({ file: nonBlank }), { file }, '', 'invalid_options');
  const sqlite = builtin('node:sqlite');
  if (sqlite === undefined)
    throw new PawlError('journal_failed', 'sqliteCache needs Node 22.13 or later, for node:sqlite.');
  const database = opened(() => new sqlite.DatabaseSync(file), file);
  const read = database.prepare('SELECT value, at FROM cache WHERE key = ?');
  const write = database.prepare('INSERT OR REPLACE INTO cache VALUES (?, ?, ?, ?)');
  const expire = database.prepare('DELETE FROM cache WHERE until < ?');
  let writes = 0;
  return {
    get: (key) => {
      const row = read.get(key);
      return row === undefined ? undefined : { value: JSON.parse(String(row.value)), at: Number(row.at) };
    },
    set: (key, { value, at }: CachedValue, ttlMs) => {
      write.run(key, JSON.stringify(value), Math.round(at), Math.round(at + ttlMs));
      writes += 1;
      if (writes % 100 === 0) expire.run(Math.round(at));
    },
    close: () => database.close(),
  };
}

const schema = `PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS cache (key TEXT PRIMARY KEY, value TEXT NOT NULL, at INTEGER NOT NULL, until INTEGER NOT NULL) STRICT`;

function opened<Database extends { exec(sql: string): void }>(open: () => Database, file: string): Database {
  try {
    const database = open();
    database.exec(schema);
    return database;
  } catch (cause) {
    throw new PawlError('journal_failed', `The cache ${file} cannot be opened: ${reasonOf(cause)}.`, { cause });
  }
}
