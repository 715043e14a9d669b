/**
 * `npm run bench`: measures the CPU per turn that the guarantees cost, compared with a bare loop. Both run together and
 * the result is a ratio, because machines are noisy. `--quick` runs fewer rounds.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { tool } from 'ai';
import pino from 'pino';
import { z } from 'zod';
import { type Agent, defineAgent, runSession } from '../src/index.ts';
import { rehearsalModel } from '../src/testing/index.ts';
import { backlogBench } from './backlog.ts';
import { bytesBench } from './bytes.ts';
import { deltasBench } from './deltas.ts';
import { doublingBench } from './doubling.ts';
import { bareLoop } from './floor.ts';
import { gateBench } from './gate.ts';
import { importBench } from './import.ts';
import { inspectBench } from './inspect.ts';
import { journalBench } from './journal.ts';
import { machinesBench } from './machines.ts';
import { peersBench } from './peers.ts';
import { processesBench } from './processes.ts';
import { resumeBench } from './resume.ts';
import { sessionsBench } from './sessions.ts';

const quick = process.argv.includes('--quick');
const rounds = quick ? 3 : 7;
const logger = pino({ level: 'silent' });
const run = ({ text }: { text: string }) => text;
const echo = tool({ description: 'Echoes.', inputSchema: z.object({ text: z.string() }), execute: run });

/** Returns an in-process model that calls a tool until turn `turns`, then reports. It keeps no requests. */
function inProcess(turns: number): LanguageModelV4 {
  let turn = 0;
  const model = rehearsalModel(() => {
    turn += 1;
    const done = turn % turns === 0;
    return {
      calls: [done ? { name: 'final_report', input: { content: 'done' } } : { name: 'echo', input: { text: 'hello' } }],
    };
  });
  model.requests.push = () => 0;
  return model;
}

function agentWith(model: LanguageModelV4, turns: number): Agent {
  return defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns } });
}

type Cost = { cpuMs: number; wallMs: number };

async function cost(turns: number, work: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage();
  const wall = performance.now();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { cpuMs: (user + system) / 1_000 / turns, wallMs: (performance.now() - wall) / turns };
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const summed = (costs: Cost[]): Cost => ({
  cpuMs: median(costs.map((one) => one.cpuMs)),
  wallMs: median(costs.map((one) => one.wallMs)),
});

/** Alternates between the floor and Pawl, so that a noisy period affects both. */
async function compare(turns: number, model: () => LanguageModelV4): Promise<{ floor: Cost; pawl: Cost }> {
  const floors: Cost[] = [];
  const pawls: Cost[] = [];
  const repeat = Math.max(1, Math.ceil((quick ? 100 : 300) / turns));
  // Warm up first, to measure the steady state and not the JIT compiler.
  const warm = agentWith(model(), turns);
  const offered = await Promise.all([...warm.tools.values()].map((tool) => tool.offered));
  for (let warmed = 0; warmed < (quick ? 500 : 3_000); warmed += turns)
    await runSession(warm, { prompt: 'go', logger });
  for (let round = 0; round < rounds; round += 1) {
    const floorModel = model();
    const agent = agentWith(model(), turns);
    floors.push(
      await cost(turns * repeat, async () => {
        for (let time = 0; time < repeat; time += 1) await bareLoop(floorModel, { echo: run }, offered, 'go');
      }),
    );
    pawls.push(
      await cost(turns * repeat, async () => {
        for (let time = 0; time < repeat; time += 1) {
          const result = await runSession(agent, { prompt: 'go', logger });
          if (!result.success || result.counters.turns !== turns)
            throw new Error(`a benchmark session failed: ${result.slugs}`);
        }
      }),
    );
  }
  return { floor: summed(floors), pawl: summed(pawls) };
}

function row(name: string, { floor, pawl }: { floor: Cost; pawl: Cost }): void {
  const cells = [
    name.padEnd(22),
    `${floor.cpuMs.toFixed(3)} ms`.padStart(10),
    `${pawl.cpuMs.toFixed(3)} ms`.padStart(10),
    `${(pawl.cpuMs / floor.cpuMs).toFixed(2)} x`.padStart(8),
    `${(pawl.cpuMs - floor.cpuMs).toFixed(3)} ms`.padStart(10),
    `${Math.round(1_000 / pawl.wallMs)}`.padStart(9),
  ];
  process.stdout.write(`${cells.join('  ')}\n`);
}

async function main(): Promise<void> {
  process.stdout.write(
    `${'CPU per turn'.padEnd(22)}  ${'floor'.padStart(10)}  ${'pawl'.padStart(10)}  ${'ratio'.padStart(8)}  ${'more'.padStart(10)}  ${'turns/s'.padStart(9)}\n`,
  );
  const perTurn = new Map<number, number>();
  for (const turns of quick ? [10, 100, 1_000] : [10, 100, 1_000, 2_000]) {
    const compared = await compare(turns, () => inProcess(turns));
    perTurn.set(turns, compared.pawl.cpuMs);
    row(`in process, ${turns} turns`, compared);
  }
  const last = [...perTurn.keys()].at(-1) ?? 0;
  const flat = (perTurn.get(last) ?? 0) / (perTurn.get(100) ?? 1);
  process.stdout.write(`flatness: a turn in ${last} costs ${flat.toFixed(2)} x a turn in 100\n`);
  await overWire();
  await machinesBench(quick);
  await bytesBench(quick);
  await sessionsBench();
  await gateBench();
  await deltasBench(quick);
  await sideBySide();
  await backlogBench(500);
  await journalBench(quick);
  await resumeBench(quick);
  await inspectBench(quick);
  await doublingBench(quick);
  importBench();
  await processesBench(quick);
  await peersBench(quick);
}

async function overWire(): Promise<void> {
  const server = fork(join(import.meta.dirname, 'server.ts'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const [line] = await once(server.stdout ?? process.stdin, 'data');
  const provider = createOpenAICompatible({ name: 'bench', baseURL: String(line).trim(), includeUsage: true });
  try {
    for (const turns of quick ? [50] : [50, 300])
      row(`over the wire, ${turns} turns`, await compare(turns, () => provider(`bare-${turns}`)));
    const turns = quick ? 50 : 300;
    row(`… with text each turn`, await compare(turns, () => provider(`spoken-${turns}`)));
  } finally {
    server.disconnect();
    await once(server, 'exit');
  }
}

/** Times ten calls of 200 ms in one reply. */
async function sideBySide(): Promise<void> {
  const slow = () => new Promise((resolve) => setTimeout(() => resolve('done'), 200));
  const ten = (name: string) => ({ calls: Array.from({ length: 10 }, () => ({ name })) });
  const report = { calls: [{ name: 'final_report', input: { content: 'done' } }] };
  const definition = { name: 'bench', tools: { slow }, limits: { maxConcurrentTools: 10 } };
  const local = defineAgent({ ...definition, models: [rehearsalModel([ten('slow'), report])] });
  const began = performance.now();
  const result = await runSession(local, { prompt: 'go', logger });
  if (result.counters.toolCalls.succeeded !== 10) throw new Error('not all calls succeeded in the benchmark');
  process.stdout.write(`ten calls of 200 ms in one reply: ${Math.round(performance.now() - began)} ms in total\n`);
}

await main();
