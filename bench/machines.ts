/**
 * `node bench/machines.ts`: the CPU of a turn of the machines alone. A recorded session of one request and one tool call a
 * turn is replayed to the machines and their host, without a model, tools or listeners. Also a part of `npm run bench`.
 */
import { tool } from 'ai';
import { z } from 'zod';
import type { Delivery, Fact, SessionCommand, SessionInput, SessionOutput } from '../machines/index.ts';
import { systemClock } from '../src/host/clock.ts';
import { DriverCore } from '../src/host/driver-core.ts';
import { RunningMachine } from '../src/host/run-machine.ts';
import { defineAgent, runSession } from '../src/index.ts';
import { MemoryJournal } from '../src/journal/memory.ts';
import { sessionActor } from '../src/session/wiring/session-machine.ts';
import { rehearsalModel } from '../src/testing/index.ts';

const turns = 100;
const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

/** Returns what a session's machines began with, and what they were given. */
async function recorded(): Promise<{ input: SessionInput; deliveries: Delivery[] }> {
  let sent = 0;
  const model = rehearsalModel(() => {
    sent += 1;
    const done = sent === turns;
    return {
      calls: [done ? { name: 'final_report', input: { content: 'done' } } : { name: 'echo', input: { text: 'hello' } }],
    };
  });
  const agent = defineAgent({ name: 'bench', models: [model], tools: { echo }, limits: { maxTurns: turns } });
  const journal = new MemoryJournal();
  await runSession(agent, { prompt: 'go', logger: false, journal, sessionId: 'bench' });
  const entries = await journal.read('bench');
  const [first] = entries;
  if (first?.type !== 'started') throw new Error('the journal begins with no session');
  const deliveries = entries.flatMap((entry) => (entry.type === 'delivered' ? [entry.delivery] : []));
  return { input: first.head.input, deliveries };
}

/** Plays the deliveries once. Returns how many facts were stated. */
function played(input: SessionInput, deliveries: readonly Delivery[]): number {
  let facts = 0;
  let deliver = (_: Delivery): void => {};
  const machine = new RunningMachine<SessionCommand, Fact, SessionOutput>({
    actor: sessionActor(input),
    perform: () => Promise.reject(new Error('nothing is performed')),
    driver: (...parts) => {
      const core = new DriverCore(...parts);
      deliver = (delivery) => core.deliver(delivery);
      return {
        start: (startTree) => {
          startTree();
          core.drain();
        },
        command: () => {},
        answer: () => {},
      };
    },
    clock: systemClock,
    random: () => 0.5,
    signal: undefined,
    abortCommand: () => ({ type: 'session.abort', reason: '' }),
    inspect: undefined,
    owner: {
      takeFact: () => {
        facts += 1;
      },
      delivering: () => {},
      tooLate: () => {},
      late: () => {},
      describeDefect: String,
      userCodeFailed: () => {},
    },
  });
  machine.start();
  for (const delivery of deliveries) deliver(delivery);
  if (!machine.hasEnded) throw new Error('the machines did not end');
  return facts;
}

export async function machinesBench(quick: boolean): Promise<void> {
  const { input, deliveries } = await recorded();
  const times: number[] = [];
  for (let round = 0; round < (quick ? 60 : 250); round += 1) {
    const begun = process.cpuUsage();
    const facts = played(input, deliveries);
    const { user, system } = process.cpuUsage(begun);
    if (facts < turns) throw new Error('facts are missing');
    if (round >= 50) times.push((user + system) / turns);
  }
  times.sort((one, other) => one - other);
  const [median, least] = [times[Math.floor(times.length / 2)], times[0]];
  process.stdout.write(`the machines alone: ${median?.toFixed(0)} us of CPU a turn (least ${least?.toFixed(0)} us)\n`);
}

if (process.argv[1] === import.meta.filename) await machinesBench(process.argv.includes('--quick'));
