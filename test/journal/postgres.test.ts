import { Client } from 'pg';
import { afterAll, describe, expect, it } from 'vitest';
import { type Journal, resumeSession, runSession, sqliteJournal, startSession } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { assertInvariants, journalConformance } from '../../src/testing/index.ts';
import { holding, quiet, until, workingAgent } from '../support/journaled.ts';
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
    for (const address of ['', 'nonsense', 'mysql://db', 'user:password@db'])
      expect(() => postgresJournal(address)).toThrow(/^`connectionString` must be a URL, such as postgres:/);
    for (const password of ['hunter2#x', 'a/b']) {
      const refused = () => postgresJournal(`postgres://user:${password}@127.0.0.1/db`);
      expect(refused).toThrow(
        /^`connectionString` cannot be read: Invalid URL\. In a URL, characters such as # and \/ /,
      );
      expect(refused).toThrow(expect.not.objectContaining({ message: expect.stringContaining(password) }));
    }
    expect(() => postgresJournal(`${url}?sslrootcert=/nowhere/a.pem`)).toThrow(/^`connectionString` .*ENOENT/);
    for (const schema of ['Not; a name', 'pg_own', '1'])
      expect(() => postgresJournal(url, { schema })).toThrow('`options.schema` must be a name of lower-case');
    const admin = new Client(url);
    await admin.connect();
    await admin.query("CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
    await admin.end();
    const latin = postgresJournal(url.replace(/\/postgres$/, '/latin'));
    const message = 'The database has the encoding LATIN1; a journal needs UTF8, since models may say anything.';
    await expect(latin.list({})).rejects.toMatchObject({ code: 'invalid_journal', message });
    await latin.close();
  });

  it('a schema may have the name of a keyword, and a query any number', async () => {
    const journal = postgresJournal(url, { schema: 'user' });
    expect(await journal.list({ since: 1e21 })).toEqual([]);
    const result = await runSession(workingAgent().agent, { ...quiet(journal), prompt: 'Go.' });
    expect([result.success, (await journal.list({ since: 0.5 })).length]).toEqual([true, 1]);
    await journal.close();
  });

  it.each(['repeatable read', 'serializable'])('whatever isolation is the default: %s', async (level) => {
    const admin = new Client(url);
    await admin.connect();
    const role = level.replace(' ', '_');
    await admin.query(
      `CREATE ROLE ${role} LOGIN SUPERUSER; ALTER ROLE ${role} SET default_transaction_isolation = '${level}'`,
    );
    await admin.end();
    const own = url.replace('postgres://pawl@', `postgres://${role}@`);
    const several = Array.from({ length: 6 }, () => postgresJournal(own, { schema: `all_${role}` }));
    expect(await Promise.all(several.map((journal) => journal.list({})))).toEqual(several.map(() => []));
    const [journal, other] = several;
    await journal?.create({ sessionId: 's', agent: 'a', metadata: {} }, { owner: 'o', entries: [] });
    const entries = [{ scope: '', type: 'begun', key: 'a', at: 1 }] as const;
    // A lease is renewed while a step is written.
    for (let after = 0; after < 60; after += 1) {
      const append = { owner: 'o', after, entries: [...entries] };
      const [renewed] = await Promise.all([other?.renew('s', 'o'), journal?.append('s', append)]);
      expect(renewed).toBe(true);
    }
    expect(await journal?.read('s')).toHaveLength(60);
    await Promise.all(several.map((one) => one.close()));
  });
});

describe.skipIf(postgresFolder === null)('D-3, D-5: a session whose first write fails', async () => {
  const server = postgresFolder === null ? null : await startPostgres(postgresFolder);
  const url = server?.url ?? '';
  afterAll(() => server?.stop());
  const begun = (journal: Journal) => runSession(workingAgent().agent, { ...quiet(journal), prompt: 'Go.' });
  const none = { slugs: ['journal_failed'], counters: { requests: 0 } };

  it('failed, if nothing was sent: there is no server, or the journal is closed', async () => {
    const nowhere = postgresJournal('postgres://pawl@127.0.0.1:1/none');
    expect(await begun(nowhere)).toMatchObject({ status: 'failed', ...none });
    await nowhere.close();
    for (const closed of [postgresJournal(url), sqliteJournal(':memory:')]) {
      await closed.close();
      expect(await begun(closed)).toMatchObject({ status: 'failed', ...none });
    }
  });

  it('failed, if the server refused it', async () => {
    const journal = postgresJournal(url);
    await journal.list({});
    const admin = new Client(url);
    await admin.connect();
    await admin.query('ALTER TABLE pawl.sessions ADD CONSTRAINT none CHECK (false) NOT VALID');
    expect(await begun(journal)).toMatchObject({ status: 'failed', ...none });
    await admin.query('ALTER TABLE pawl.sessions DROP CONSTRAINT none');
    await Promise.all([admin.end(), journal.close()]);
  });

  it('is suspended, if the connection breaks during the statement; the process lives on', async () => {
    const proxy = await startSilentProxy(Number(new URL(url).port));
    const through = new URL(url);
    through.port = String(proxy.port);
    const [journal, admin] = [postgresJournal(through.href), new Client(url)];
    expect(await journal.list({ sessionId: 'broken' })).toEqual([]);
    await admin.connect();
    await admin.query('BEGIN; LOCK TABLE pawl.sessions IN SHARE MODE');
    const result = runSession(workingAgent().agent, { prompt: 'Go.', journal, sessionId: 'broken', logger: false });
    const waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    await expect.poll(async () => (await admin.query(waits)).rows).toHaveLength(1);
    await proxy.stop();
    expect(await result).toMatchObject({ status: 'suspended', ...none });
    await admin.query('COMMIT');
    await Promise.all([admin.end(), journal.close()]);
  });

  it('is suspended, if no answer came: the server may still carry it out', async () => {
    const journal = postgresJournal(url, { timeoutMs: 300, leaseMs: 1_000 });
    expect(await journal.list({ sessionId: 's' })).toEqual([]);
    const admin = new Client(url);
    await admin.connect();
    // The lock that CREATE INDEX takes: it lets others read.
    await admin.query('BEGIN; LOCK TABLE pawl.sessions IN SHARE MODE');
    expect(await begun(journal)).toMatchObject({ status: 'suspended', ...none });
    expect(await journal.list({ sessionId: 's' })).toEqual([]);
    await admin.query('COMMIT');
    await expect.poll(() => journal.list({ sessionId: 's' })).toHaveLength(1);
    const { agent, model } = workingAgent();
    // Its lease was never given back.
    const taken = async () => {
      for (;;) {
        const resumed = await resumeSession(agent, quiet(journal)).catch((error) => {
          expect(error).toMatchObject({ code: 'session_taken' });
          return null;
        });
        if (resumed !== null) return resumed;
      }
    };
    expect((await (await taken()).result).success).toBe(true);
    expect(model.requests).toHaveLength(2);
    await Promise.all([admin.end(), journal.close()]);
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
