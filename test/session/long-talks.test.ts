import { expect, it } from 'vitest';
import { asksForSummary, looker, tokensOfBody } from '../support/long-talk.ts';
import { runOverWire } from '../support/session.ts';

it('T-9 T-6d: 1,000 turns in a window of 32,768 tokens, over the wire: no request is beyond it', async () => {
  const turns = 1_000;
  const window = 32_768;
  const { result, requests } = await runOverWire({
    script: looker(turns, () => ({ text: 'It looked, and saw words. '.repeat(60) })),
    definition: {
      tools: { look: (input) => `seen ${JSON.stringify(input)} ${'word '.repeat(240)}` },
      compact: {},
      limits: { maxTurns: turns, contextWindow: window },
    },
  });
  const { counters } = result;
  const summaries = requests.filter(asksForSummary);
  expect(Math.max(...requests.map(tokensOfBody))).toBeLessThan(window);
  expect([result.status, counters.turns, counters.attempts]).toEqual(['succeeded', turns, turns]);
  // Each frees much of the window, and is the one break of the prefix for many turns.
  expect(counters.summaries).toBe(summaries.length);
  expect(counters.cachePrefixBreaks).toEqual({ compaction: counters.compactions });
  expect(turns / counters.compactions).toBeGreaterThan(25);
  expect(result.conversation.length).toBeLessThan(200);
});
