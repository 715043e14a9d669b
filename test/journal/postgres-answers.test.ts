import { DatabaseError } from 'pg';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { PawlError } from '../../src/index.ts';
import { UnansweredError, UnsentError } from '../../src/journal/journal-errors.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { PostgresServer } from '../../src/journal/postgres/server.ts';

/** What the server says to each statement, and how the connection was given back. */
const fresh = () => ({
  ...{ says: [] as unknown[], statements: 0, released: [] as unknown[] },
  ...{ refuses: null as Error | null, config: {} as object },
});
const server = fresh();
beforeEach(() => void Object.assign(server, fresh()));

vi.mock('pg', async (importActual) => ({
  ...(await importActual<object>()),
  Pool: class {
    constructor(config: object) {
      server.config = config;
    }
    on() {}
    connect() {
      if (server.refuses !== null) throw server.refuses;
      return this.connected();
    }
    async connected() {
      return {
        release: (broken: unknown) => void server.released.push(broken),
        query: async () => {
          server.statements += 1;
          const said = server.says.shift() ?? { rows: [] };
          if (said instanceof Error) throw said;
          return said;
        },
      };
    }
  },
}));

const refusal = (code?: string) => Object.assign(new DatabaseError('no', 2, 'error'), { code, severity: 'ERROR' });
const run = () => new PostgresServer({}).run('SELECT 1', []).catch((error: unknown) => error);

describe('D-3: what is known of a statement that failed', () => {
  it.each(['23505', '42P01', '53100', '57014', '28P01', '25006'])('%s: the server did not do it', async (code) => {
    server.says = [refusal(code)];
    const error = await run();
    expect(error).toBeInstanceOf(PawlError);
    expect([error instanceof UnansweredError, error instanceof UnsentError]).toEqual([false, false]);
    expect(error).toMatchObject({ code: 'journal_failed', cause: { code } });
    // The connection can be used again.
    expect([server.released, server.statements]).toEqual([[undefined], 1]);
  });

  it.each(['08006', '57P01', '57P02', '57P03', '40003'])('%s: it broke off, so that is unknown', async (code) => {
    server.says = [refusal(code)];
    expect(await run()).toBeInstanceOf(UnansweredError);
    expect(server.statements).toBe(1);
  });

  it.each([
    ['a connection that was reset', Object.assign(new Error('read'), { code: 'ECONNRESET' })],
    ['no answer in time', new Error('Query read timeout')],
    ['no code', refusal()],
  ])('%s: that is unknown, and the connection is not used again', async (_, error) => {
    server.says = [error];
    expect(await run()).toBeInstanceOf(UnansweredError);
    expect(server.released).toEqual([error]);
  });

  it('no connection, even if none can be made: it was not sent', async () => {
    server.refuses = new Error('certificate expired');
    const error = await run();
    expect(error).toBeInstanceOf(UnsentError);
    expect(error).toMatchObject({ code: 'journal_failed', message: expect.stringContaining('certificate expired') });
    expect(server.statements).toBe(0);
  });

  it('one that collides with others is run again, twenty times at most', async () => {
    server.says = [refusal('40001'), refusal('40P01'), { rows: [{ one: 1 }] }];
    expect(await run()).toEqual([{ one: 1 }]);
    expect([server.statements, server.released]).toEqual([3, [undefined]]);
    Object.assign(server, { says: Array.from({ length: 99 }, () => refusal('40001')), statements: 0 });
    expect(await run()).toMatchObject({ cause: { code: '40001' } });
    expect(server.statements).toBe(20);
  });

  it('while the journal connects for the first time, nothing was sent yet; the error keeps its cause', async () => {
    server.says = [refusal('53300')];
    const error = await postgresJournal('postgres://host/database')
      .list({})
      .catch((one: unknown) => one);
    expect(error).toBeInstanceOf(UnsentError);
    expect(error).toMatchObject({ code: 'journal_failed', cause: { code: '53300' } });
  });
});

it('D-3: a statement gets half a lease, and at least 5 s', () => {
  const url = 'postgres://host/database';
  postgresJournal(url, { leaseMs: 30_001 });
  expect(server.config).toMatchObject({ connectionTimeoutMillis: 15_001, query_timeout: 15_001, max: 10 });
  postgresJournal(url, { leaseMs: 4_000, connections: 3 });
  expect(server.config).toMatchObject({ connectionTimeoutMillis: 5_000, query_timeout: 5_000, max: 3 });
});

it.each([
  ['', undefined, '`connectionString`'],
  ['postgres://host:port/database', undefined, '`connectionString` cannot be read'],
  ['postgres://host/database', { leaseMs: 0 }, '`options.leaseMs`'],
])('%s with the options %j is refused as invalid', (url, options, problem) => {
  expect(() => postgresJournal(url, options)).toThrow(
    expect.objectContaining({ code: 'invalid_options', message: expect.stringContaining(problem) }),
  );
});
