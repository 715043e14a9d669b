/**
 * `node --expose-gc bench/sessions.ts`: a thousand sessions at once, with a model that takes 20 ms: the CPU of a turn, how
 * long the event loop is held, and the memory of a session that waits. Also a part of `npm run bench`.
 */
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent, runSession, startSession } from '../src/index.ts';
import { rehearsalModel } from '../src/testing/index.ts';
import { holds } from './holds.ts';

const sessions = 1_000;
const turns = 10;
const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

function agentOf(turns: number) {
  let asked = 0;
  const model = rehearsalModel(() => {
    asked += 1;
    const done = asked > sessions * (turns - 1);
    return {
      delayMs: 20,
      calls: [done ? { name: 'final_report', input: { content: 'done' } } : { name: 'echo', input: { text: 'hello' } }],
    };
  });
  model.requests.push = () => 0;
  return defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns } });
}

export async function sessionsBench(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error('run this with node --expose-gc, to measure memory');
  await runSession(agentOf(1), { prompt: 'go', logger: false });
  const cpu = process.cpuUsage();
  const held = holds();
  const agent = agentOf(turns);
  const results = await Promise.all(
    Array.from({ length: sessions }, () => runSession(agent, { prompt: 'go', logger: false })),
  );
  const share = held();
  const { user, system } = process.cpuUsage(cpu);
  const taken = results.reduce((sum, { counters }) => sum + counters.turns, 0);
  process.stdout.write(
    `${sessions} sessions at once: ${((user + system) / 1_000 / taken).toFixed(2)} ms of CPU a turn (${taken}); the loop is held p50 ${share(0.5).toFixed(0)} ms, p99 ${share(0.99).toFixed(0)} ms\n`,
  );
  await waitingSessions(5_000);
}

/** Measures the memory of sessions that are waiting for a reply. */
async function waitingSessions(count: number): Promise<void> {
  const model = rehearsalModel([{ hangs: true }]);
  let asked = 0;
  model.requests.push = () => {
    asked += 1;
    return asked;
  };
  const agent = defineAgent({ name: 'bench', models: [model], tools: { echo } });
  const before = heap();
  const waiting = Array.from({ length: count }, () => startSession(agent, { prompt: 'go', logger: false }));
  // A target that has answered nothing yet gets twice as many requests each second.
  while (asked < count) await new Promise((resolve) => setImmediate(resolve));
  for (let tick = 0; tick < 5; tick += 1) await new Promise((resolve) => setImmediate(resolve));
  const each = (heap() - before) / count / 1_024;
  process.stdout.write(`${count} sessions waiting for a reply: ${each.toFixed(1)} KB each\n`);
  for (const session of waiting) session.abort();
  await Promise.all(waiting.map((session) => session.result));
}

function heap(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

if (process.argv[1] === import.meta.filename) await sessionsBench();
