import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { tool } from 'ai';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, runSession } from '../../src/index.ts';
import { brokenPromises, manualClock } from '../../src/testing/index.ts';

const leaf = fc.constantFrom<unknown>(
  ...[null, undefined, 7, -1, Number.NaN, 1n, '', 'x', true, [], {}, () => 1, Symbol('x'), new Date(), new Error('e')],
  ...[
    'echo',
    'final_report',
    '{"q":"x"}',
    '{',
    '{"content":"done"}',
    new Uint8Array([1]),
    { unified: 'stop', raw: 'stop' },
  ],
  ...[{ unified: 'x' }, { inputTokens: { total: 1 }, outputTokens: { total: 'x' } }, { total: -5 }],
);
const types = [
  ...['text-start', 'text-delta', 'text-end', 'reasoning-start', 'reasoning-delta', 'reasoning-end', 'custom', 'x'],
  ...['tool-input-start', 'tool-input-delta', 'tool-input-end', 'tool-call', 'tool-result', 'tool-approval-request'],
  ...['finish', 'error', 'raw', 'file', 'source', 'response-metadata', 'stream-start', null, 7],
];
const oneOf = (...usual: unknown[]) => fc.oneof(fc.constantFrom(...usual), leaf);
const shaped = fc.record(
  {
    type: fc.constantFrom(...types),
    ...{
      id: oneOf('1', '2'),
      delta: oneOf('ab'),
      toolCallId: oneOf('c1', 'c2'),
      toolName: oneOf('echo', 'final_report'),
    },
    ...{ input: leaf, result: leaf, providerExecuted: leaf, dynamic: leaf, providerMetadata: leaf, finishReason: leaf },
    ...{ usage: leaf, error: leaf, mediaType: leaf, data: leaf, warnings: leaf, timestamp: leaf, modelId: leaf },
  },
  { requiredKeys: ['type'] },
);
/** Replies of any parts: most look like those of a provider, with something else in some of their fields. */
const replies = fc.array(
  fc.array(fc.oneof({ weight: 12, arbitrary: shaped }, { weight: 1, arbitrary: leaf }), { maxLength: 8 }),
  { minLength: 1, maxLength: 4 },
);
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
    }),
    { numRuns: 500 },
  );
});
