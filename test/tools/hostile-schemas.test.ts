import { describe, expect, it } from 'vitest';
import { openApiTools } from '../../src/index.ts';
import { runBounded } from '../../src/schema/bounded-check.ts';
import { compileForeign } from '../../src/schema/foreign-schema.ts';
import { call, odd, slugsOf, texts } from '../support/mcp.ts';
import { json, service } from '../support/service.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';

const evil = `${'a'.repeat(30)}b`;

describe('schemas that others wrote', () => {
  it('C-5: a pattern takes linear time, and a check that takes too long is ended, as check_failed', async () => {
    const calls = [
      call('odd__evil', { text: evil }),
      call('odd__evil', { text: 'aaa' }),
      call('odd__doubled', { text: 'no number' }),
      call('odd__doubled', { text: 7 }),
    ];
    const run = await runOverWire({ script: [{ calls }, report()], definition: { mcpServers: { odd: odd() } } });
    expect(slugsOf(run)).toEqual(['invalid_tool_input', null, 'check_failed', null, null]);
    expect(texts(run)[0]).toBe('The input does not satisfy the tool\'s schema: text must match pattern "^(a+)+$"');
    expect(texts(run)[2]).toMatch(/its schema takes too long to check \(more than \d+ ms\)/);
    const skipped = run.lines.flatMap(({ event, line }) => (event === 'server.unavailable' ? [line] : []));
    expect(skipped).toEqual(
      expect.arrayContaining([
        'skipped deep: its input schema cannot be used: it is more than 100 levels deep',
        expect.stringMatching(/^skipped large: its input schema cannot be used: it has \d+ bytes; the most is 65536$/),
      ]),
    );
    expect(run.result.counters).toEqual(
      counters({
        attempts: 2,
        toolCalls: {
          requested: 5,
          answered: 5,
          executed: 2,
          succeeded: 2,
          acknowledged: 1,
          rejected: { invalid_tool_input: 1, check_failed: 1 },
        },
        turns: 2,
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it('C-5: after three checks that took too long, no value as large is checked again', () => {
    const { validate } = compileForeign({
      properties: { text: { type: 'string', pattern: '^(?=(a+)+$)' } },
    });
    const check = () => validate({ text: `${'a'.repeat(40)}b` });
    for (let time = 0; time < 3; time += 1) expect(check).toThrow(/more than \d+ ms/);
    expect(check).toThrow(/^its schema takes too long to check$/);
    expect(validate({ text: 'aaa' })).toEqual({ valid: true, value: { text: 'aaa' } });
  });

  it('C-5: a check is not ended because the process waited for the processor, but if it works for too long', () => {
    const cell = new Int32Array(new SharedArrayBuffer(4));
    let tries = 0;
    const sleepsOnce = () => {
      tries += 1;
      if (tries === 1) Atomics.wait(cell, 0, 0, 400);
      return 'checked';
    };
    // What else the process does in that time must stay below the limit, on a busy machine, too.
    expect(runBounded(100, sleepsOnce)).toBe('checked');
    expect(tries).toBe(2);
    const works = () => {
      for (;;) tries += 1;
    };
    expect(() => runBounded(20, works)).toThrow(/timed out/);
    tries = 0;
    const sleeps = () => {
      tries += 1;
      Atomics.wait(cell, 0, 0, 2_000);
    };
    expect(() => runBounded(50, sleeps)).toThrow(/timed out/);
    expect(tries).toBe(4);
  });

  it.each<[string, object, string]>([
    ['too deep', JSON.parse(`${'{"not":'.repeat(101)}{}${'}'.repeat(101)}`), 'it is more than 100 levels deep'],
    ['too large', { description: 'x'.repeat(65_536) }, 'the most is 65536'],
    [
      'full of references',
      { anyOf: Array.from({ length: 1_001 }, () => ({ $ref: '#' })) },
      'more than 1000 references',
    ],
    ['asynchronous', { properties: { a: { $async: true } } }, '$async'],
    ['not a schema', { type: 'thing' }, 'it is not a valid JSON Schema'],
  ])('C-5: a schema that is %s is refused when it is read', (_what, schema, message) => {
    expect(() => compileForeign(schema)).toThrow(message);
  });

  it('C-5: 18 levels of OpenAPI schemas, each with two references to the next, are not expanded', async () => {
    await using api = await service((_request, response) => json(response, { ok: true }));
    const levels = Array.from({ length: 18 }, (_, level) => {
      const next = level === 17 ? { type: 'string' } : { $ref: `#/components/schemas/L${level + 1}` };
      return [`L${level}`, { type: 'object', properties: { left: next, right: next } }];
    });
    const tools = await openApiTools(
      {
        openapi: '3.0.3',
        info: { title: 'levels', version: '1' },
        paths: {
          '/levels': {
            post: {
              operationId: 'send',
              requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/L0' } } } },
              responses: { 200: { description: 'ok' } },
            },
          },
        },
        components: { schemas: Object.fromEntries(levels) },
      },
      { baseUrl: api.url, allowPrivate: true },
    );
    const calls = [call('send', { body: { left: { right: {} } } }), call('send', { body: { left: { right: 7 } } })];
    const { result, requests } = await runOverWire({ script: [{ calls }, report()], definition: { tools } });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, 'invalid_tool_input', null]);
    // Expanded, the schema would have 2 ** 18 leaves.
    expect(JSON.stringify(requests[0]?.body.tools).length).toBeLessThan(10_000);
  });

  it('an operation whose schema is too large is named, with what to do', async () => {
    const schema = { type: 'object', description: 'x'.repeat(70_000) };
    const document = {
      openapi: '3.0.3',
      info: { title: 'large', version: '1' },
      paths: {
        '/large': {
          post: {
            operationId: 'sendLarge',
            requestBody: { content: { 'application/json': { schema } } },
            responses: { 200: { description: 'ok' } },
          },
        },
      },
    };
    await expect(openApiTools(document, { baseUrl: 'https://example.com' })).rejects.toThrow(
      /^The operation sendLarge cannot be a tool: .* it has \d+ bytes; the most is 65536\. Leave it out with `exclude`\.$/,
    );
  });
});

describe('replies with very many calls', () => {
  it('C-1 T-2: 5,000 calls are all answered; those beyond 1,000 are not inspected', async () => {
    let inspected = 0;
    const calls = Array.from({ length: 5_000 }, (_, index) => ({ name: 'seen', input: { index } }));
    const { result } = await runOverWire({
      script: [{ calls }, report()],
      definition: {
        tools: { seen: () => 'seen' },
        toolPolicies: [
          () => {
            inspected += 1;
            return { allow: true };
          },
        ],
        limits: { maxToolCallsPerTurn: 3 },
      },
    });
    expect(inspected).toBe(1_000);
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: {
          requested: 5_001,
          answered: 5_001,
          executed: 3,
          succeeded: 3,
          acknowledged: 1,
          rejected: { tool_limit: 4_997 },
        },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
    expect(callsIn(result)[4_999]?.result.message).toContain('A reply may hold at most 1000 calls');
  });
});
