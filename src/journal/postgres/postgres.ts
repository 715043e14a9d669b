import { z } from 'zod';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { milliseconds } from '../../input/shapes.ts';
import type { BudgetStore } from '../../shared/budget-store.ts';
import type { GateStore } from '../../shared/gate-store.ts';
import { parsedInTurns } from '../entries.ts';
import {
  type Append,
  callDecidedBy,
  callText,
  type Journal,
  type JournalEntry,
  type JournaledSession,
  matchesQuery,
  type SessionMessage,
  type SessionQuery,
  undecided,
} from '../journal.ts';
import { doesNotRun, exists, incomplete, noLongerOwned, runsElsewhere, UnsentError } from '../journal-errors.ts';
import { postgresBudgets } from './budgets.ts';
import { postgresGates } from './gates.ts';
import { PostgresServer } from './server.ts';
import { prepareTables } from './tables.ts';

export type PostgresJournalOptions = {
  /** How long a session belongs to its process without a sign of life from it, in ms. Default: 10,000. */
  leaseMs?: number;
  /** The schema of the tables, which is made if there is none. Default: `pawl`. */
  schema?: string;
  /** The most connections that this process opens. Default: 10. */
  connections?: number;
  /**
   * How long to wait for a connection, and for the answer to a statement, in ms: one that takes longer fails, done or not.
   * More than half of `leaseMs` lets a lease run out when one renewal is lost. Default: half of it, but at least 5,000.
   */
  timeoutMs?: number;
};

const aUrl = 'a URL, such as postgres://user:password@host/database, or the folder of a socket';
const connectionSchema = z.object({
  connectionString: z.string({ error: aUrl }).regex(/^(postgres(ql)?:\/\/|socket:|\/)/, { error: aUrl }),
});
const aSchema = 'a name of lower-case letters, digits and _ that does not begin with pg_';
const optionsSchema = z.strictObject({
  leaseMs: milliseconds.default(10_000),
  schema: z
    .string({ error: aSchema })
    .regex(/^(?!pg_)[a-z_][a-z0-9_]{0,62}$/, { error: aSchema })
    .default('pawl'),
  connections: z.int({ error: 'an integer of at least 1' }).min(1, { error: 'an integer of at least 1' }).default(10),
  timeoutMs: milliseconds.optional(),
} satisfies Record<keyof PostgresJournalOptions, z.ZodType>);

/** Epoch ms on the server's clock, which all processes share. */
const now = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint';

/**
 * Makes the transaction of its statement durable, whatever the server's default. A setting of the connection would not do:
 * poolers such as PgBouncer refuse it, or give each transaction another connection.
 */
const durable = `durable AS (
  SELECT set_config('synchronous_commit', CASE WHEN now IN ('off', 'local') THEN 'on' ELSE now END, true)
  FROM current_setting('synchronous_commit') AS now
)`;

type Row = Pick<JournaledSession, 'agent'> & {
  id: string;
  metadata: string;
  ended: JournaledSession['status'] | null;
  slugs: string;
  waiting: string;
  created: string;
  updated: string;
  entries: string;
  held: boolean;
  /** The messages of its inbox, as JSON. */
  inbox: string[];
};

/**
 * A journal in PostgreSQL 12 or later, which processes on several machines may share. Every append is durable when it
 * resolves (`synchronous_commit`), also through a pooler of transactions such as PgBouncer. Connects on first use, and
 * makes its tables. Throws `PawlError` (`invalid_options`); what the server refuses, or does not answer, rejects with
 * `journal_failed` or `invalid_journal`.
 */
export function postgresJournal(connectionString: string, options: PostgresJournalOptions = {}): Journal {
  check(connectionSchema, { connectionString }, '', 'invalid_options');
  const checked = check(optionsSchema, options, 'options', 'invalid_options');
  const { leaseMs, schema, connections, timeoutMs = Math.max(5_000, Math.ceil(leaseMs / 2)) } = checked;
  const config = { connectionString, max: connections, connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
  return new PostgresJournal(new PostgresServer(config), schema, leaseMs);
}

class PostgresJournal implements Journal {
  readonly leaseMs: number;
  readonly budgets: BudgetStore;
  readonly gates: GateStore;
  private readonly server: PostgresServer;
  private readonly schema: string;
  private ready: Promise<void> | null = null;

  constructor(server: PostgresServer, schema: string, leaseMs: number) {
    this.leaseMs = leaseMs;
    this.server = server;
    this.schema = schema;
    const query = <T extends object>(sql: string, values: readonly unknown[]) => this.query<T>(sql, values);
    this.budgets = postgresBudgets(query);
    this.gates = postgresGates(query);
  }

  async create({ sessionId, agent, metadata }: Parameters<Journal['create']>[0], append: Omit<Append, 'after'>) {
    const { owner, entries } = append;
    const made = await this.query(
      `WITH made AS (
         INSERT INTO $.sessions (id, agent, metadata, slugs, waiting, created, updated, entries, owner, leased)
         VALUES ($1, $2, $7, '[]', '[]', ${now}, ${now}, $3, $4, ${now} + $5) ON CONFLICT (id) DO NOTHING RETURNING number
       ), written AS (${insertion('made', 0)}), ${durable}
       SELECT number FROM made, durable`,
      [sessionId, agent, entries.length, owner, this.leaseMs, texts(entries), JSON.stringify(metadata)],
    );
    if (made.length === 0) throw exists(sessionId);
  }

  async append(sessionId: string, { owner, after, entries, change = {}, taken = [] }: Append) {
    // Undefined remains undefined, which is sent as NULL.
    const json = (list: readonly unknown[] | undefined) => JSON.stringify(list);
    const held = await this.query(
      `WITH held AS (
         UPDATE $.sessions SET entries = $3::bigint + cardinality($6::text[]), updated = ${now}, leased = ${now} + $7,
           ended = coalesce($4, ended), slugs = coalesce($5, slugs), waiting = coalesce($8, waiting)
         WHERE id = $1 AND owner = $2 AND entries = $3::bigint RETURNING number
       ), written AS (${insertion('held', '$3::bigint')}),
       taken AS (DELETE FROM $.inbox WHERE id = ANY ($9::bigint[]) AND session IN (SELECT number FROM held)),
       ${durable}
       SELECT number FROM held, durable`,
      [
        sessionId,
        owner,
        after,
        change.status,
        json(change.slugs),
        texts(entries),
        this.leaseMs,
        change.waitingCalls === undefined ? undefined : `[${change.waitingCalls.map(callText).join()}]`,
        taken,
      ],
    );
    if (held.length > 0) return;
    const known = await this.query('SELECT 1 FROM $.sessions WHERE id = $1', [sessionId]);
    throw known.length === 0 ? doesNotRun(sessionId) : noLongerOwned(sessionId);
  }

  async read(sessionId: string, after = 0) {
    const rows = await this.query<{ entry: string | null; known: string }>(
      `SELECT entry, entries AS known FROM $.sessions LEFT JOIN $.entries ON session = number AND position > $2
       WHERE id = $1 ORDER BY position`,
      [sessionId, after],
    );
    const texts = rows.flatMap(({ entry }) => (entry === null ? [] : [entry]));
    const known = Number(rows[0]?.known ?? 0);
    if (texts.length !== Math.max(0, known - after)) throw incomplete(sessionId, after + texts.length, known);
    return parsedInTurns(texts);
  }

  async lease(sessionId: string, owner: string) {
    const taken = await this.query(
      `UPDATE $.sessions SET owner = $2, leased = ${now} + $3
       WHERE id = $1 AND (owner IS NULL OR owner = $2 OR leased <= ${now}) RETURNING number`,
      [sessionId, owner, this.leaseMs],
    );
    return taken.length > 0;
  }

  async renew(sessionId: string, owner: string) {
    const renewed = await this.query(
      `UPDATE $.sessions SET leased = ${now} + $3 WHERE id = $1 AND owner = $2 RETURNING number`,
      [sessionId, owner, this.leaseMs],
    );
    return renewed.length > 0;
  }

  async release(sessionId: string, owner: string) {
    await this.query('UPDATE $.sessions SET owner = NULL, leased = 0 WHERE id = $1 AND owner = $2', [sessionId, owner]);
  }

  async post(sessionId: string, message: SessionMessage) {
    const call = callDecidedBy(message);
    // The lock on the row keeps its owner from taking a message for the call between the two looks.
    const posted = await this.query(
      `WITH ${durable}, row AS (
         SELECT number FROM $.sessions WHERE id = $1 AND ended IS NULL AND ($3::text IS NULL OR strpos(waiting, $3) > 0)
         FOR NO KEY UPDATE
       ) INSERT INTO $.inbox (session, message, call) SELECT number, $2, $3 FROM row, durable
       ON CONFLICT (session, md5(call)) DO NOTHING RETURNING id`,
      [sessionId, JSON.stringify(message), call === null ? null : callText(call)],
    );
    return posted.length > 0;
  }

  async inbox(sessionId: string) {
    const rows = await this.query<{ id: string; message: string }>(
      'SELECT inbox.id, message FROM $.inbox JOIN $.sessions ON session = number WHERE sessions.id = $1 ORDER BY inbox.id',
      [sessionId],
    );
    return rows.map(({ id, message }) => ({ id: Number(id), message: JSON.parse(message) as SessionMessage }));
  }

  async list(query: SessionQuery) {
    const { sessionId, idPrefix = '', agent, since = 0 } = query;
    const rows = await this.query<Row>(
      `SELECT *, owner IS NOT NULL AND leased > ${now} AS held,
         ARRAY(SELECT message FROM $.inbox WHERE session = number) AS inbox FROM $.sessions
       WHERE updated >= $1 AND agent = coalesce($2, agent) AND id = coalesce($3, id) AND starts_with(id, $4)
       ORDER BY updated DESC, number DESC`,
      [Math.min(Math.ceil(since), Number.MAX_SAFE_INTEGER), agent ?? null, sessionId ?? null, idPrefix],
    );
    return rows.map(sessionOf).filter((session) => matchesQuery(session, query));
  }

  async delete(sessionId: string) {
    const isFree = `ended IS NOT NULL OR owner IS NULL OR leased <= ${now}`;
    const deleted = await this.query(`DELETE FROM $.sessions WHERE id = $1 AND (${isFree}) RETURNING number`, [
      sessionId,
    ]);
    if (deleted.length > 0) return true;
    const known = await this.query('SELECT 1 FROM $.sessions WHERE id = $1', [sessionId]);
    if (known.length > 0) throw runsElsewhere(sessionId);
    return false;
  }

  get isClosed(): boolean {
    return this.server.isClosed;
  }

  close() {
    return this.server.close();
  }

  /** Runs one statement, which is one transaction. `$.` stands for the schema. */
  private async query<T extends object>(sql: string, values: readonly unknown[]): Promise<T[]> {
    this.ready ??= prepareTables(this.schema, (text, given) => this.run(text, given));
    await this.ready.catch((error) => {
      // A server that was not there may come back.
      this.ready = null;
      throw error instanceof PawlError ? new UnsentError(error.code, error.problems, { cause: error.cause }) : error;
    });
    return this.run<T>(sql, values);
  }

  private run<T extends object>(sql: string, values: readonly unknown[] = []): Promise<T[]> {
    return this.server.run<T>(sql.replaceAll('$.', `"${this.schema}".`), values);
  }
}

function texts(entries: readonly JournalEntry[]): string[] {
  return entries.map((entry) => JSON.stringify(entry));
}

/** Inserts the texts in the sixth parameter as the entries after position `after` of the session in `from`. */
function insertion(from: string, after: number | string): string {
  return `INSERT INTO $.entries (session, position, entry)
    SELECT number, ${after} + place, text FROM ${from}, unnest($6::text[]) WITH ORDINALITY AS new (text, place)`;
}

function sessionOf(row: Row): JournaledSession {
  return {
    sessionId: row.id,
    agent: row.agent,
    metadata: JSON.parse(row.metadata),
    status: row.ended ?? (row.held ? 'running' : 'suspended'),
    slugs: JSON.parse(row.slugs),
    ...undecided(
      JSON.parse(row.waiting),
      row.inbox.map((message) => JSON.parse(message)),
    ),
    createdAt: Number(row.created),
    updatedAt: Number(row.updated),
    entries: Number(row.entries),
  };
}
