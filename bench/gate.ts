/**
 * `node bench/gate.ts`: what the gate of a target costs a request: by itself, and in sessions that ask it before every
 * attempt, beside the same sessions without limits, in one run. Also a part of `npm run bench`.
 */
import { tool } from 'ai';
import { z } from 'zod';
import { systemClock } from '../src/host/clock.ts';
import { defineAgent, runSession } from '../src/index.ts';
import { Gate } from '../src/shared/gate.ts';
import { rehearsalModel } from '../src/testing/index.ts';

const requests = 200_000;
const turns = 200;
const rounds = 9;
const echo = tool({ inputSchema: z.object({ text: z.string() }), execute: ({ text }) => text });

/** The time of a request's way through a gate that learns, in us. */
function alone(): number {
  const gate = new Gate({ concurrency: null, requestsPerMinute: null, tokensPerMinute: null });
  const asks = { clock: systemClock, party: {}, priority: 0, tokens: 100 };
  const headers = { 'x-ratelimit-remaining-requests': '999', 'x-ratelimit-reset-requests': '1s' };
  const began = performance.now();
  for (let count = 0; count < requests; count += 1) {
    const pass = gate.tryEnter(asks) ?? gate.pass(asks);
    pass.accepted(headers);
    pass.ended({ isRefused: false, retryAfterMs: null, tokens: 100 });
  }
  return ((performance.now() - began) * 1_000) / requests;
}

/** The CPU of a turn, in us. */
async function turnUs(isAsked: boolean): Promise<number> {
  let turn = 0;
  const model = rehearsalModel(() => {
    turn += 1;
    return {
      calls: [
        turn < turns
          ? { name: 'echo', input: { text: 'hello' } }
          : { name: 'final_report', input: { content: 'done' } },
      ],
    };
  });
  model.requests.push = () => 0;
  const limits = { concurrency: isAsked ? 1_000 : null };
  const agent = defineAgent({
    name: 'bench',
    models: [{ model, limits }],
    tools: { echo },
    limits: { maxTurns: turns },
  });
  const cpu = process.cpuUsage();
  await runSession(agent, { prompt: 'go', logger: false });
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / turns;
}

export async function gateBench(): Promise<void> {
  alone();
  const [free, asked]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    free.push(await turnUs(false));
    asked.push(await turnUs(true));
  }
  const median = (all: number[]) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? Number.NaN;
  process.stdout.write(
    `gate: ${alone().toFixed(1)} us a request by itself; a turn takes ${median(free).toFixed(0)} us of CPU, and ${median(asked).toFixed(0)} us if each attempt asks\n`,
  );
}

if (process.argv[1] === import.meta.filename) await gateBench();
