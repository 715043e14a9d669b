/**
 * `node bench/inspect.ts`: what it costs a session to be watched, as a multiple of the same session without, in one run;
 * and how long a search takes. Also a part of `npm run bench`.
 */
import { tool } from 'ai';
import { z } from 'zod';
import { defineAgent, type Journal, runSession } from '../src/index.ts';
import { inspector } from '../src/inspect/index.ts';
import { SessionIndex } from '../src/inspect/live/search.ts';
import { MicrostepReplay } from '../src/inspect/recorded/microstep-replay.ts';
import type { JournalEntry } from '../src/journal/journal.ts';
import { MemoryJournal } from '../src/journal/memory.ts';
import { rehearsalModel } from '../src/testing/index.ts';

const turns = 100;
const shortTurns = 5;

const work = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });

async function sessionMs(journal: Journal | undefined, sessionId: string, turns: number): Promise<number> {
  let sent = 0;
  const model = rehearsalModel(() => {
    sent += 1;
    if (sent > turns) return { calls: [{ name: 'final_report', input: { content: 'Done.' } }] };
    return { text: 'Let me look.', calls: [{ name: 'work', input: { q: `thing ${sent}` } }] };
  });
  const agent = defineAgent({ name: 'timed', models: [model], tools: { work }, limits: { maxTurns: turns + 1 } });
  const begun = process.cpuUsage();
  const { success } = await runSession(agent, {
    prompt: 'Go.',
    logger: false,
    sessionId,
    ...(journal !== undefined && { journal }),
  });
  const { user, system } = process.cpuUsage(begun);
  if (!success) throw new Error('the session failed');
  return (user + system) / 1_000;
}

/** How long a search takes over so many sessions, once they have been read: with words, with fields, and with neither. */
async function searchOver(count: number, entries: readonly JournalEntry[]): Promise<void> {
  const journal = new MemoryJournal();
  for (let number = 0; number < count; number += 1) {
    const append = { owner: 'bench', entries, change: { status: 'succeeded' as const } };
    await journal.create({ sessionId: `s-${number}`, agent: `agent-${number % 7}`, metadata: {} }, append);
  }
  const index = new SessionIndex(journal, () => []);
  const reading = performance.now();
  await index.follow();
  process.stdout.write(
    `${count} sessions of ${shortTurns} turns read in ${(performance.now() - reading).toFixed(0)} ms\n`,
  );
  for (const query of ['thing', '"thing 4"', 'agent:agent-3 tool:work found', 'rule:B-4', 'status:succeeded']) {
    const times = Array.from({ length: 9 }, () => {
      const begun = performance.now();
      index.search(query);
      return performance.now() - begun;
    });
    process.stdout.write(`search ${query}: ${median(times).toFixed(1)} ms, ${index.search(query).total} found\n`);
  }
  await index.follow();
  index.close();
}

const median = (times: readonly number[]) =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;

export async function inspectBench(quick: boolean): Promise<void> {
  const rounds = quick ? 20 : 100;
  await using shown = await inspector({ port: 0 });
  const own = new MemoryJournal({ keep: 50 });
  const journals = { without: undefined, journaled: own, watched: shown.journal };
  const names = ['without', 'journaled', 'watched'] as const;
  const times: Record<(typeof names)[number], number[]> = { without: [], journaled: [], watched: [] };
  for (let round = 0; round < rounds + 3; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const ms = await sessionMs(journals[name], `${name}-${round}`, turns);
      if (round >= 3) times[name].push(ms);
    }
  }
  const entries = await shown.journal.read(`watched-${rounds}`);
  await sessionMs(shown.journal, 'short', shortTurns);
  await searchOver(5_000, await shown.journal.read('short'));
  const begun = performance.now();
  const { microsteps } = new MicrostepReplay().play(JSON.parse(JSON.stringify(entries)));
  const replayMs = performance.now() - begun;
  const [without, journaled, watched] = names.map((name) => median(times[name])) as [number, number, number];
  process.stdout.write(`${turns} turns without: ${without.toFixed(0)} ms of CPU\n`);
  process.stdout.write(`with a journal in memory: ${(journaled / without).toFixed(2)} x\n`);
  process.stdout.write(
    `with an inspector over such a journal, no page open: ${(watched / without).toFixed(2)} x; of the journal's: ${(watched / journaled).toFixed(2)} x\n`,
  );
  process.stdout.write(
    `replay in steps: ${replayMs.toFixed(0)} ms for ${microsteps.length}, ${(replayMs / without).toFixed(2)} x\n`,
  );
}

if (process.argv[1] === import.meta.filename) await inspectBench(process.argv.includes('--quick'));
