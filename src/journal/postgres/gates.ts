import { type GateStore, type KeptGate, unknownGate } from '../../shared/gate-store.ts';

type Run = <T extends object>(sql: string, values: readonly unknown[]) => Promise<T[]>;

/** A separate table, created when a gate is first shared. */
const table =
  'CREATE TABLE IF NOT EXISTS $.gates (name text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL)';

const read = `SELECT version::double precision, state, (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now
  FROM (SELECT 1) AS one LEFT JOIN $.gates ON name = $1`;

const put = `INSERT INTO $.gates AS kept VALUES ($1, 1, $3) ON CONFLICT (name) DO UPDATE
  SET version = kept.version + 1, state = excluded.state WHERE kept.version = $2 RETURNING name`;

/**
 * Keeps shared gates in a PostgreSQL journal. `run` runs one statement, which is one transaction. `lock` is what makes
 * tables, one process at a time.
 */
export function postgresGates(run: Run, lock: (sql: string) => Promise<unknown>): GateStore {
  let ready: Promise<unknown> | null = null;
  const prepared = async () => {
    ready ??= lock(table).catch((error) => {
      ready = null;
      throw error;
    });
    await ready;
  };
  return {
    async read(gate) {
      await prepared();
      const [{ version, state, now } = { version: null, state: null, now: 0 }] = await run<
        KeptGate | { version: null; state: null; now: number }
      >(read, [gate]);
      return version === null ? { ...unknownGate, now } : { version, state, now };
    },
    async write(gate, version, state) {
      await prepared();
      return (await run(put, [gate, version, state])).length > 0;
    },
  };
}
