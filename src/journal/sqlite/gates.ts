import { type GateStore, unknownGate } from '../../shared/gate-store.ts';
import type { Database } from './database.ts';

/** A separate table, created when a gate is first shared. */
const table = `CREATE TABLE IF NOT EXISTS gates (
  name TEXT NOT NULL PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL
) STRICT, WITHOUT ROWID`;

const put = `INSERT INTO gates VALUES (?1, 1, ?3) ON CONFLICT DO UPDATE
  SET version = version + 1, state = excluded.state WHERE version = ?2 RETURNING version`;

/** Keeps shared gates in a SQLite journal. */
export function sqliteGates(database: Database): GateStore {
  const within = <T>(work: () => T) =>
    database.write(() => {
      database.run(table);
      return work();
    });
  return {
    read: (gate) =>
      within(() => {
        const sql = 'SELECT version, state FROM gates WHERE name = ?';
        const [{ version, state } = unknownGate] = database.all<typeof unknownGate>(sql, gate);
        return { version, state, now: Date.now() };
      }),
    write: (gate, version, state) => within(() => database.all(put, gate, version, state).length > 0),
  };
}
