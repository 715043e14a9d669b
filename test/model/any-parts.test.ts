import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { tool } from 'ai';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession } from '../../src/index.ts';
import { brokenPromises, manualClock } from '../../src/testing/index.ts';

const leaf = fc.constantFrom<unknown>(
  ...[null, undefined, 7, -1, Number.NaN, 1n, '', 'x', true, [], {}, () => 1, Symbol('x'), new Date(), new Error('e')],
  ...['{', new Uint8Array([1]), { unified: 'x' }, { inputTokens: { total: 1 }, outputTokens: { total: 'x' } }],
);
/** One of the usual values, and now and then anything. */
const mostly = (...usual: unknown[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, { weight: 1, arbitrary: leaf });
const types = [
  ...['text-start', 'text-delta', 'text-end', 'reasoning-start', 'reasoning-delta', 'reasoning-end', 'custom', 'x'],
  ...['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-result', 'tool-approval-request', 'error', 'raw'],
  ...['file', 'source', 'response-metadata', 'stream-start'],
];
const fields = {
  ...{ id: mostly('1', '2'), delta: mostly('ab'), toolCallId: mostly('c1', 'c2'), toolName: mostly('echo') },
  ...{
    result: leaf,
    providerExecuted: mostly(undefined),
    dynamic: mostly(undefined),
    providerMetadata: mostly(undefined),
  },
  ...{ error: leaf, mediaType: leaf, data: leaf, warnings: mostly([]), timestamp: leaf, modelId: leaf },
};
const shaped = fc.record({ type: mostly(...types), ...fields }, { requiredKeys: ['type'] });
const call = fc.oneof(
  fc.record({ type: fc.constant('tool-call'), ...fields, input: mostly('{"q":"x"}') }),
  fc.record({
    type: fc.constant('tool-call'),
    ...fields,
    toolName: mostly('final_report'),
    input: mostly('{"content":"done"}'),
  }),
);
const finish = fc.record({
  type: fc.constant('finish'),
  finishReason: mostly({ unified: 'stop', raw: 'stop' }, { unified: 'tool-calls', raw: 'tool_calls' }),
  usage: mostly({ inputTokens: { total: 1 }, outputTokens: { total: 2 } }),
});
/** Replies of any parts: most look like those of a provider, with something else in some of their fields. */
const reply = fc
  .tuple(
    fc.array(shaped, { maxLength: 4 }),
    fc.array(fc.oneof(call, shaped), { maxLength: 3 }),
    fc.option(finish, { freq: 8 }),
    fc.array(leaf, { maxLength: 1 }),
  )
  .map(([parts, calls, end, more]) => [
    ...parts,
    ...calls,
    ...(end === null ? [] : [end]),
    ...(more[0] === 7 ? more : []),
  ]);
const replies = fc.array(reply, { minLength: 1, maxLength: 4 });
const echo = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => q });

function modelOf(given: readonly (readonly unknown[])[]): LanguageModelV4 {
  let asked = 0;
  return {
    specificationVersion: 'v4',
    provider: 'any',
    modelId: 'parts',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('replies are streamed')),
    doStream: async () => {
      const parts = given[asked % given.length] ?? [];
      asked += 1;
      return { stream: ReadableStream.from(parts as LanguageModelV4StreamPart[]) };
    },
  };
}

it('B-2 C-1 P-1: whatever parts a model streams, the session ends within its bound, and each call is answered', async () => {
  const statuses = new Set<string>();
  let executed = 0;
  await fc.assert(
    fc.asyncProperty(replies, async (given) => {
      const limits = { maxTurns: 2, maxRetries: 2 };
      const agent = defineAgent({ name: 'a', models: [modelOf(given)], tools: { echo }, limits });
      const [clock, random] = [manualClock(), () => 0.5];
      const result = await runSession(agent, { prompt: 'Go.', logger: false, clock, random });
      expect(brokenPromises(result)).toEqual([]);
      expect(result.slugs).not.toContain('internal_error');
      expect(result.counters.requests).toBeLessThanOrEqual(4);
      expect(() => JSON.stringify(result)).not.toThrow();
      statuses.add(result.status);
      executed += result.counters.toolCalls.executed;
    }),
    { numRuns: 500 },
  );
  expect([...statuses].sort()).toEqual(['failed', 'succeeded']);
  expect(executed).toBeGreaterThan(10);
});
