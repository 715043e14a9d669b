import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type BatchSummary, listSessions, sharedBudget, sqliteJournal } from '../../src/index.ts';
import { postgresJournal } from '../../src/journal/postgres/postgres.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { postgresFolder, startPostgres } from '../support/postgres.ts';

const costUsd = 0.002;

/** Runs the batch until it ends, or until so many requests have reached the server, when it is killed. */
async function lifeOf(file: string, url: string, isOver: () => boolean): Promise<BatchSummary | null> {
  const child = spawn(process.execPath, ['test/support/batch-process.ts', file, url], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (data) => {
    said += data;
    if (isOver()) child.kill('SIGKILL');
  });
  await once(child, 'exit');
  const [, summary] = /^summary (.*)$/m.exec(said) ?? [];
  return summary === undefined ? null : JSON.parse(summary);
}

/** Where a batch is kept: in a file, or in a database, with what ends it. */
async function placeOf(kind: string): Promise<{ where: string; end: () => unknown }> {
  if (kind === 'PostgreSQL') {
    const database = await startPostgres(postgresFolder ?? '');
    return { where: database.url, end: () => database.stop() };
  }
  const folder = mkdtempSync(join(tmpdir(), 'pawl-batch-'));
  return { where: join(folder, 'batch.db'), end: () => rmSync(folder, { recursive: true }) };
}

const kinds = ['SQLite', ...(postgresFolder === null ? [] : ['PostgreSQL'])];

it.each(kinds)(
  'B-8d: in %s, a batch of 200 that is killed three times goes on, does nothing twice, and keeps its budget',
  async (kind) => {
    const { where, end } = await placeOf(kind);
    const reported = new Map<string, number>();
    await using server = await startModelServer(({ body }) => {
      const [, name = ''] = /document (\w+)/.exec(JSON.stringify(body)) ?? [];
      const looked = body.messages.some(({ role }) => role === 'tool');
      const reports = looked || JSON.stringify(body.messages.at(-1)).includes('system notice');
      if (reports) reported.set(name, (reported.get(name) ?? 0) + 1);
      const calls = reports ? [{ name: 'final_report', input: { content: name } }] : [{ name: 'look', input: {} }];
      return { usage: { input: 1_000, output: 100 }, calls };
    });
    try {
      for (const most of [60, 130, 200]) {
        const life = await lifeOf(where, server.url, () => server.requests.length >= most);
        expect(life).toBeNull();
      }
      const summary = await lifeOf(where, server.url, () => false);
      const journal = kind === 'PostgreSQL' ? postgresJournal(where) : sqliteJournal(where);
      const sessions = await listSessions(journal);
      const spent = await sharedBudget({ costUsd: 1, journal, name: 'batch docs' }).spent();
      await journal.close();
      // $0.5 pay for 250 requests, and what each of eight had in flight.
      expect(server.requests.length * costUsd).toBeLessThanOrEqual(0.5 + 8 * costUsd);
      expect(server.requests.length * costUsd).toBeGreaterThan(0.4);
      // What was in flight at a kill counts as what was set aside for it.
      expect(spent.costUsd).toBeGreaterThanOrEqual((server.requests.length - 3 * 8) * costUsd - 1e-9);
      // Who lost a request to a kill may have none left for the report (B-6).
      for (const { slugs } of summary?.failures ?? []) expect(slugs[0]).toBe('budget_exhausted');
      expect(summary?.succeeded).toBe(sessions.filter(({ status }) => status === 'succeeded').length);
      const { succeeded = 0, left = [], failures = [] } = summary ?? {};
      expect(succeeded + left.length + failures.length).toBe(200);
      expect(failures.length).toBeLessThanOrEqual(8);
      // Two requests for each, without 24 in flight at the kills, 8 of sessions that failed, and 8 of those that are left.
      expect(succeeded).toBeGreaterThanOrEqual((server.requests.length - 24 - 8 - 8) / 2);
      // A report that was in flight at a kill is asked for again, and no other.
      expect([...reported.values()].filter((times) => times > 1).length).toBeLessThanOrEqual(3 * 8);
    } finally {
      await end();
    }
  },
  120_000,
);
