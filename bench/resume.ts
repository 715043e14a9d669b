/**
 * What it takes to resume a long session from SQLite, in a process of its own: CPU until its next request, and how long
 * the event loop is held meanwhile. `node bench/resume.ts`; also a part of `npm run bench`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent, resumeSession, sqliteJournal, startSession } from '../src/index.ts';
import { rehearsalModel } from '../src/testing/index.ts';

const sessionId = 's';

/** An agent that calls a tool in each turn, with 2 KB of text; `onRequest` is told of each request. */
function agentOf(turns: number, onRequest: () => void) {
  const model = rehearsalModel(() => {
    onRequest();
    return { calls: [{ name: 'echo', input: { text: 'h'.repeat(2_000) } }] };
  });
  model.requests.push = () => 0;
  const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });
  return defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns + 10 } });
}

/** Lives through so many turns, and is suspended amid the next request. */
async function live(file: string, turns: number): Promise<void> {
  let asked = 0;
  const agent = agentOf(turns, () => {
    asked += 1;
    if (asked > turns) void session.suspend();
  });
  const journal = sqliteJournal(file);
  const session = startSession(agent, { prompt: 'go', logger: false, journal, sessionId });
  await session.result;
  await journal.close();
}

type Cost = { cpuMs: number; wallMs: number; heldP99Ms: number; heldMaxMs: number };

async function resume(file: string, turns: number): Promise<Cost> {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const agent = agentOf(turns, resolve);
  const journal = sqliteJournal(file);
  const held = monitorEventLoopDelay({ resolution: 1 });
  held.enable();
  const cpu = process.cpuUsage();
  const began = performance.now();
  await resumeSession(agent, { journal, sessionId, logger: false });
  await asked;
  const wallMs = performance.now() - began;
  const { user, system } = process.cpuUsage(cpu);
  return {
    cpuMs: (user + system) / 1_000,
    wallMs,
    heldP99Ms: held.percentile(99) / 1e6,
    heldMaxMs: held.max / 1e6,
  };
}

/** Runs one of the above in a process of its own. */
async function apart(phase: 'live' | 'resume', file: string, turns: number): Promise<Cost | undefined> {
  const child = fork(import.meta.filename, [phase, file, String(turns)]);
  let cost: Cost | undefined;
  child.on('message', (message: Cost) => {
    cost = message;
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`the process of the benchmark ended with ${code}`);
  return cost;
}

export async function resumeBench(quick: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-bench-'));
  for (const turns of quick ? [1_000] : [1_000, 5_000]) {
    const file = join(folder, `${turns}.db`);
    await apart('live', file, turns);
    const costs: Cost[] = [];
    for (let round = 0; round < (quick ? 1 : 5); round += 1) {
      // The process of a resumed session ends amid a request, and still holds its lease.
      const own = join(folder, `${turns}-${round}.db`);
      copyFileSync(file, own);
      const cost = await apart('resume', own, turns);
      if (cost !== undefined) costs.push(cost);
    }
    const median = (field: keyof Cost) =>
      costs
        .map((cost) => cost[field])
        .toSorted((one, other) => one - other)
        [costs.length >> 1]?.toFixed(0);
    process.stdout.write(
      `resuming ${turns} turns of 2 KB: ${median('cpuMs')} ms of CPU, ${median('wallMs')} ms, until the next request; the loop is held ${median('heldP99Ms')} ms at the 99th percentile, ${median('heldMaxMs')} at most\n`,
    );
  }
  rmSync(folder, { recursive: true });
}

const [, script, phase = '', file = '', turns = ''] = process.argv;
if (script === import.meta.filename) {
  if (phase === 'live') await live(file, Number(turns));
  else if (phase === 'resume') {
    const cost = await resume(file, Number(turns));
    process.send?.(cost, () => process.exit(0));
  } else await resumeBench(process.argv.includes('--quick'));
}
