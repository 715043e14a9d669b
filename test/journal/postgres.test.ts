import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { resumeSession, runSession, startSession } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres.ts';
import { assertInvariants, journalConformance } from '../../src/testing/index.ts';
import { holding, until, workingAgent } from '../support/journaled.ts';
import { pgbouncer, startPgBouncer } from '../support/pgbouncer.ts';
import { type Postgres, postgresFolder, startPostgres } from '../support/postgres.ts';
import { keptLog } from '../support/session.ts';
import { startSilentProxy } from '../support/silent-proxy.ts';

if (pgbouncer === null) process.stderr.write('No PgBouncer from Debian (apt-get install pgbouncer): skipped.\n');
if (postgresFolder === null) process.stderr.write('No PostgreSQL from Debian (apt-get install postgresql): skipped.\n');

describe.skipIf(postgresFolder === null)('D-3: the journal in PostgreSQL', async () => {
  const server: Postgres | null = postgresFolder === null ? null : await startPostgres(postgresFolder);
  const url = server?.url ?? '';
  afterAll(() => server?.stop());

  for (const { name, check } of journalConformance((options) => postgresJournal(url, options))) it(name, check);

  it('a session runs, ends, and gives its result again', async () => {
    const journal = postgresJournal(url, { schema: 'another' });
    const { agent, model } = workingAgent();
    const result = await runSession(agent, { prompt: 'Go.', journal, sessionId: 's', logger: false });
    assertInvariants(result);
    expect(result.success).toBe(true);
    expect(await (await resumeSession(agent, { journal, sessionId: 's', logger: false })).result).toEqual(result);
    expect(model.requests).toHaveLength(2);
    await journal.close();
  });

  it('a server that crashes in the middle suspends the session, which resumes when the server is back', async () => {
    const journal = postgresJournal(url, { leaseMs: 1_000 });
    const { held, agent } = holding();
    const { lines, logger } = keptLog();
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 'crashed', logger });
    await until(() => held.runs === 1);
    await server?.kill();
    held.finish('done');
    const suspended = await session.result;
    expect(suspended).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(lines.filter(({ level }) => level >= 50)).toHaveLength(1);
    await expect(resumeSession(agent, { journal, sessionId: 'crashed', logger: false })).rejects.toMatchObject({
      code: 'journal_failed',
    });
    await server?.start();
    // Its lease could not be given back.
    for (;;) {
      const resumed = await resumeSession(agent, { journal, sessionId: 'crashed', logger: false }).catch((error) => {
        expect(error).toMatchObject({ code: 'session_taken' });
        return null;
      });
      if (resumed === null) continue;
      const result = await resumed.result;
      assertInvariants(result);
      expect(result.success).toBe(true);
      expect(result.turns[0]?.attempts[0]?.calls[0]).toMatchObject({ slug: 'interrupted', executed: true });
      break;
    }
    await journal.close();
  }, 30_000);

  it('D-5: a server that stops answering, on connections that stay open, suspends the session', async () => {
    const proxy = await startSilentProxy(Number(new URL(url).port));
    const through = new URL(url);
    through.port = String(proxy.port);
    const journal = postgresJournal(through.href, { timeoutMs: 2_000 });
    const { held, agent } = holding();
    const session = startSession(agent, { prompt: 'Go.', journal, sessionId: 'unanswered', logger: false });
    await until(() => held.runs === 1);
    proxy.silence();
    held.finish('done');
    const suspended = await session.result;
    expect(suspended).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
    expect(suspended.failure?.detail).toMatch(/^The journal in PostgreSQL cannot be used: .*timeout/);
    // New connections are not answered either.
    const late = { code: 'journal_failed', message: expect.stringContaining('timeout') };
    await expect(journal.list({})).rejects.toMatchObject(late);
    proxy.restore();
    const [row] = await journal.list({ sessionId: 'unanswered' });
    expect(row?.entries).toBeGreaterThan(0);
    proxy.silence();
    const waiting = expect(journal.read('unanswered')).rejects.toMatchObject(late);
    await new Promise(setImmediate);
    await journal.close();
    await waiting;
    await proxy.stop();
  }, 30_000);

  it('a user without the right to create schemas needs only one of its own', async () => {
    const admin = new Client(url);
    await admin.connect();
    await admin.query('CREATE ROLE limited LOGIN; CREATE SCHEMA owned AUTHORIZATION limited');
    await admin.end();
    const limited = url.replace('postgres://pawl@', 'postgres://limited@');
    const [own, foreign] = ['owned', 'not_there'].map((schema) => postgresJournal(limited, { schema }));
    expect(await own?.list({})).toEqual([]);
    await expect(foreign?.list({})).rejects.toMatchObject({
      code: 'journal_failed',
      message: expect.stringContaining('permission denied'),
    });
    await Promise.all([own?.close(), foreign?.close()]);
  });

  it('what is written is durable, even if the server or the user would rather be fast', async () => {
    const admin = new Client(url);
    await admin.connect();
    await admin.query('CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET synchronous_commit = off');
    const journal = postgresJournal(url.replace('postgres://pawl@', 'postgres://hasty@'), { schema: 'lasting' });
    expect(await journal.list({})).toEqual([]);
    await admin.query(`
      CREATE TABLE lasting.seen (name text, setting text);
      CREATE FUNCTION lasting.see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO lasting.seen VALUES (TG_TABLE_NAME, current_setting('synchronous_commit'));
        RETURN NULL;
      END $$;
      CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON lasting.entries DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION lasting.see();
      CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON lasting.inbox DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION lasting.see();
    `);
    const entry = { scope: '', type: 'begun', key: 'a', at: 1 } as const;
    await journal.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'o', entries: [entry] });
    await journal.append('s', { owner: 'o', after: 1, entries: [entry] });
    expect(await journal.post('s', { type: 'session.stop' })).toBe(true);
    const { rows } = await admin.query('SELECT name, setting FROM lasting.seen');
    expect(rows).toEqual(['entries', 'entries', 'inbox'].map((name) => ({ name, setting: 'on' })));
    // A stricter setting, which waits for the replicas, is kept.
    await journal.close();
    await admin.query('TRUNCATE lasting.seen; ALTER ROLE hasty SET synchronous_commit = remote_apply');
    const patient = postgresJournal(url.replace('postgres://pawl@', 'postgres://hasty@'), { schema: 'lasting' });
    await patient.append('s', { owner: 'o', after: 2, entries: [entry] });
    expect((await admin.query('SELECT setting FROM lasting.seen')).rows).toEqual([{ setting: 'remote_apply' }]);
    await Promise.all([patient.close(), admin.end()]);
  });

  it('tables that could not be made are made once nothing stands in the way', async () => {
    const admin = new Client(url);
    await admin.connect();
    await admin.query('CREATE SCHEMA blocked; CREATE TABLE blocked.sessions (id text)');
    const journal = postgresJournal(url, { schema: 'blocked', connections: 1 });
    await expect(journal.list({})).rejects.toMatchObject({ code: 'journal_failed' });
    await admin.query('DROP TABLE blocked.sessions');
    await admin.end();
    expect(await journal.list({})).toEqual([]);
    await journal.close();
  });

  it('what cannot be used is refused', async () => {
    expect(() => postgresJournal('')).toThrow(expect.objectContaining({ code: 'invalid_options' }));
    expect(() => postgresJournal(url, { schema: 'Not; a name' })).toThrow(
      '`options.schema` must be a name of lower-case',
    );
    const journal = postgresJournal('postgres://pawl@127.0.0.1:1/none');
    const result = await runSession(workingAgent().agent, { prompt: 'Go.', journal, logger: false });
    // It cannot even be asked whether it holds the session.
    expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'], counters: { requests: 0 } });
    await journal.close();
  });
});

describe.skipIf(postgresFolder === null || pgbouncer === null)('D-3: behind a pooler of transactions', async () => {
  const server = postgresFolder === null || pgbouncer === null ? null : await startPostgres(postgresFolder);
  const pooler = server === null || pgbouncer === null ? null : await startPgBouncer(pgbouncer, server.url);
  afterAll(async () => {
    await pooler?.stop();
    await server?.stop();
  });
  const url = pooler?.url ?? '';

  for (const { name, check } of journalConformance((options) => postgresJournal(url, options))) it(name, check);
});
