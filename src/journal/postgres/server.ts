import { Client, DatabaseError, Pool, type PoolClient, type PoolConfig } from 'pg';
import { PawlError, reasonOf } from '../../input/errors.ts';
import { UnansweredError, UnsentError } from '../journal-errors.ts';

/** How many times a statement that collides with others is run at most. */
const tries = 20;
/** A transaction that saw what another one has changed since, and a deadlock: neither has done anything. */
const collisions = new Set<string | null>(['40001', '40P01']);

/** Runs statements on a server, each as one transaction. */
export class PostgresServer {
  private readonly pool: Pool;
  private closed: Promise<void> | null = null;

  /** Throws `invalid_options` for a connection string that cannot be read. */
  constructor(config: PoolConfig) {
    checkConfig(config);
    this.pool = new Pool(config);
    // An idle connection broke; the next statement opens another, and tells if it cannot.
    this.pool.on('error', ignore);
    // A connection may break in the packet that accepts it, or during a statement, which then fails: the event tells no more.
    this.pool.on('connect', (client) => client.on('error', ignore));
  }

  async run<T extends object>(sql: string, values: readonly unknown[]): Promise<T[]> {
    const client = await this.connected();
    let broken: Error | undefined;
    try {
      for (let left = tries - 1; ; left -= 1) {
        try {
          return (await client.query<T>(sql, [...values])).rows;
        } catch (error) {
          if (left === 0 || !collisions.has(stateOf(error))) throw error;
        }
      }
    } catch (error) {
      const state = stateOf(error);
      if (state === null) broken = error instanceof Error ? error : new Error(String(error));
      throw state === null || isUncertain(state)
        ? new UnansweredError(...failure(error))
        : new PawlError(...failure(error));
    } finally {
      // Without an answer, the connection may still be busy.
      client.release(broken);
    }
  }

  private async connected(): Promise<PoolClient> {
    try {
      return await this.pool.connect();
    } catch (error) {
      throw new UnsentError(...failure(error));
    }
  }

  get isClosed(): boolean {
    return this.closed !== null;
  }

  close(): Promise<void> {
    this.closed ??= this.pool.end();
    return this.closed;
  }
}

const ignore = () => undefined;

function checkConfig(config: PoolConfig): void {
  try {
    new Client(config);
  } catch (error) {
    // The error holds the URL, which may hold a password.
    const hint = 'In a URL, characters such as # and / of a password are written %23 and %2F.';
    throw new PawlError('invalid_options', `\`connectionString\` cannot be read: ${reasonOf(error)}. ${hint}`);
  }
}

function failure(error: unknown): ['journal_failed', string, ErrorOptions] {
  return ['journal_failed', `The journal in PostgreSQL cannot be used: ${reasonOf(error)}.`, { cause: error }];
}

/** The code with which the server refused a statement (SQLSTATE); null if it gave no answer. */
function stateOf(error: unknown): string | null {
  return (error instanceof DatabaseError && error.code) || null;
}

/** Whether a statement may be done although the server broke off: it shut down, or lost the connection. */
function isUncertain(state: string): boolean {
  return state.startsWith('08') || state.startsWith('57P') || state === '40003';
}
