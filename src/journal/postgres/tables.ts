import { PawlError } from '../../input/errors.ts';

const schemaVersion = 4;
/** Those that hold any text. SQL_ASCII keeps the bytes as they come, which are UTF-8. */
const encodings = ['UTF8', 'SQL_ASCII'];

const tables = `
  CREATE TABLE IF NOT EXISTS $.sessions (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL UNIQUE, agent text NOT NULL,
    metadata text NOT NULL, ended text, slugs text NOT NULL, waiting text NOT NULL, created bigint NOT NULL, updated bigint NOT NULL,
    entries bigint NOT NULL, owner text, leased bigint NOT NULL
  );
  CREATE INDEX IF NOT EXISTS sessions_updated ON $.sessions (updated);
  CREATE TABLE IF NOT EXISTS $.entries (
    session bigint NOT NULL REFERENCES $.sessions ON DELETE CASCADE, position bigint NOT NULL,
    entry text NOT NULL, PRIMARY KEY (session, position)
  );
  CREATE TABLE IF NOT EXISTS $.inbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message text NOT NULL,
    session bigint NOT NULL REFERENCES $.sessions ON DELETE CASCADE, call text
  );
  CREATE UNIQUE INDEX IF NOT EXISTS inbox_call ON $.inbox (session, md5(call));
  CREATE TABLE IF NOT EXISTS $.budgets (
    name text PRIMARY KEY, requests double precision NOT NULL, tokens double precision NOT NULL, cost double precision NOT NULL
  );
  CREATE TABLE IF NOT EXISTS $.budget_shares (
    budget text NOT NULL, session text NOT NULL, share text NOT NULL, requests double precision NOT NULL,
    tokens double precision NOT NULL, cost double precision NOT NULL, PRIMARY KEY (budget, session)
  );
  CREATE TABLE IF NOT EXISTS $.gates (name text PRIMARY KEY, version bigint NOT NULL, state text NOT NULL);
  CREATE TABLE IF NOT EXISTS $.version (version integer PRIMARY KEY);
  INSERT INTO $.version SELECT ${schemaVersion} WHERE NOT EXISTS (SELECT 1 FROM $.version);
`;

type Run = <T extends object>(sql: string, values?: readonly unknown[]) => Promise<T[]>;

/** Lets one process at a time make tables. Whatever the server's default, what comes after it sees what others did. */
const lockOf = (name: string) =>
  `SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(hashtext('pawl ${name}'))`;

/**
 * Makes the tables in the schema of this name, one process at a time, and checks their version. `run` runs statements in
 * one transaction, where `$.` stands for the schema. Throws `invalid_journal`.
 */
export async function prepareTables(name: string, run: Run): Promise<void> {
  const [refused] = await run<{ encoding: string }>(
    "SELECT current_setting('server_encoding') AS encoding WHERE current_setting('server_encoding') <> ALL ($1::text[])",
    [encodings],
  );
  if (refused !== undefined) {
    const message = `The database has the encoding ${refused.encoding}; a journal needs UTF8, since models may say anything.`;
    throw new PawlError('invalid_journal', message);
  }
  const [missing] = await run<{ schema: boolean }>(
    `SELECT to_regnamespace('"${name}"') IS NULL AS schema WHERE to_regclass('"${name}".version') IS NULL`,
  );
  if (missing !== undefined) {
    // Even IF NOT EXISTS needs the right to create schemas, which a user with a schema of its own may lack.
    const schema = missing.schema ? `CREATE SCHEMA IF NOT EXISTS "${name}";` : '';
    // Statements sent together are one transaction, which ends by itself if one of them fails.
    await run(`${lockOf(name)}; ${schema} ${tables}`);
  }
  const [found] = await run<{ version: number }>('SELECT version FROM $.version');
  if (found?.version === schemaVersion) return;
  const message = `The schema ${name} is a journal of ${found === undefined ? 'an unknown version' : `version ${found.version}`}; this release of Pawl reads version ${schemaVersion}.`;
  throw new PawlError('invalid_journal', message);
}
