import { Readable } from 'node:stream';
import { jsonSchema, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { compileForeign } from '../../src/schema/foreign-schema.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { McpResult } from '../../src/tools/mcp/calls/result.ts';
import { callsIn, counters, report, run } from '../support/session.ts';

/** Runs one call of each tool, and returns the calls and what the model then read. */
async function calling(tools: Record<string, unknown>, input: object = {}, context?: unknown) {
  const names = Object.keys(tools);
  // A provider whose tool messages carry files.
  const model = rehearsalModel([{ calls: names.map((name) => ({ name, input })) }, report()], {
    provider: 'anthropic.messages',
  });
  const agent = defineAgent({ name: 'given', models: [model], tools: tools as never });
  const { result } = await run({ agent, ...(context !== undefined && { options: { context } }) });
  const calls = callsIn(result).slice(0, names.length);
  const executed = calls.filter((call) => call.executed).length;
  const failed = calls.filter(({ slug }) => slug === 'tool_exec_failed').length;
  expect(result.counters).toEqual(
    counters({
      turns: 2,
      attempts: 2,
      ...{ tokens: result.counters.tokens, costUsd: null },
      failedAttempts: result.counters.failedAttempts,
      collapses: result.counters.collapses,
      slugs: result.counters.slugs,
      toolCalls: {
        ...{ requested: names.length + 1, answered: names.length + 1, acknowledged: 1 },
        ...{ executed, failed, succeeded: executed - failed, rejected: result.counters.toolCalls.rejected },
      },
      reports: { attempted: 1 },
    }),
  );
  const read = (model.requests.at(-1)?.prompt ?? []).flatMap(({ role, content }) => (role === 'tool' ? content : []));
  return { calls, outputs: read.flatMap((part) => (part.type === 'tool-result' ? [part.output] : [])) };
}

const inputSchema = z.object({});

describe('T-6: what a tool returns', () => {
  it.each([
    ['a stream of the web', () => new Response('first, last').body, 'ReadableStream'],
    ['a stream of Node', () => Readable.from(['first, ', 'last']), 'stream'],
  ])('%s is refused unread, not taken as preliminary values', async (_what, execute, kind) => {
    const { calls } = await calling({ stream: execute });
    expect(calls[0]?.result).toMatchObject({
      success: false,
      message: `The tool returned an unread ${kind}; it must return the content.`,
    });
  });

  it('a blob is for `toModelOutput` to read, if the tool has one', async () => {
    const shot = tool({
      inputSchema,
      execute: async () => new Blob(['png']),
      toModelOutput: async ({ output }) => ({
        type: 'content',
        value: [
          {
            type: 'file-data',
            mediaType: 'image/png',
            data: Buffer.from(await output.arrayBuffer()).toString('base64'),
          },
        ],
      }),
    });
    const { calls, outputs } = await calling({ shot });
    expect(calls[0]?.result).toMatchObject({ success: true, value: '[Blob]' });
    expect(JSON.stringify(outputs)).toContain(Buffer.from('png').toString('base64'));
  });

  it('texts and files stay in their order, with their names, unless the texts are too long', async () => {
    const value = [
      { type: 'text', text: 'before:' },
      { type: 'file-data', mediaType: 'image/png', data: 'AAAA' },
      { type: 'text', text: 'after:' },
      { type: 'file-data', mediaType: 'application/pdf', filename: 'x.pdf', data: 'BBBB' },
    ];
    const shot = { inputSchema, execute: () => 1, toModelOutput: () => ({ type: 'content', value }) };
    const { outputs } = await calling({ shot });
    expect(outputs).toMatchObject([
      {
        type: 'content',
        value: [
          { type: 'text', text: 'before:' },
          { type: 'file', mediaType: 'image/png' },
          { type: 'text', text: 'after:' },
          { type: 'file', mediaType: 'application/pdf', filename: 'x.pdf' },
        ],
      },
    ]);
  });

  it('a piece keeps its options for providers, and a file its name, however it is written', async () => {
    const providerOptions = { openai: { imageDetail: 'low' } };
    const value = [
      { type: 'text', text: 'see:', providerOptions },
      {
        type: 'file',
        mediaType: 'image/png',
        data: { type: 'data', data: 'AAAA' },
        filename: 'a.png',
        providerOptions,
      },
    ];
    const shot = { inputSchema, execute: () => 1, toModelOutput: () => ({ type: 'content', value }) };
    const { outputs } = await calling({ shot });
    expect(outputs).toEqual([{ type: 'content', value }]);
  });

  it('a tool gets the context that the session was given, with its methods', async () => {
    class Services {
      greet = () => `hello, ${this.name()}`;
      name() {
        return 'Ada';
      }
    }
    const hello = tool({ inputSchema, execute: (_input, { context }) => (context as unknown as Services).name() });
    const plain = (_input: unknown, { context }: { context: unknown }) => (context as Services).greet();
    const { calls } = await calling({ hello, plain }, {}, new Services());
    expect(calls.map(({ result }) => result.value)).toEqual(['Ada', 'hello, Ada']);
  });
});

describe('T-2: schemas as they are written', () => {
  const checked = (schema: object) => tool({ inputSchema: jsonSchema(schema), execute: () => 'ran' });
  const withName = (name: object, more: object = {}) => checked({ type: 'object', properties: { name }, ...more });

  it.each([
    ['a pattern with classes of Unicode', { type: 'string', pattern: '^\\p{L}+$' }, 'Müller'],
    ['a pattern that is invalid with the Unicode flag', { type: 'string', pattern: '^\\w+\\-\\w+$' }, 'a-b'],
    [
      'a tuple of 2020-12',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: false },
      ['a', 1],
    ],
    [
      'a tuple of draft-07',
      { type: 'array', items: [{ type: 'string' }, { type: 'number' }], additionalItems: false },
      ['a', 1],
    ],
    ['nullable without a type', { nullable: true, enum: ['a', null] }, 'a'],
  ])('%s', async (_what, schema, name) => {
    const { calls } = await calling({ own: withName(schema) }, { name });
    expect(calls[0]?.result).toMatchObject({ success: true, value: 'ran' });
    const foreign = compileForeign({ type: 'object', properties: { name: schema } } as never);
    expect(await foreign.validate({ name })).toMatchObject({ valid: true });
    expect(await foreign.validate({ name: { no: 1 } })).toMatchObject({ valid: false });
  });

  it.each([
    'https://json-schema.org/draft/2019-09/schema',
    'http://json-schema.org/draft-04/schema#',
    'http://json-schema.org/draft-06/schema#',
    'https://json-schema.org/draft-07/schema#',
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2020-12/schema',
    'https://example.com/our-own',
  ])('of the draft %s', async ($schema) => {
    const { calls } = await calling({ own: withName({ type: 'string' }, { $schema }) }, { name: 'Ada' });
    expect(calls[0]?.result).toMatchObject({ success: true });
    const foreign = compileForeign({ $schema, type: 'object', properties: { name: { type: 'string' } } });
    expect(await foreign.validate({ name: 1 })).toMatchObject({ valid: false });
  });

  it('one from outside that refers to what is not in it is refused before it is offered', () => {
    const referring = ($ref: string) => ({
      type: 'object' as const,
      properties: { x: { $ref } },
      $defs: { 'a/b': {} },
    });
    expect(() => compileForeign(referring('#/components/schemas/X'))).toThrow(
      'it refers to "#/components/schemas/X", which is not in it',
    );
    expect(compileForeign(referring('#/$defs/a~1b')).validate({ x: 1 })).toMatchObject({ valid: true });
  });

  it.each([
    [{ properties: { spec: { type: 'object', default: { $ref: '#/components/schemas/Pet' } } } }],
    [{ examples: [{ spec: { $ref: '#/components/schemas/Pet' } }] }],
    [
      {
        properties: { p: { $ref: '#/$defs/a' } },
        $defs: {
          a: {
            ...{ $id: 'https://x.example/a', properties: { n: { $ref: '#/definitions/b' } } },
            definitions: { b: { type: 'string' } },
          },
        },
      },
    ],
  ])('one from outside may hold what only looks like a reference: %j', (schema) => {
    expect(compileForeign({ type: 'object', ...schema } as never).validate({})).toMatchObject({ valid: true });
  });

  it.each([
    [{ properties: { v: { const: { nullable: true } } } }, { v: { nullable: true } }, { v: {} }],
    [{ properties: { nullable: { type: 'string' } }, additionalProperties: false }, { nullable: 'x' }, { nullable: 1 }],
    [
      { properties: { prefixItems: { type: 'array', items: [{ type: 'string' }] } } },
      { prefixItems: ['a'] },
      { prefixItems: [1] },
    ],
    [{ properties: { p: { items: [{ type: 'string' }] } }, unevaluatedProperties: false }, { p: ['a'] }, { p: [1] }],
  ])('keywords are looked for where schemas stand: %j', async (schema, good, bad) => {
    const { validate } = compileForeign({ type: 'object', ...schema } as never);
    expect(await validate(good)).toMatchObject({ valid: true });
    expect(await validate(bad)).toMatchObject({ valid: false });
  });

  it('one from outside may refer to a group in its pattern', async () => {
    const { validate } = compileForeign({
      type: 'object',
      properties: { x: { type: 'string', pattern: '^(?<mark>["\'])[a-z]+\\k<mark>$' } },
    });
    expect(await validate({ x: '"abc"' })).toMatchObject({ valid: true });
    expect(await validate({ x: '"abc\'' })).toMatchObject({ valid: false });
  });

  it('fields of zod that no object holds, and a description that is a function, are refused by name', () => {
    const define = (given: object) => () => defineAgent({ name: 'a', models: [], tools: { one: given as never } });
    expect(define({ inputSchema: { name: z.string() }, execute: () => 1 })).toThrow('Wrap its fields in z.object()');
    expect(define({ inputSchema, description: () => 'x', execute: () => 1 })).toThrow(
      '`tools.one.description` must be a text',
    );
  });

  it('a context schema may be a function, as those of ArkType are', async () => {
    const contextSchema = Object.assign(() => true, {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: (value: unknown) =>
          typeof value === 'object' ? { value } : { issues: [{ message: 'must be an object' }] },
        jsonSchema: { input: () => ({ type: 'object' }), output: () => ({ type: 'object' }) },
      },
    });
    const model = rehearsalModel([report()]);
    const agent = defineAgent({ name: 'a', models: [model], contextSchema: contextSchema as never });
    const { result } = await run({ agent, options: { context: { user: 'ann' } } });
    expect(result.success).toBe(true);
    await expect(run({ agent, options: { context: 'ann' } })).rejects.toThrow('must be an object');
  });
});

describe('T-6: structured content of an MCP tool is read once', () => {
  const read = (text: string, structuredContent: Record<string, unknown>) =>
    new McpResult({ content: [{ type: 'text', text }], structuredContent }).text;

  it.each([
    ['Processed 30 files in 12 s.', { deleted: 3, failed: 1, skipped: 2 }],
    ['It is broken.', { status: 'ok' }],
    ['Moved 1 item between Savings and Checking.', { from: 'Checking', to: 'Savings' }],
    ['the content', { content: 'the content', size: 11 }],
  ])('it is added to %j: %j', (text, structured) => {
    expect(read(text, structured)).toBe(`${text}\n${JSON.stringify(structured)}`);
  });

  it.each([
    ['{ "a": 1 }', { a: 1 }],
    ['the content', { content: 'the content' }],
  ])('it is not repeated, as the same JSON or the only value: %j', (text, structured) => {
    expect(read(text, structured)).toBe(text);
  });
});
