import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../../src/testing/index.ts';
import { postgresFolder, startPostgres } from '../support/postgres.ts';

const run = promisify(execFile);

const perSecond = 5;

/** Runs two processes of twenty sessions at a server that takes five requests a second. Returns how many it refused. */
async function refusedToTwo(...database: string[]): Promise<number> {
  let second = { ends: 0, taken: 0 };
  let refused = 0;
  await using server = await startModelServer(({ body }) => {
    const now = performance.now();
    if (now >= second.ends) second = { ends: now + 1_000, taken: 0 };
    if (second.taken === perSecond) {
      refused += 1;
      return { status: 429, headers: { 'retry-after-ms': String(Math.ceil(second.ends - now)) } };
    }
    second.taken += 1;
    const looked = body.messages.some(({ role }) => role === 'tool');
    return { calls: [looked ? { name: 'final_report', input: { content: 'done' } } : { name: 'look', input: {} }] };
  });
  const live = () => run(process.execPath, ['test/support/gated-process.ts', server.url, ...database]);
  const said = await Promise.all([live(), live()]);
  expect(said.flatMap(({ stdout }) => JSON.parse(stdout))).toEqual(Array.from({ length: 40 }, () => 'succeeded'));
  expect(server.requests.length - refused).toBe(80);
  return refused;
}

it('P-7: two processes at a server that takes five requests a second fail nothing, and retry little', async () => {
  // Each process learns what the other takes only from its own refusals. Without a gate there are hundreds.
  expect(await refusedToTwo()).toBeLessThan(80);
}, 180_000);

it.skipIf(postgresFolder === null)(
  'P-7g: with a gate in PostgreSQL, they are refused at most once for every two of the forty sessions',
  async () => {
    const database = await startPostgres(postgresFolder ?? '');
    onTestFinished(() => database.stop());
    expect(await refusedToTwo(database.url)).toBeLessThanOrEqual(20);
  },
  180_000,
);

it.skipIf(postgresFolder === null)(
  'P-7g: two processes with a gate in PostgreSQL never ask more at once than it lets through',
  async () => {
    const database = await startPostgres(postgresFolder ?? '');
    onTestFinished(() => database.stop());
    let [inFlight, most] = [0, 0];
    // The first answers wait until as many are asked for as the gate lets through.
    const full = Promise.withResolvers<void>();
    await using server = await startModelServer(async ({ body }) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      if (inFlight === 3) full.resolve();
      await full.promise;
      for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
      inFlight -= 1;
      const looked = body.messages.some(({ role }) => role === 'tool');
      return { calls: [looked ? { name: 'final_report', input: { content: 'done' } } : { name: 'look', input: {} }] };
    });
    const live = () => run(process.execPath, ['test/support/gated-process.ts', server.url, database.url]);
    const said = await Promise.all([live(), live()]);
    expect(said.flatMap(({ stdout }) => JSON.parse(stdout))).toEqual(Array.from({ length: 40 }, () => 'succeeded'));
    expect([most, server.requests.length]).toEqual([3, 80]);
  },
  60_000,
);
