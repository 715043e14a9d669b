import { type GateStore, type KeptGate, unknownGate } from '../../shared/gate-store.ts';

type Run = <T extends object>(sql: string, values: readonly unknown[]) => Promise<T[]>;

const read = `SELECT version::double precision, state, (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now
  FROM (SELECT 1) AS one LEFT JOIN $.gates ON name = $1`;

const put = `INSERT INTO $.gates AS kept VALUES ($1, 1, $3) ON CONFLICT (name) DO UPDATE
  SET version = kept.version + 1, state = excluded.state WHERE kept.version = $2 RETURNING name`;

/** Keeps shared gates in a PostgreSQL journal. `run` runs one statement, which is one transaction. */
export function postgresGates(run: Run): GateStore {
  return {
    async read(gate) {
      const [{ version, state, now } = { version: null, state: null, now: 0 }] = await run<
        KeptGate | { version: null; state: null; now: number }
      >(read, [gate]);
      return version === null ? { ...unknownGate, now } : { version, state, now };
    },
    async write(gate, version, state) {
      return (await run(put, [gate, version, state])).length > 0;
    },
  };
}
