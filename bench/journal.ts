/**
 * The drivers side by side: what a step costs in memory, in SQLite and in PostgreSQL, and how long a session takes to
 * be resumed. `node bench/journal.ts`; also a part of `npm run bench`.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tool } from 'ai';
import { z } from 'zod';
import { type Agent, defineAgent, type Journal, resumeSession, runSession, sqliteJournal } from '../src/index.ts';
import { postgresJournal } from '../src/journal/postgres/postgres.ts';
import { rehearsalModel } from '../src/testing/index.ts';
import { journalWith } from '../test/support/dying-journal.ts';
import { postgresFolder, startPostgres } from '../test/support/postgres.ts';

const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

/** An agent that calls a tool until turn `turns`: two deliveries a turn. */
function agentOf(turns: number): Agent {
  const model = rehearsalModel(({ prompt }) => {
    const done = prompt.filter(({ role }) => role === 'tool').length >= turns - 1;
    return {
      calls: [done ? { name: 'final_report', input: { content: 'done' } } : { name: 'echo', input: { text: 'hello' } }],
    };
  });
  model.requests.push = () => 0;
  return defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns } });
}

const at = (values: number[], share: number) =>
  values.toSorted((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))] ??
  Number.NaN;
const say = (text: string) => process.stdout.write(`${text}\n`);

async function lived(agent: Agent, journal?: Journal, sessionId?: string): Promise<number> {
  const began = performance.now();
  const options = {
    prompt: 'go',
    logger: false as const,
    ...(journal && { journal }),
    ...(sessionId && { sessionId }),
  };
  const { success, slugs } = await runSession(agent, options);
  if (!success) throw new Error(`a benchmark session failed: ${slugs}`);
  return performance.now() - began;
}

/** Measures the time of each append. */
function timed(journal: Journal, times: number[]): Journal {
  return journalWith(journal, {
    append: async (sessionId, append) => {
      const began = performance.now();
      await journal.append(sessionId, append);
      times.push((performance.now() - began) * 1_000);
    },
  });
}

export async function journalBench(quick: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-'));
  const server = postgresFolder === null ? null : await startPostgres(postgresFolder);
  const file = join(folder, 'pawl.db');
  const journals: [string, Journal | undefined][] = [
    ['memory', undefined],
    ['SQLite', sqliteJournal(file)],
    ...(server === null ? [] : [['PostgreSQL', postgresJournal(server.url)] as [string, Journal]]),
  ];
  const turns = 50;
  const steps = 2 * turns + 1;
  const agent = agentOf(turns);
  const rounds = quick ? 5 : 15;
  const walls = new Map<string, number[]>(journals.map(([name]) => [name, []]));
  const appends = new Map<string, number[]>(journals.map(([name]) => [name, []]));
  for (let warm = 0; warm < 5; warm += 1) for (const [, journal] of journals) await lived(agent, journal);
  // The drivers take turns, so that a noisy period affects all.
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, journal] of journals) {
      const own = journal === undefined ? undefined : timed(journal, appends.get(name) ?? []);
      walls.get(name)?.push((await lived(agent, own)) / steps);
    }
  }
  const floor = at(walls.get('memory') ?? [], 0.5);
  for (const [name, journal] of journals) {
    const wall = at(walls.get(name) ?? [], 0.5);
    const times = appends.get(name) ?? [];
    const began = performance.now();
    await Promise.all(Array.from({ length: 50 }, () => lived(agent, journal)));
    const atOnce = 50_000 / (performance.now() - began);
    const append =
      times.length === 0 ? '' : `, an append ${at(times, 0.5).toFixed(0)} us (p99 ${at(times, 0.99).toFixed(0)} us)`;
    say(
      `${name}: a step ${(wall * 1_000).toFixed(0)} us, ${(wall / floor).toFixed(2)} x memory${append}; 50 at once: ${atOnce.toFixed(0)} sessions/s`,
    );
  }
  for (const count of [1_000, 10_000]) {
    const long = agentOf(count / 2);
    const journal = sqliteJournal(join(folder, `${count}.db`));
    await lived(long, journal, 's');
    const times: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      const began = performance.now();
      await resumeSession(long, { journal, sessionId: 's', logger: false });
      times.push(performance.now() - began);
    }
    await journal.close();
    const bytes = statSync(join(folder, `${count}.db`)).size / count;
    say(`resuming ${count} steps: ${at(times, 0.5).toFixed(0)} ms; ${bytes.toFixed(0)} bytes a step`);
  }
  for (const [, journal] of journals) await journal?.close();
  await server?.stop();
  rmSync(folder, { recursive: true });
}

if (process.argv[1] === import.meta.filename) await journalBench(process.argv.includes('--quick'));
