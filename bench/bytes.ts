/**
 * `node bench/bytes.ts`: the bytes that a turn allocates, by room, including those that are collected meanwhile. Unlike
 * times, counts are not noisy. Part of `npm run bench`; a test sets a ceiling. `--quick` runs fewer sessions, and only the
 * bare loop and Pawl.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { type HeapProfiler, Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4 } from '@ai-sdk/provider';
import { hasToolCall, streamText, tool } from 'ai';
import { z } from 'zod';
import { defineAgent, runSession } from '../src/index.ts';
import { bareLoop } from './floor.ts';

const turns = 50;
const run = ({ text }: { text: string }) => text;
const inputSchema = z.object({ text: z.string() });
const echo = tool({ description: 'Echoes.', inputSchema, execute: run });
const finalReport = tool({
  description: 'Reports.',
  inputSchema: z.object({ content: z.string() }),
  execute: ({ content }) => content,
});

type Loop = (model: LanguageModelV4) => Promise<unknown>;

/** Returns the KB that a turn of a loop allocates, by what allocates them: a room of Pawl, a package, or Node. */
async function bytesOf(loop: Loop, model: LanguageModelV4, sessions: number): Promise<Map<string, number>> {
  for (let warmed = 0; warmed < Math.min(5, sessions); warmed += 1) await loop(model);
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: 8_192,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  } as HeapProfiler.StartSamplingParameterType);
  for (let ran = 0; ran < sessions; ran += 1) await loop(model);
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  const rooms = new Map<string, number>();
  const add = ({ callFrame, selfSize, children }: HeapProfiler.SamplingHeapProfileNode) => {
    const room = roomOf(callFrame.url);
    rooms.set(room, (rooms.get(room) ?? 0) + selfSize / 1_024 / turns / sessions);
    for (const child of children) add(child);
  };
  add(profile.head);
  return rooms;
}

function roomOf(url: string): string {
  const [, own] = /\/(machines|src\/\w+)\//.exec(url) ?? [];
  if (own !== undefined && !url.includes('node_modules')) return own;
  const [, name] = /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  return name ?? (url.includes('/bench/') ? 'bench' : 'node');
}

const total = (rooms: ReadonlyMap<string, number>) => [...rooms.values()].reduce((sum, one) => sum + one, 0);

const loops: Record<string, Loop> = {
  bare: (model) =>
    bareLoop(
      model,
      { echo: run },
      [{ type: 'function', name: 'echo', description: 'Echoes.', inputSchema: z.toJSONSchema(inputSchema) as never }],
      'go',
    ),
  ai: async (model) => {
    const { steps } = streamText({
      model,
      prompt: 'go',
      tools: { echo, final_report: finalReport },
      stopWhen: hasToolCall('final_report'),
    });
    return (await steps).length;
  },
  pawl: async (model) => {
    const agent = defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns } });
    const { success, slugs, counters, failure } = await runSession(agent, { prompt: 'go', logger: false });
    if (!success || counters.turns !== turns)
      throw new Error(`a benchmark session failed: ${slugs} ${failure?.detail}`);
  },
};

export async function bytesBench(quick: boolean): Promise<void> {
  const server = fork(join(import.meta.dirname, 'server.ts'), { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
  const [line] = await once(server.stdout ?? process.stdin, 'data');
  const provider = createOpenAICompatible({ name: 'bench', baseURL: String(line).trim(), includeUsage: true });
  try {
    for (const [name, loop] of Object.entries(loops)) {
      if (quick && name === 'ai') continue;
      const rooms = await bytesOf(loop, provider(`long-${turns}`), quick ? 3 : 10);
      const parts = [...rooms].toSorted(([, a], [, b]) => b - a).filter(([, kb]) => kb >= 1);
      const told = parts.map(([room, kb]) => `${room} ${kb.toFixed(0)}`).join(', ');
      process.stdout.write(`KB allocated a turn with 2 KB of text, ${name}: ${total(rooms).toFixed(0)} (${told})\n`);
    }
  } finally {
    server.disconnect();
    await once(server, 'exit');
  }
}

if (process.argv[1] === import.meta.filename) await bytesBench(process.argv.includes('--quick'));
