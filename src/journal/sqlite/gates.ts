import { type GateStore, unknownGate } from '../../shared/gate-store.ts';
import type { Database } from './database.ts';

const put = `INSERT INTO gates VALUES (?1, 1, ?3) ON CONFLICT DO UPDATE
  SET version = version + 1, state = excluded.state WHERE version = ?2 RETURNING version`;

/** Keeps shared gates in a SQLite journal. */
export function sqliteGates(database: Database): GateStore {
  return {
    read: (gate) =>
      database.read(() => {
        const sql = 'SELECT version, state FROM gates WHERE name = ?';
        const [{ version, state } = unknownGate] = database.all<typeof unknownGate>(sql, gate);
        return { version, state, now: Date.now() };
      }),
    write: (gate, version, state) => database.write(() => database.all(put, gate, version, state).length > 0),
  };
}
