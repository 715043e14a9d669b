import { stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type RecordedRequest, type ScriptedResponse, startModelServer } from '../../src/testing/index.ts';
import { type CountedInput, inputCost, PrefixCache } from '../support/prefix-cache.ts';
import { report, runOverWire, wireModel } from '../support/session.ts';

const look = (input: unknown) => `seen ${JSON.stringify(input)} ${'word '.repeat(800)}`;
const wires = ['openai', 'anthropic'] as const;

/** A model that looks until the last turn; with troubles, one reply in seven is bad, and so is the last turn's first. */
function looks(turns: number, isTroubled: boolean, end: ScriptedResponse) {
  let [asked, looked] = [0, 0];
  return (): ScriptedResponse => {
    asked += 1;
    if (looked === turns - 1) return isTroubled && asked % 2 === 0 ? {} : end;
    if (isTroubled && asked % 7 === 3) return {};
    if (isTroubled && asked % 7 === 6) return { text: 'Let me see.', calls: [{ name: 'peek', input: {} }] };
    looked += 1;
    return { text: `Look ${looked}.`, calls: [{ name: 'look', input: { number: looked } }] };
  };
}

/** Answers with what the script says, and with the usage that a provider with a cache would count. */
function counting(wire: (typeof wires)[number], script: () => ScriptedResponse) {
  const cache = new PrefixCache(wire);
  const counted: CountedInput[] = [];
  const answer = (request: RecordedRequest) => {
    const input = cache.take(request);
    counted.push(input);
    return { usage: { ...input, output: 30 }, ...script() };
  };
  return { counted, answer };
}

/** What the AI SDK's own loop is charged for the same talk, with its caching on. */
async function sdkLoop(wire: (typeof wires)[number], turns: number): Promise<CountedInput[]> {
  const { counted, answer } = counting(wire, looks(turns, false, { text: 'All seen.' }));
  await using server = await startModelServer(answer);
  const tools = { look: tool({ inputSchema: z.object({ number: z.number() }), execute: look }) };
  const { text } = streamText({
    // A model that the SDK does not know is warned of, each time.
    ...{
      model: wireModel(wire, server.url),
      maxOutputTokens: 1_000,
      tools,
      prompt: 'Do the task.',
      stopWhen: stepCountIs(turns + 1),
    },
    providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
  });
  expect(await text).toBe('All seen.');
  return counted;
}

const ofTurns = process.env.PAWL_WALKS === 'all' ? [30, 100, 300] : [30, 100];
const cases = ofTurns.flatMap((turns) =>
  wires.flatMap((wire) => [false, true].map((isTroubled) => ({ turns, wire, isTroubled }))),
);

describe('B-5: the bill, on a wire that counts cached prefixes', () => {
  it.each(cases)('$turns turns, $wire, troubles: $isTroubled', async ({ turns, wire, isTroubled }) => {
    const { counted, answer } = counting(wire, looks(turns, isTroubled, report()));
    const { result } = await runOverWire({
      wire,
      script: answer,
      definition: { tools: { look }, limits: { maxTurns: turns, maxRetries: 4 } },
    });
    const { counters } = result;
    expect([result.status, counters.turns, counters.cachePrefixBreaks]).toEqual(['succeeded', turns, {}]);
    expect(counters.failedAttempts > 0).toBe(isTroubled);
    const last = result.turns.at(-1)?.attempts ?? [];
    for (const { usage } of last) expect((usage?.cacheRead ?? 0) / (usage?.input ?? 1)).toBeGreaterThan(0.95);
    expect(counters.tokens.cacheRead).toBe(counted.reduce((sum, { cacheRead }) => sum + cacheRead, 0));
    // Of what a request holds, all that the one before held is read: only what is new is paid in full.
    const loop = await sdkLoop(wire, turns);
    expect(inputCost(counted) / counted.length).toBeLessThan((1.1 * inputCost(loop)) / loop.length);
  });
});
