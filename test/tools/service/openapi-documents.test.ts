import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openApiTools, PawlError } from '../../../src/index.ts';
import { type Received, service } from '../../support/service.ts';

const answer = { responses: { 200: { description: 'It worked.' } } };
const document = (paths: object, more: object = {}) => ({
  openapi: '3.0.3',
  info: { title: 'An API', version: '1' },
  servers: [{ url: 'https://api.test/v1' }],
  paths,
  ...more,
});
const path = (method: string, operation: object = {}, more: object = {}) => ({
  [method]: { ...answer, ...operation },
  ...more,
});
const refusal = async (given: unknown, options: object = {}) => {
  const error = await openApiTools(given as object, options).catch((reason) => reason);
  expect(error).toBeInstanceOf(PawlError);
  expect(error.code).toBe('invalid_tool');
  return error as PawlError;
};

let api: Awaited<ReturnType<typeof service>> | null = null;
afterEach(() => api?.[Symbol.asyncDispose]());

/** What the service receives when the first tool of a document is called. */
async function received(given: object, options: object = {}): Promise<Received> {
  const running = await service((_, response) => response.end('{}'));
  api = running;
  const text = JSON.stringify(given).replaceAll('https://api.test', running.url);
  const [tool] = Object.values(await openApiTools(JSON.parse(text), { allowPrivate: true, ...options }));
  const context = { toolCallId: 'c', messages: [], abortSignal: AbortSignal.timeout(5_000) };
  await (Object(tool).execute as (input: object, options: object) => unknown)({}, context);
  return running.received[0] as Received;
}

describe('the names of the operations of a document', () => {
  const paths = {
    '/': path('get'),
    '//a/{b}--c/': path('get', {}, { parameters: [{ name: 'b', in: 'path', required: true, schema: {} }] }),
    '/long': path('get', { operationId: `find${'x'.repeat(80)}` }),
    '/one': path('get', { operationId: 'find it!' }),
    '/two': path('post', { operationId: '__find__it__' }),
    '/three': path('get', { operationId: 'find_it' }),
    '/four': path('get', { operationId: '!!!' }),
  };

  it('are their ids or their method and path, without what no provider accepts, each once', async () => {
    const names = Object.keys(await openApiTools(document(paths)));
    expect(names).toEqual([
      'get',
      'get__a_b_--c',
      `find${'x'.repeat(56)}`,
      'find_it',
      'find__it',
      'find_it_2',
      'operation',
    ]);
  });

  it('do not depend on which of them are left out', async () => {
    for (const options of [{ exclude: ['find it!'] }, { include: ['find_it_2'] }, { include: ['GET /three'] }]) {
      expect(Object.keys(await openApiTools(document(paths), options))).toContain('find_it_2');
    }
    expect(Object.keys(await openApiTools(document(paths), { exclude: ['find_it_2'] }))).toContain('find_it');
  });

  it('that two would share ask for approval of both, whichever has it in the end', async () => {
    const two = { '/a': path('post', { operationId: 'send!it' }), '/b': path('post', { operationId: 'send it' }) };
    const asks = async (options: object) =>
      Object.values(await openApiTools(document(two), options)).map((one) => Object(one).needsApproval);
    expect(await asks({ needsApproval: ['send_it'] })).toEqual([true, true]);
    expect(await asks({ exclude: ['send!it'], needsApproval: ['send_it'] })).toEqual([true]);
    expect(await asks({ needsApproval: ['send_it_2'] })).toEqual([false, true]);
  });

  it('are not taken by operations that cannot be tools', async () => {
    const two = { '/x/{id}': path('get', { operationId: 'a b' }), '/y': path('get', { operationId: 'a_b' }) };
    expect(Object.keys(await openApiTools(document(two)))).toEqual(['a_b']);
  });

  it('are all listed when an unknown one is asked for', async () => {
    const known = await refusal(document({ '/a': path('get', { operationId: 'a-b' }), '/b': path('put') }), {
      exclude: ['fly'],
    });
    expect(known.message).toBe('The document has no operation fly; it has a-b, GET /a, put__b, PUT /b.');
  });
});

describe('where the tools of a document send their requests', () => {
  it.each<[string, object, object, string]>([
    ['the server of the document', {}, {}, '/v1/a'],
    ['the server of the path', {}, { servers: [{ url: 'https://api.test/of-path//' }] }, '/of-path/a'],
    [
      'the server of the operation',
      { servers: [{ url: 'https://api.test/of-operation' }] },
      { servers: [{ url: 'https://api.test/of-path' }] },
      '/of-operation/a',
    ],
    [
      'a server with variables',
      {
        servers: [
          {
            url: 'https://api.test/{version}/{empty}x',
            variables: { version: { default: 'v7' }, empty: { default: '' } },
          },
        ],
      },
      {},
      '/v7/x/a',
    ],
  ])('%s', async (_, operation, item, url) => {
    expect((await received(document({ '/a': path('get', operation, item) }))).url).toBe(url);
  });

  const shape = '`baseUrl` must be an http or https URL without placeholders, a query or a fragment; got';
  it.each([
    ['/v1', '/v1'],
    ['ftp://x.test', 'ftp://x.test'],
    ['nohttp://x.test', 'nohttp://x.test'],
    ['{scheme}://x.test', '{scheme}://x.test'],
    ['https://x.test/{tenant}/v1', 'https://x.test/{tenant}/v1'],
    ['https://x.test/v1?key=s3cret', 'https://x.test/v1?…'],
    ['https://x.test/v1#part', 'https://x.test/v1#…'],
    ['https://ada:s3cret@x.test/v1?a', 'https://…@x.test/v1?…'],
  ])('is refused if the document says %s, or the base URL is that', async (url, shown) => {
    const { message } = await refusal(document({ '/a': path('get') }, { servers: [{ url }] }));
    expect(message).toBe(`${shape} "${shown}". The document names no such server.`);
    const given = await refusal(document({ '/a': path('get') }), { baseUrl: url });
    expect(given.message).toBe(`${shape} "${shown}".`);
    const bare = await refusal(document({ '/a': path('get') }, { servers: [] }));
    expect(bare.message).toBe(`${shape} "". The document names no such server.`);
  });

  it.each(['https://ada:s3cret@x.test/v1', 'https://ada@x.test', 'https://:s3cret@x.test'])(
    'is refused with credentials, which it does not show: %s',
    async (baseUrl) => {
      const { message } = await refusal(document({ '/a': path('get') }), { baseUrl });
      expect(message).toBe('`baseUrl` must not contain credentials; pass them in `auth`.');
    },
  );
});

describe('credentials', () => {
  it.each([null, 'a-secret-key', 7])('are refused if they are no object: %j', async (auth) => {
    expect((await refusal(document({ '/a': path('get') }), { auth, include: [] })).message).toContain('auth');
    const { message } = await refusal(document({ '/a': path('get') }), { auth });
    expect(message).toMatch(/^`?auth/);
    expect(message).not.toContain('a-secret-key');
  });
});

describe('a document that cannot be used', () => {
  it.each<[unknown, string]>([
    [{ openapi: 3 }, '(the given object): `openapi` must be version 3.0 or 3.1; got 3.'],
    [{ openapi: '13.0.1' }, '`openapi` must be version 3.0 or 3.1; got "13.0.1".'],
    [{ openapi: '3.2.0' }, '`openapi` must be version 3.0 or 3.1; got "3.2.0".'],
    [{}, '`openapi` is required: version 3.0 or 3.1.'],
    [{ openapi: '3.0.0', info: () => {} }, '(the given object): '],
    [document({}, { info: { title: 'An API' } }), "(the given object): /info must have required property 'version'."],
    [{ openapi: '3.0.0' }, '(the given object): the document must have required property'],
  ])('says why: %j', async (given, message) => {
    const error = await refusal(given);
    expect(error.message).toMatch(/^The OpenAPI document cannot be used \(/);
    expect(error.message).toContain(message);
    expect(error.cause).toBeDefined();
  });

  it('names its file, which may be YAML', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'pawl-openapi-'));
    const file = join(folder, 'api.yaml');
    writeFileSync(
      file,
      `openapi: 3.0.3\ninfo: {title: Ä, version: '1'}\nservers: [{url: 'https://api.test'}]\npaths:\n  /ä:\n    get: {responses: {200: {description: So.}}, operationId: a, summary: Ä.}\n`,
    );
    const { a } = await openApiTools(file);
    expect(Object(a).description).toContain('Ä.');
    writeFileSync(file, '');
    expect((await refusal(file)).message).toContain(`(${file}): \`openapi\` is required: version 3.0 or 3.1.`);
    writeFileSync(file, 'text');
    expect((await refusal(file)).message).toContain(`(${file}): `);
  });

  it('may use merge keys, and one anchor very often', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'pawl-openapi-')), 'api.yaml');
    const paths = Array.from({ length: 300 }, (_, at) => `  /a${at}: {get: {<<: *base, operationId: a${at}}}\n`);
    const base = "{responses: {'200': {description: So.}}, summary: The base.}";
    writeFileSync(
      file,
      `openapi: 3.0.3\ninfo: {title: A, version: '1'}\nservers: [{url: 'https://api.test'}]\nx-base: &base ${base}\npaths:\n${paths.join('')}`,
    );
    const tools = await openApiTools(file);
    expect(Object.keys(tools)).toHaveLength(300);
    expect(Object(tools.a299).description).toBe('The base.');
  });

  it('names an operation whose input has too large a schema, and says how to leave it out', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(70_000) } } };
    const requestBody = { content: { 'application/json': { schema } } };
    const { message } = await refusal(document({ '/a': path('post', { operationId: 'make', requestBody }) }));
    expect(message).toMatch(
      /^The operation make cannot be a tool: its input schema is unusable, as .* Leave it out with `exclude`\.$/,
    );
  });
});
