import { APICallError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel, type ScriptedResponse, startModelServer } from '../../src/testing/index.ts';
import { counters, report, run, runOverWire, tokensOf, wireModel } from '../support/session.ts';
import { search, searchCall } from '../support/tools.ts';

const faults: [string, ScriptedResponse, string, 'passing' | 'final'][] = [
  ['500', { status: 500 }, 'provider_error', 'passing'],
  ['529', { status: 529, error: { type: 'overloaded_error' } }, 'provider_error', 'passing'],
  ['429', { status: 429 }, 'rate_limited', 'passing'],
  ['408', { status: 408 }, 'provider_timeout', 'passing'],
  ['reset', { reset: true }, 'network_error', 'passing'],
  ['cut cleanly', { ...searchCall, cut: { afterBytes: 200, how: 'end' } }, 'network_error', 'passing'],
  ['cut by reset', { ...searchCall, cut: { afterBytes: 200, how: 'reset' } }, 'network_error', 'passing'],
  ['empty body', { body: '', headers: { 'content-type': 'text/event-stream' } }, 'network_error', 'passing'],
  ['401', { status: 401 }, 'provider_auth', 'final'],
  ['403', { status: 403 }, 'provider_auth', 'final'],
  ['400', { status: 400 }, 'invalid_request', 'final'],
  ['404', { status: 404 }, 'invalid_request', 'final'],
  ['429 quota', { status: 429, error: { type: 'insufficient_quota' } }, 'provider_quota', 'final'],
];

describe.each(['openai', 'anthropic'] as const)('provider faults on the %s wire', (wire) => {
  const passing = faults.filter(([, , , kind]) => kind === 'passing');
  const final = faults.filter(([, , , kind]) => kind === 'final');

  it.each(passing)('P-1 P-3: after a single %s the session waits and succeeds', async (_name, response, slug) => {
    const { result, requests, clock } = await runOverWire({
      wire,
      script: [response, report()],
      definition: { tools: { search } },
    });
    expect(result.turns[0]?.attempts[0]?.slugs).toContain(slug);
    expect(requests).toHaveLength(2);
    expect(clock.waits).toHaveLength(1);
    expect(result.counters).toEqual(
      counters({
        turns: 1,
        attempts: 2,
        failedAttempts: 1,
        notices: 1,
        waits: 1,
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: result.counters.tokens,
        costUsd: result.counters.costUsd,
        slugs: result.counters.slugs,
      }),
    );
  });

  it.each(passing)(
    'B-2 B-3 P-1: a persistent %s exhausts the retries with one request per attempt',
    async (_name, response, slug) => {
      const { result, requests } = await runOverWire({ wire, script: [response], definition: { tools: { search } } });
      expect(requests).toHaveLength(5);
      expect(result.slugs[0]).toBe('retries_exhausted');
      expect(result.slugs).toContain(slug);
      expect(result.counters).toMatchObject({
        turns: 1,
        attempts: 5,
        failedAttempts: 5,
        waits: 4,
        toolCalls: { executed: 0 },
      });
    },
  );

  it.each(final)('P-2: %s excludes the only target, and the session fails at once', async (_name, response, slug) => {
    const { result, requests } = await runOverWire({ wire, script: [response] });
    expect(requests).toHaveLength(1);
    expect(result.slugs).toEqual(['no_targets', slug]);
    expect(result.report.content).toContain(slug);
    expect(result.counters).toEqual(
      counters({ turns: 1, attempts: 1, failedAttempts: 1, costUsd: 0, slugs: { no_targets: 1, [slug]: 2 } }),
    );
  });

  it('C-5 P-1: garbage in the stream fails the attempt and executes no call', async () => {
    const garbage = {
      afterEvents: 3,
      text: wire === 'openai' ? 'data: {not json\n\n' : 'event: x\ndata: {not json\n\n',
    };
    const { result } = await runOverWire({
      wire,
      script: [{ ...searchCall, garbage }, report()],
      definition: { tools: { search } },
    });
    expect(result.turns[0]?.attempts[0]?.status).toBe('failed');
    expect(result.counters.toolCalls.executed).toBe(0);
    expect(result.success).toBe(true);
  });

  it('P-1: a request that is never answered and a response that never ends both time out', async () => {
    const { result } = await runOverWire({
      wire,
      script: [{ hang: true }, { ...searchCall, hang: { afterBytes: 150 } }, report()],
      definition: { tools: { search }, limits: { modelTimeoutMs: 400, modelIdleTimeoutMs: 60 } },
    });
    expect(result.turns[0]?.attempts.map((attempt) => attempt.fault?.kind ?? null)).toEqual([
      'timeout',
      'timeout',
      null,
    ]);
    expect(result.success).toBe(true);
  });

  it('P-4: parallel calls arrive from streamed and non-streamed responses', async () => {
    const calls = [searchCall.calls[0] ?? expect.fail(), { name: 'search', input: { q: 'y' } }];
    for (const streaming of [true, false]) {
      const { result, requests } = await runOverWire({
        wire,
        script: [{ text: 'Looking.', calls }, report()],
        definition: { tools: { search }, settings: { streaming } },
      });
      expect(requests[0]?.body.stream === true).toBe(streaming);
      expect(result.counters).toEqual(
        counters({
          turns: 2,
          attempts: 2,
          toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
          reports: { attempted: 1 },
          tokens: tokensOf(2),
          costUsd: null,
        }),
      );
    }
  });
});

describe('waiting and targets', () => {
  it.each([
    ['ms', { 'retry-after-ms': '1234' }, 1_234],
    ['seconds', { 'retry-after': '7' }, 7_000],
    ['seconds, sent twice', { 'retry-after': '30, 30' }, 30_000],
    ['a date', { 'retry-after': new Date(1_700_000_030_000).toUTCString() }, 30_000],
  ])('P-3: Retry-After in %s is honoured', async (_form, headers, expected) => {
    const { clock, events } = await runOverWire({ script: [{ status: 429, headers }, report()] });
    expect(clock.waits).toEqual([expected]);
    expect(events.filter((event) => event.type.startsWith('wait.')).map((event) => event.type)).toEqual([
      'wait.started',
      'wait.ended',
    ]);
  });

  it('P-3: without Retry-After, backoff is exponential with equal jitter', async () => {
    const { clock } = await runOverWire({ script: [{ status: 429 }], definition: { limits: { maxRetries: 5 } } });
    expect(clock.waits).toEqual([1_500, 3_000, 6_000, 12_000]);
  });

  it('P-3: the default attempts outlast a 3 s blip, whatever the jitter', async () => {
    for (const chance of [0, 0.999]) {
      const { clock, result } = await runOverWire({
        script: [{ status: 503 }, { status: 503 }, report()],
        options: { random: () => chance },
      });
      expect(clock.waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThanOrEqual(3_000);
      expect(result.success).toBe(true);
    }
  });

  it('P-3: a rate-limited target that is ready sooner is preferred to one that backs off', async () => {
    await using broken = await startModelServer([{ status: 500 }]);
    await using limited = await startModelServer([{ status: 429, headers: { 'retry-after': '1' } }, report()]);
    const models = [broken, limited].map((server, index) => wireModel('openai', server.url, `m${index}`));
    const { result, clock } = await run({ agent: defineAgent({ name: 'two', models }) });
    expect(result.turns[0]?.attempts.map(({ target }) => target)).toEqual([
      'scripted:m0',
      'scripted:m1',
      'scripted:m1',
    ]);
    expect(clock.waits).toEqual([1_000]);
    expect(broken.requests).toHaveLength(1);
    expect(result.success).toBe(true);
  });

  it('P-3: if Retry-After exceeds 60 s, the session fails at once and reports the retry time', async () => {
    const { result, requests, clock, errors } = await runOverWire({
      script: [{ status: 429, headers: { 'retry-after': '3600' } }],
    });
    expect(requests).toHaveLength(1);
    expect(clock.waits).toEqual([]);
    expect(result.slugs).toEqual(['no_targets', 'rate_limited']);
    expect(result.failure?.retryAt).toBe(1_700_000_000_000 + 3_600_000);
    expect(result.report.content).toContain(new Date(1_700_003_600_000).toISOString());
    expect(errors[0]?.retryAt).toBe(new Date(1_700_003_600_000).toISOString());
  });

  it('P-3: model faults cause no wait', async () => {
    const { clock, result } = await runOverWire({ script: [{}, { text: 'hm' }, report()] });
    expect(clock.waits).toEqual([]);
    expect(result.counters.waits).toBe(0);
  });

  it('P-2 P-3: with three failing targets, each attempt uses the next live one in order and waits only if none is ready', async () => {
    await using limited = await startModelServer([{ status: 429, headers: { 'retry-after': '20' } }, report()]);
    await using locked = await startModelServer([{ status: 401 }]);
    await using broken = await startModelServer([{ status: 500 }]);
    const models = [limited, locked, broken].map((server, index) => wireModel('openai', server.url, `m${index}`));
    const agent = defineAgent({ name: 'three', models, limits: { maxRetries: 6 } });
    const { result, clock, events } = await run({ agent });
    expect(result.turns[0]?.attempts.map((attempt) => attempt.target)).toEqual([
      'scripted:m0',
      'scripted:m1',
      'scripted:m2',
      'scripted:m2',
      'scripted:m2',
      'scripted:m2',
    ]);
    expect(locked.requests).toHaveLength(1);
    expect(clock.waits).toEqual([1_500, 3_000, 6_000]);
    expect(events.flatMap((event) => (event.type === 'target.excluded' ? [[event.target, event.slug]] : []))).toEqual([
      ['scripted:m1', 'provider_auth'],
    ]);
    expect(result.success).toBe(false);
  });

  it('P-2: a target that succeeded is kept for the next turn', async () => {
    const bad = rehearsalModel([{}], { modelId: 'bad' });
    const good = rehearsalModel([searchCall, searchCall, report()], { modelId: 'good' });
    const { result } = await run({ agent: defineAgent({ name: 'two', models: [bad, good], tools: { search } }) });
    expect(bad.requests).toHaveLength(1);
    expect(good.requests).toHaveLength(3);
    expect(result.counters.failedAttempts).toBe(1);
  });

  it('P-5: reasoning and its signature are sent back only to the provider that produced them', async () => {
    await using first = await startModelServer([{ reasoning: 'secret thoughts', ...searchCall }, { status: 401 }]);
    await using second = await startModelServer([report()]);
    const models = [wireModel('anthropic', first.url), wireModel('openai', second.url)];
    const { result } = await run({ agent: defineAgent({ name: 'thinker', models, tools: { search } }) });
    expect(result.success).toBe(true);
    const again = JSON.stringify(first.requests[1]?.body.messages);
    expect(again).toContain('secret thoughts');
    expect(again).toContain('signature-0');
    expect(JSON.stringify(second.requests[0]?.body)).not.toContain('secret thoughts');
    expect(JSON.stringify(second.requests[0]?.body)).toContain('search');
  });

  it('S-5: a key that a provider echoes in an error does not reach logs, events or reports', async () => {
    const key = 'sk-live-1234567890abcdef';
    const { result, events, lines } = await runOverWire({
      script: [{ status: 401, error: { message: `Incorrect API key provided: ${key}. Bearer abcdefghijklmnop` } }],
      definition: { settings: { headers: { authorization: 'Token very-secret-value' } } },
    });
    const everything = JSON.stringify([result, events, lines]);
    expect(everything).toContain('[redacted]');
    for (const secret of [key, 'abcdefghijklmnop', 'very-secret-value', 'test-key'])
      expect(everything).not.toContain(secret);
  });

  it('P-1: exceptions from a model or from Pawl are failed attempts within the bound', async () => {
    const throwing = rehearsalModel([{ throws: new TypeError('undefined is not a function') }, report()]);
    const { result } = await run({ agent: defineAgent({ name: 'thrown', models: [throwing] }) });
    expect(result.turns[0]?.attempts[0]?.slugs).toEqual(['provider_error']);
    const refused = new APICallError({
      message: 'no',
      url: '',
      requestBodyValues: {},
      statusCode: 400,
      responseBody: 'content_filter',
      isRetryable: true,
    });
    const filtered = await run({
      agent: defineAgent({ name: 'filtered', models: [rehearsalModel([{ throws: refused }, report()])] }),
    });
    expect(filtered.result.turns[0]?.attempts[0]?.slugs).toEqual(['content_filtered']);
    expect(filtered.clock.waits).toEqual([]);
  });
});
