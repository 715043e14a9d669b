import { tool } from 'ai';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';

const inputSchema = z.object({});

it('S-4: the counters and the records say what each tool took: calls, failures, time and bytes', async () => {
  const clock = manualClock();
  const startedAt = clock.now();
  const slow = (ms: number, act: () => string) => {
    clock.advance(ms);
    return act();
  };
  const { result } = await runOverWire({
    script: [
      { calls: [{ name: 'read', input: {} }] },
      {
        calls: [
          { name: 'read', input: {} },
          { name: 'breaks', input: {} },
          { name: 'missing', input: {} },
        ],
      },
      report(),
    ],
    clock,
    definition: {
      limits: { maxConcurrentTools: 1 },
      tools: {
        read: tool({ inputSchema, execute: () => slow(40, () => 'fünf') }),
        breaks: tool({
          inputSchema,
          execute: () =>
            slow(7, () => {
              throw new Error('no');
            }),
        }),
      },
    },
  });
  expect(result.counters).toEqual(
    counters({
      turns: 3,
      attempts: 3,
      toolCalls: {
        requested: 5,
        answered: 5,
        executed: 3,
        succeeded: 2,
        failed: 1,
        acknowledged: 1,
        rejected: { unknown_tool: 1 },
      },
      reports: { attempted: 1 },
      tokens: tokensOf(3),
      costUsd: null,
    }),
  );
  expect(result.counters.tools).toEqual({
    read: { calls: 2, failed: 0, durationMs: 80, bytes: 10 },
    // It waited for a free slot while `read` ran.
    breaks: { calls: 1, failed: 1, durationMs: 47, bytes: expect.any(Number) },
  });
  expect(
    callsIn(result).map(({ name, startedAt: at, durationMs, costUsd }) => [name, at, durationMs, costUsd]),
  ).toEqual([
    ['read', startedAt, 40, 0],
    ['read', startedAt + 40, 40, 0],
    ['breaks', startedAt + 40, 47, 0],
    ['missing', null, null, 0],
    ['final_report', null, null, 0],
  ]);
});

it('B-7: the call of a sub-agent says what it cost', async () => {
  const price = { input: 1_000_000, output: 0 };
  const child = (pricing = {}) =>
    defineAgent({ name: 'child', models: [rehearsalModel([report()], { provider: 'r', modelId: 'm' })], pricing });
  const { result } = await runOverWire({
    script: [
      {
        calls: ['priced', 'free'].map((name) => ({ name, input: { prompt: 'Look.', reason: 'It knows.' } })),
      },
      report(),
    ],
    definition: { agents: { priced: child({ 'r:m': price }), free: child() } },
  });
  expect(result.counters.toolCalls).toMatchObject({ executed: 2, succeeded: 2 });
  const [priced, free] = callsIn(result);
  expect(priced?.costUsd).toBe(result.counters.subAgents.priced?.tree.costUsd);
  expect(priced?.costUsd).toBeGreaterThan(0);
  expect(free?.costUsd).toBeNull();
});
