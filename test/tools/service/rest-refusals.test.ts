import { asSchema, jsonSchema } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { secretsOf } from '../../../src/agent/secrets.ts';
import { defineAgent, type RestToolOptions, restTool } from '../../../src/index.ts';
import { rehearsalModel } from '../../../src/testing/index.ts';
import { service } from '../../support/service.ts';
import { callsIn, report, runOverWire } from '../../support/session.ts';

type Made = { execute(input: object, context?: object): Promise<unknown> };
const options = (over: object) =>
  ({ method: 'GET', url: 'https://a.example/', input: z.object({}), allowPrivate: true, ...over }) as RestToolOptions;
const made = (over: object): Made => {
  const { execute } = restTool(options(over)) as unknown as Made;
  return { execute: (input, context = {}) => execute(input, context) };
};
const secretsIn = (over: object) =>
  secretsOf(
    defineAgent({ name: 'a', models: [rehearsalModel([])], tools: { call: restTool(options(over)) } }).definition,
  );

describe('B-1: what a REST tool refuses when it is made', () => {
  it.each<[object, string]>([
    [{ url: 7 }, '`url` must be an http or https URL, with {name} for fields of the input; got 7.'],
    [{ input: 'x' }, '`input` must be the schema of an object; got "x".'],
    [{ headers: { a: 1 } }, '`headers.a` must be a string; got 1.'],
    [
      { auth: { basic: { username: '', password: 'word-12' } } },
      '`auth.basic.username` must be a string that is not empty.',
    ],
    [{ auth: { basic: { username: 'a', password: 7 } } }, '`auth.basic.password` must be a string.'],
    [{ auth: { basic: { username: 'a', password: 'b', realm: 'c' } } }, '`auth.basic` must be { username, password }.'],
    [{ auth: { key: '', name: 'k' } }, '`auth.key` must be a string that is not empty.'],
    [{ auth: { key: 'k', name: '' } }, '`auth.name` must be a string that is not empty.'],
  ])('%j', (over, message) => {
    expect(() => made(over)).toThrow(expect.objectContaining({ code: 'invalid_tool', message }));
  });

  it('options that are not an object', () => {
    const message = '`options` must be an object; got null.';
    expect(() => restTool(null as never)).toThrow(expect.objectContaining({ code: 'invalid_tool', message }));
  });

  it('but a field within the path chooses no host', () => {
    made({ url: 'https://a.example/go/http://{next}' });
  });
});

describe('REST tools: at the borders of what is sent', () => {
  it('a credential replaces a header of the same name, however it is written', async () => {
    await using server = await service((_, response) => response.end());
    const auth = { key: 'the-own-key', name: 'X-Key' };
    await made({ url: server.url, headers: { 'x-key': 'another' }, auth }).execute({});
    expect(server.received[0]?.headers['x-key']).toBe('the-own-key');
  });

  it('a request without a body has its headers', async () => {
    await using server = await service((_, response) => response.end());
    await made({ method: 'POST', url: server.url, headers: { 'x-own': '1' }, body: () => null }).execute({});
    const [sent] = server.received;
    expect([sent?.headers['x-own'], sent?.headers['content-type'], sent?.body]).toEqual(['1', undefined, '']);
  });

  it('a call that is aborted breaks off its request', async () => {
    const got = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    await using server = await service((_, response) => {
      response.on('close', () => closed.resolve());
      got.resolve();
    });
    const controller = new AbortController();
    const call = made({ url: server.url }).execute({}, { abortSignal: controller.signal });
    await got.promise;
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await closed.promise;
  });

  it('plain JSON Schema is given to the AI SDK as it takes one, and a schema as it is', async () => {
    const plain = { type: 'object', properties: { id: { type: 'string' } } } as const;
    const schemaOf = (input: object) => (restTool(options({ input })) as unknown as { inputSchema: never }).inputSchema;
    expect(await asSchema(schemaOf(plain)).jsonSchema).toEqual(plain);
    const own = z.object({});
    expect(schemaOf(own)).toBe(own);
    const wrapped = jsonSchema(plain);
    expect(schemaOf(wrapped)).toBe(wrapped);
  });

  it('the input may be described by plain JSON Schema, which is checked', async () => {
    await using server = await service((_, response) => response.end('seen'));
    const input = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] } as const;
    const call = (given: object) => ({ name: 'look', input: given });
    const { result } = await runOverWire({
      script: [{ calls: [call({ id: 7 }), call({ id: 'a' })] }, report()],
      definition: { tools: { look: restTool(options({ url: `${server.url}/{id}`, input })) } },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual(['invalid_tool_input', null, null]);
    expect(server.received.map(({ url }) => url)).toEqual(['/a']);
  });
});

describe('C-1: what a REST tool makes of an answer', () => {
  it('bytes without a type', async () => {
    await using server = await service((_, response) => response.end(Buffer.from([1, 0, 2])));
    expect(await made({ url: server.url }).execute({})).toBe('[binary content, 3 bytes]');
  });

  it('a replacement character of the text is kept, one that a cut made is not', async () => {
    const text = { 'content-type': 'text/plain' };
    await using server = await service((_, response) => response.writeHead(200, text).end('a\uFFFDb😀c'));
    const cut = await made({ url: server.url, maxBytes: 7 }).execute({});
    expect(cut).toBe('a\uFFFDb\n[… the response was truncated after 7 bytes …]');
  });
});

describe('S-5: the secrets of a REST tool', () => {
  it('are those of its credentials that are long enough to be told from other words', () => {
    expect(secretsIn({})).toEqual([]);
    expect(secretsIn({ url: 'https://a.example/?api_key={secret}' })).toEqual([]);
    expect(secretsIn({ auth: { key: 'short', name: 'k' } })).toEqual([]);
    expect(secretsIn({ auth: { key: 'longer', name: 'k' } })).toEqual(['longer']);
    expect(secretsIn({ auth: { basic: { username: 'ann', password: 'pass' } } })).toEqual([
      'YW5uOnBhc3M%3D',
      'YW5uOnBhc3M=',
    ]);
  });
});
