import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import { describe, expect, it } from 'vitest';
import { priceRows as rowsOf } from '../../scripts/prices/table.ts';
import { defineAgent, runSession } from '../../src/index.ts';
import { costOf, statedCost } from '../../src/model/pricing.ts';
import { knownPrice, undated } from '../../src/vocabulary/known-prices.ts';
import { priceRows, pricesOf } from '../../src/vocabulary/price-table.ts';

/** Runs a session with one reply of a provider, as its server sent it. */
async function costWith(make: (url: string) => LanguageModel, body: object, pricing = {}) {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const agent = defineAgent({
      ...{ name: 'costly', models: [make(url)], finish: 'text', settings: { streaming: false }, pricing },
    });
    const { counters } = await runSession(agent, { prompt: 'Say hello.', logger: false });
    return { costUsd: counters.costUsd, tokens: counters.tokens };
  } finally {
    server.close();
  }
}

const openaiBody = (usage: object, model = 'gpt-5-2025-08-07') => ({
  ...{ id: 'chatcmpl-1', object: 'chat.completion', created: 1, model, usage },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
});
const apiKey = 'k';

describe('S-4c: what a request cost', () => {
  it('of OpenAI: cached and reasoning tokens, by the dated name of a model', async () => {
    const usage = {
      ...{ prompt_tokens: 12_000, completion_tokens: 2_000, total_tokens: 14_000 },
      prompt_tokens_details: { cached_tokens: 10_000 },
      completion_tokens_details: { reasoning_tokens: 1_500 },
    };
    const { costUsd, tokens } = await costWith(
      (baseURL) => createOpenAI({ baseURL, apiKey }).chat('gpt-5-2025-08-07'),
      openaiBody(usage),
    );
    expect(tokens).toEqual({ input: 12_000, output: 2_000, reasoning: 1_500, cacheRead: 10_000, cacheWrite: 0 });
    // 2,000 at $1.25, 10,000 at $0.125 and 2,000 at $10 a million.
    expect(costUsd).toBeCloseTo(0.0025 + 0.00125 + 0.02, 9);
  });

  it('of Anthropic: what was written to the cache, and read from it', async () => {
    const usage = {
      ...{ input_tokens: 1_000, output_tokens: 500 },
      ...{ cache_creation_input_tokens: 4_000, cache_read_input_tokens: 20_000 },
    };
    const body = {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-haiku-4-5-20251001', usage },
      ...{ content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn', stop_sequence: null },
    };
    const { costUsd } = await costWith(
      (baseURL) => createAnthropic({ baseURL, apiKey })('claude-haiku-4-5-20251001'),
      body,
    );
    expect(costUsd).toBeCloseTo(0.001 + 4_000 * 1.25e-6 + 20_000 * 0.1e-6 + 500 * 5e-6, 9);
  });

  it('of Google: thoughts are output, and a long context costs more', async () => {
    const body = (promptTokenCount: number) => ({
      candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount,
        candidatesTokenCount: 100,
        thoughtsTokenCount: 400,
        totalTokenCount: promptTokenCount + 500,
      },
    });
    const make = (baseURL: string) => createGoogleGenerativeAI({ baseURL, apiKey })('gemini-2.5-pro');
    expect((await costWith(make, body(10_000))).costUsd).toBeCloseTo(10_000 * 1.25e-6 + 500 * 10e-6, 9);
    expect((await costWith(make, body(300_000))).costUsd).toBeCloseTo(300_000 * 2.5e-6 + 500 * 15e-6, 9);
  });

  it('of a gateway: what it states goes before every price', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110, cost: 0.004321 };
    const make = (baseURL: string) => createOpenAICompatible({ name: 'openrouter', baseURL, apiKey })('z-ai/glm');
    const pricing = { 'openrouter:z-ai/glm': { input: 1_000, output: 1_000 } };
    expect((await costWith(make, openaiBody(usage), pricing)).costUsd).toBe(0.004321);
    expect(statedCost({}, { gateway: { cost: '0.0021' } })).toBe(0.0021);
    expect(statedCost(undefined, { openrouter: { usage: { cost: 0.5 } } })).toBe(0.5);
    expect(statedCost({ cost: { total_cost: 0.25 } }, undefined)).toBe(0.25);
    expect(statedCost({ cost_in_usd_ticks: 10_000_000_000 }, {})).toBe(1);
    for (const cost of ['', 'free', -1, Number.NaN, null, {}]) expect(statedCost({ cost }, {})).toBeNull();
  });

  it('of an unknown model it is unknown, and never 0; a price of one’s own goes before the table', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
    const unknown = (baseURL: string) => createOpenAICompatible({ name: 'mine', baseURL, apiKey })('m');
    expect((await costWith(unknown, openaiBody(usage))).costUsd).toBeNull();
    const known = (baseURL: string) => createOpenAI({ baseURL, apiKey }).chat('gpt-5');
    expect((await costWith(known, openaiBody(usage), { 'openai:gpt-5': { input: 1, output: 1 } })).costUsd).toBe(
      0.00011,
    );
  });

  it('a reasoning rate of its own is that of the reasoning tokens alone', () => {
    const usage = { input: 0, output: 100, reasoning: 40, cacheRead: 0, cacheWrite: 0 };
    expect(costOf(usage, { input: 1, output: 10, reasoning: 2 })).toBeCloseTo((60 * 10 + 40 * 2) / 1e6, 12);
  });
});

describe('S-4c: the table of prices', () => {
  it('has a day, each name once, in order, and rates that can be', () => {
    expect(pricesOf).toMatch(/^20\d\d-\d\d-\d\d$/);
    const names = priceRows.map(([name]) => name);
    expect(names).toEqual([...new Set(names)].toSorted());
    for (const [name, ...rates] of priceRows) {
      expect(name).toMatch(/^(anthropic|google|groq|mistral|openai|xai):\S+$/);
      for (const rate of rates) expect(rate ?? 0).toBeGreaterThanOrEqual(0);
    }
  });

  it('a second target of a model, and a dated version, cost what the model costs', () => {
    expect(knownPrice('openai:gpt-5#2')).toEqual(knownPrice('openai:gpt-5'));
    expect(knownPrice('openai:gpt-5-2099-01-01')).toEqual(knownPrice('openai:gpt-5'));
    expect(knownPrice('openai:gpt-9000')).toBeUndefined();
    expect(undated('a-20250101')).toBe('a');
  });

  it('is made of what is published on a day; what depends on the hour, or is no text, is left out', () => {
    const model = (id: string, prices: unknown, match: object = { equals: id }) => ({ id, match, prices }) as never;
    const rates = { input_mtok: 1, output_mtok: 2, cache_read_mtok: 0.1 };
    const later = {
      constraint: { type: 'start_date', start_date: '2030-01-01' },
      prices: { input_mtok: 9, output_mtok: 9 },
    };
    const tier = (base: number, price: number) => ({ base, tiers: [{ start: 200_000, price }] });
    const models = [
      model('one', [{ prices: rates }, later], {
        or: [{ equals: 'one' }, { starts_with: 'one-mini' }, { starts_with: 'one-' }],
      }),
      model('by-hour', [{ prices: rates }, { constraint: { type: 'time_of_date' }, prices: rates }]),
      model('one-tts', rates),
      model('long', { input_mtok: tier(1, 2), output_mtok: tier(3, 4) }),
    ];
    const rows = rowsOf(
      [
        { id: 'x-ai', models },
        { id: 'unknown', models },
      ],
      '2026-01-01',
    );
    const none = { cacheRead: null, cacheWrite: null };
    const one = { input: 1, output: 2, cacheRead: 0.1, cacheWrite: null, longContext: null };
    expect(rows).toEqual([
      { name: 'xai:long', input: 1, output: 3, ...none, longContext: { above: 200_000, input: 2, output: 4, ...none } },
      { name: 'xai:one', ...one },
      { name: 'xai:one-mini', ...one },
    ]);
  });
});
