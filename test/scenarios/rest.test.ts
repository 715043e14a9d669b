import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openApiTools, PawlError, type RestToolOptions, restTool } from '../../src/index.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../support/session.ts';

type Received = { method: string; url: string; headers: IncomingMessage['headers']; body: string };

/** Starts a service on loopback that records the requests it receives. */
async function service(answer: (request: Received, response: ServerResponse) => void) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    answer(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = async () => {
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, [Symbol.asyncDispose]: close };
}

const json = (response: ServerResponse, value: unknown, status = 200) =>
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));

const user = (url: string, over: Partial<RestToolOptions> = {}) =>
  restTool({
    method: 'GET',
    url: `${url}/users/{id}`,
    description: 'Gets a user.',
    input: z.object({ id: z.string(), fields: z.array(z.string()).optional() }),
    allowPrivate: true,
    ...over,
  });
const ask = (input: unknown, name = 'user') => ({ calls: [{ name, input }] });

describe('REST tools', () => {
  it('fill the URL from the input and put the rest in the query', async () => {
    await using api = await service((_, response) => json(response, { name: 'Ann' }));
    const { result } = await runOverWire({
      script: [ask({ id: 'a/b ?c', fields: ['x', 'y&z'] }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(api.received[0]?.url).toBe('/users/a%2Fb%20%3Fc?fields=x&fields=y%26z');
    expect(callsIn(result)[0]?.result.value).toEqual({ name: 'Ann' });
    expect(result.counters).toEqual(
      counters({
        turns: 2,
        attempts: 2,
        toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
        reports: { attempted: 1 },
        tokens: tokensOf(2),
        costUsd: null,
      }),
    );
  });

  it.each([404, 500])('C-3: HTTP %i is a failed result with the status and the body', async (status) => {
    await using api = await service((_, response) => json(response, { error: 'no such user' }, status));
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(callsIn(result)[0]).toMatchObject({
      slug: 'tool_exec_failed',
      result: { value: { status, body: { error: 'no such user' } } },
    });
  });

  it('a body is JSON unless the tool builds its own', async () => {
    await using api = await service((_, response) => json(response, {}));
    const input = z.object({ id: z.string(), name: z.string() });
    await runOverWire({
      script: [
        { calls: [...ask({ id: '1', name: 'Ann' }).calls, ...ask({ id: '1', name: 'Ann' }, 'text').calls] },
        report(),
      ],
      definition: {
        tools: {
          user: user(api.url, { method: 'PUT', input }),
          text: user(api.url, {
            method: 'POST',
            input,
            headers: ({ id }) => ({ 'content-type': 'text/plain', 'x-id': String(id) }),
            body: ({ name }) => `name=${name}`,
          }),
        },
      },
    });
    const [put, post] = api.received.toSorted((one, other) => other.method.localeCompare(one.method));
    expect(put).toMatchObject({
      method: 'PUT',
      body: '{"name":"Ann"}',
      headers: { 'content-type': 'application/json' },
    });
    expect(post).toMatchObject({ body: 'name=Ann', headers: { 'content-type': 'text/plain', 'x-id': '1' } });
  });

  it.each<[string, RestToolOptions['auth'], (request: Received | undefined) => unknown, string]>([
    [
      'bearer',
      { bearer: 'very-secret-token' },
      (request) => request?.headers.authorization,
      'Bearer very-secret-token',
    ],
    [
      'basic',
      { basic: { username: 'ann', password: 'secret-word' } },
      (request) => request?.headers.authorization,
      `Basic ${btoa('ann:secret-word')}`,
    ],
    ['key', { key: 'very-secret-key', name: 'X-Key' }, (request) => request?.headers['x-key'], 'very-secret-key'],
    [
      'query key',
      { key: 'very-secret-key', name: 'key', in: 'query' },
      (request) => request?.url,
      '/users/1?key=very-secret-key',
    ],
  ])('S-5: %s auth is sent but never shown, even if the service echoes it', async (_name, auth, seen, expected) => {
    await using api = await service((request, response) =>
      json(
        response,
        { error: `refused: ${request.headers.authorization ?? request.headers['x-key'] ?? request.url}` },
        401,
      ),
    );
    const { result, events, lines } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url, auth === undefined ? {} : { auth }) } },
    });
    expect(seen(api.received[0])).toBe(expected);
    const everything = JSON.stringify([result, events, lines]);
    for (const secret of ['very-secret', 'secret-word', btoa('ann:secret-word')])
      expect(everything).not.toContain(secret);
  });

  it('S-5: a secret in a header, a URL or an invalid header is never shown', async () => {
    await using api = await service((request, response) =>
      json(response, { echo: [request.url, request.headers['x-tenant-token']] }),
    );
    const tools = {
      user: user(api.url, { headers: { 'X-Tenant-Token': 'tenant-credential-99' } }),
      asked: user(api.url, { auth: { key: 'q+secret/77==', name: 'key', in: 'query' } }),
      broken: user(api.url, { auth: { key: 'sec\nret-key-123456', name: 'X-Key' } }),
    };
    const { result, events, lines } = await runOverWire({
      script: [{ calls: Object.keys(tools).map((name) => ({ name, input: { id: '1' } })) }, report()],
      definition: { tools },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, null, 'tool_exec_failed', null]);
    const everything = JSON.stringify([result, events, lines]);
    for (const secret of ['tenant-credential-99', 'q+secret', 'q%2Bsecret', 'ret-key-123456'])
      expect(everything).not.toContain(secret);
    expect(() => user('http://ann:pass-word-9@127.0.0.1')).toThrow(
      'url must not contain credentials, which would be shown to the model; pass them in auth.',
    );
    const unset = { auth: { bearer: undefined as unknown as string } };
    expect(() => user(api.url, unset)).toThrow('`auth.bearer` is required: a string that is not empty.');
  });

  it('custom headers replace the default ones, whatever their case', async () => {
    await using api = await service((_, response) => json(response, {}));
    const saved = restTool({
      method: 'POST',
      url: api.url,
      input: z.object({ a: z.number() }),
      allowPrivate: true,
      headers: {
        'Content-Type': 'application/vnd.api+json',
        Accept: 'application/vnd.api+json',
        Authorization: 'Old x',
      },
      auth: { bearer: 'very-secret-token' },
    });
    await runOverWire({ script: [ask({ a: 1 }), report()], definition: { tools: { user: saved } } });
    expect(api.received[0]?.headers).toMatchObject({
      'content-type': 'application/vnd.api+json',
      accept: 'application/vnd.api+json',
      authorization: 'Bearer very-secret-token',
    });
  });

  it('a redirect keeps credentials on the same host and drops them on another', async () => {
    await using other = await service((_, response) => json(response, { here: true }));
    await using api = await service((request, response) => {
      const location = request.url.startsWith('/users')
        ? '/moved'
        : `${other.url.replace('127.0.0.1', 'localhost')}/there`;
      response.writeHead(302, { location }).end();
    });
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: {
        tools: { user: user(api.url, { auth: { bearer: 'very-secret' }, headers: { 'x-tenant-key': 'also-secret' } }) },
      },
    });
    expect(api.received.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer very-secret',
      'Bearer very-secret',
    ]);
    expect(other.received[0]?.headers.authorization).toBeUndefined();
    expect(other.received[0]?.headers['x-tenant-key']).toBeUndefined();
    expect(callsIn(result)[0]?.slug).toBeNull();
  });

  it.each<[string, Partial<RestToolOptions>, RegExp]>([
    ['a private address', { allowPrivate: false }, /127\.0\.0\.1 is not public/],
    [
      'a name for a private address',
      { allowPrivate: false, url: 'http://localhost:49151/users/{id}' },
      /is not public/,
    ],
    ['a host that is not allowed', { allowedHosts: ['api.example.com', '*.example.org'] }, /is not allowed/],
    ['a port that is not allowed', { allowedHosts: ['127.0.0.1:1'] }, /is not allowed/],
  ])('%s is refused before anything is sent', async (_name, policy, message) => {
    await using api = await service((_, response) => json(response, {}));
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url, policy) } },
    });
    expect(callsIn(result)[0]).toMatchObject({
      slug: 'tool_exec_failed',
      result: { message: expect.stringMatching(message) },
    });
    expect(api.received).toHaveLength(0);
  });

  it('redirects obey the same policy', async () => {
    await using api = await service((_, response) => response.writeHead(302, { location: 'ftp://x/' }).end());
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(callsIn(result)[0]?.result.message).toContain('ftp: is not allowed');
  });

  it.each([['..'], ['.'], ['']])('an id of %j cannot change the path of the request', async (id) => {
    await using api = await service((_, response) => json(response, {}));
    const { result } = await runOverWire({
      script: [ask({ id }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_exec_failed');
    expect(api.received).toHaveLength(0);
  });

  it('C-1: long, empty, binary and malformed responses become clear results', async () => {
    await using api = await service((request, response) => {
      if (request.url === '/users/empty') response.writeHead(204).end();
      else if (request.url === '/users/picture')
        response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(9));
      else if (request.url === '/users/broken')
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":');
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(20_000));
    });
    const { result } = await runOverWire({
      script: [{ calls: ['empty', 'picture', 'broken', 'long'].flatMap((id) => ask({ id }).calls) }, report()],
      definition: { tools: { user: user(api.url, { maxBytes: 1_000 }) } },
    });
    const texts = callsIn(result).map(({ output }) => (output.type === 'text' ? output.value : ''));
    expect(texts.slice(0, 3)).toEqual(['The response has no content.', '[image/png, 9 bytes]', '{"a":']);
    expect(texts[3]).toContain('truncated after 1000 bytes');
  });

  it.each([
    ['text/plain; charset=iso-8859-1', Buffer.from('Grüße', 'latin1'), 'Grüße'],
    ['text/plain; charset="utf-16le"', Buffer.from('Grüße', 'utf16le'), 'Grüße'],
    ['application/json', Buffer.from('\uFEFF{"a":1}'), '{"a":1}'],
    ['text/plain; charset=no-such', Buffer.from('Grüße'), 'Grüße'],
  ])('a response in %s is decoded correctly', async (type, bytes, expected) => {
    await using api = await service((_, response) => response.writeHead(200, { 'content-type': type }).end(bytes));
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(JSON.stringify(callsIn(result)[0]?.output)).toContain(JSON.stringify(expected).slice(1, -1));
  });

  it('C-1: calls to a service that hangs, resets or is unreachable are answered', async () => {
    await using api = await service((request, response) => {
      if (request.url === '/users/reset') response.destroy();
    });
    const { result } = await runOverWire({
      script: [
        { calls: [...ask({ id: 'hang' }).calls, ...ask({ id: 'reset' }).calls, ...ask({ id: '1' }, 'gone').calls] },
        report(),
      ],
      definition: {
        tools: { user: user(api.url), gone: user('http://127.0.0.1:1') },
        limits: { toolTimeoutMs: 200 },
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([
      'tool_timeout',
      'tool_exec_failed',
      'tool_exec_failed',
      null,
    ]);
  });

  it('C-1: an abort cancels the request', async () => {
    const closed = Promise.withResolvers<void>();
    await using api = await service((_, response) => response.on('close', () => closed.resolve()));
    const { result } = await runOverWire({
      script: [ask({ id: '1' })],
      definition: { tools: { user: user(api.url) } },
      during: (event, session) => {
        if (event.type === 'tool.started') setImmediate(() => session.abort());
      },
    });
    expect(callsIn(result)[0]?.slug).toBe('aborted');
    if (api.received.length > 0) await closed.promise;
  });

  it.each<[object, string]>([
    [{ method: 'FOO' }, '`method` must be one of GET, HEAD, POST, PUT, PATCH, DELETE; got "FOO".'],
    [{ input: undefined }, '`input` is required: the schema of an object.'],
    [{ maxBytes: -1 }, '`maxBytes` must be an integer of at least 1; got -1.'],
    [{ allowedHosts: 'e.com' }, '`allowedHosts` must be an array of host names; got "e.com".'],
    [{ retries: 3 }, 'Unknown option `retries`.'],
    [{ needsApproval: 'yes' }, '`needsApproval` must be a boolean; got "yes".'],
    [{ body: () => ({}) }, 'body cannot be used: a GET request has no body.'],
  ])('%o is refused', (over, message) => {
    expect(() => user('http://127.0.0.1', over)).toThrow(PawlError);
    expect(() => user('http://127.0.0.1', over)).toThrow(message);
  });

  it('an invalid URL is refused', () => {
    expect(() => user('file:///etc')).toThrow(PawlError);
    expect(() => user('http://{host}', { auth: { bearer: 'x' } })).toThrow(
      'allowedHosts is required, since the input chooses the host in url; got url "http://{host}/users/{id}".',
    );
    expect(() => restTool({ method: 'GET', url: 'nowhere', input: z.object({}) })).toThrow(
      '`url` must be an http or https URL, with {name} for fields of the input; got "nowhere".',
    );
  });
});

const example = (path: string) => createRequire(import.meta.url)(`@readme/oas-examples/${path}`);

describe('OpenAPI tools', () => {
  it('the pet store: calls fill the path, the query and the body, send the API key and return answers', async () => {
    await using api = await service((request, response) =>
      json(response, { method: request.method, url: request.url }),
    );
    const tools = await openApiTools(example('3.0/json/petstore.json'), {
      baseUrl: `${api.url}/v2`,
      allowPrivate: true,
      auth: { key: 'very-secret-key' },
      include: ['findPetsByStatus', 'getPetById', 'POST /pet'],
    });
    expect(Object.keys(tools).toSorted()).toEqual(['addPet', 'findPetsByStatus', 'getPetById']);
    const { result } = await runOverWire({
      script: [
        {
          calls: [
            { name: 'findPetsByStatus', input: { status: ['sold', 'pending'] } },
            { name: 'getPetById', input: { petId: 7 } },
            { name: 'addPet', input: { body: { name: 'Rex', photoUrls: [] } } },
            { name: 'addPet', input: { body: { name: 'Rex' } } },
            { name: 'getPetById', input: { petId: 'seven' } },
          ],
        },
        report(),
      ],
      definition: { tools },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([
      null,
      null,
      null,
      'invalid_tool_input',
      'invalid_tool_input',
      null,
    ]);
    const asked = api.received.map(({ method, url, body }) => [method, url, body]).toSorted();
    expect(asked).toEqual([
      ['GET', '/v2/pet/7', ''],
      ['GET', '/v2/pet/findByStatus?status=sold&status=pending', ''],
      ['POST', '/v2/pet', '{"name":"Rex","photoUrls":[]}'],
    ]);
    expect(api.received.every(({ headers }) => headers.api_key === 'very-secret-key')).toBe(true);
  });

  it.each([
    '3.0/json/petstore.json',
    '3.0/json/star-trek.json',
    '3.0/json/uspto.json',
    '3.0/json/circular.json',
    '3.0/json/schema-circular.json',
    '3.0/json/parameters-style.json',
    '3.0/json/complex-nesting.json',
    '3.0/json/schema-enums.json',
    '3.0/json/schema-validation.json',
    '3.0/json/parameters-common.json',
    '3.1/json/petstore.json',
    '3.1/json/train-travel.json',
  ])('%s becomes tools whose schemas any agent accepts', async (path) => {
    const tools = await openApiTools(example(path), { baseUrl: 'https://api.example.com' });
    expect(Object.keys(tools).length).toBeGreaterThan(0);
    const { result } = await runOverWire({ script: [report()], definition: { tools } });
    expect(result.success).toBe(true);
  });

  it('parameters are serialized in their declared style', async () => {
    await using api = await service((_, response) => json(response, {}));
    const query = (name: string, more: object) => ({ name, in: 'query', schema: {}, ...more });
    const document = {
      openapi: '3.0.3',
      info: { title: 'styles', version: '1' },
      paths: {
        '/{where}': {
          parameters: [{ name: 'where', in: 'path', required: true, schema: { type: 'string' } }],
          get: {
            operationId: 'find',
            parameters: [
              query('a', {}),
              query('b', { explode: false }),
              query('c', { style: 'pipeDelimited', explode: false }),
              query('d', { style: 'deepObject', explode: true }),
              { name: 'where', in: 'header', schema: { type: 'string' } },
              { name: 'sid', in: 'cookie', schema: { type: 'string' } },
            ],
            responses: { 200: { description: 'ok' } },
          },
        },
      },
    };
    const tools = await openApiTools(document, { baseUrl: api.url, allowPrivate: true });
    const input = { where: 'x y', a: [1, 2], b: [1, 2], c: [1, 2], d: { k: 'v' }, where_path: 'p', sid: 's' };
    await runOverWire({ script: [{ calls: [{ name: 'find', input }] }, report()], definition: { tools } });
    const [asked] = api.received;
    expect(decodeURIComponent(asked?.url ?? '')).toBe('/p?a=1&a=2&b=1,2&c=1|2&d[k]=v');
    expect(asked?.headers).toMatchObject({ where: 'x y', cookie: 'sid=s' });
  });

  it.each<[unknown, object, string]>([
    [
      { openapi: '2.0' },
      {},
      'The OpenAPI document cannot be used (the given object): `openapi` must be version 3.0 or 3.1; got "2.0"..',
    ],
    ['/no/such/file.yaml', {}, 'ENOENT'],
    [
      example('3.0/json/petstore.json'),
      { baseUrl: 'nowhere' },
      '`baseUrl` must be an http or https URL; got "nowhere". The document names no server.',
    ],
    [
      example('3.0/json/petstore.json'),
      { include: ['fly'] },
      'The document has no operation fly; it has updatePet, PUT /pet, addPet, POST /pet, findPetsByStatus, GET /pet/f',
    ],
    [example('3.0/json/petstore.json'), { retries: 3 }, 'Unknown option `retries`.'],
    [
      example('3.0/json/petstore.json'),
      { needsApproval: ['fly'] },
      'The document has no operation fly; it has updatePet, PUT /pet, addPet, POST /pet, findPetsByStatus, GET /pet/f',
    ],
  ])('unusable documents and options are refused', async (document, options, message) => {
    const tools = openApiTools(document as object, options);
    await expect(tools).rejects.toThrow(PawlError);
    await expect(tools).rejects.toThrow(message);
  });

  it('a request does not need the read-only properties', async () => {
    await using api = await service((_, response) => json(response, {}));
    const pet = {
      type: 'object',
      required: ['id', 'name'],
      properties: { id: { type: 'integer', readOnly: true }, name: { type: 'string' } },
    };
    const operation = {
      operationId: 'add',
      requestBody: { required: true, content: { 'application/json': { schema: pet } } },
      responses: { 200: { description: 'ok' } },
    };
    const document = { openapi: '3.0.0', info: { title: 't', version: '1' }, paths: { '/pets': { post: operation } } };
    const tools = await openApiTools(document, { baseUrl: api.url, allowPrivate: true });
    await runOverWire({
      script: [{ calls: [{ name: 'add', input: { body: { name: 'Rex' } } }] }, report()],
      definition: { tools },
    });
    expect(api.received[0]?.body).toBe('{"name":"Rex"}');
  });

  it.each<[string, string, unknown, string | undefined, string]>([
    ['post', 'application/xml', '<pet/>', 'application/xml', '<pet/>'],
    ['post', '*/*', { a: 1 }, 'application/json', '{"a":1}'],
    ['get', 'application/json', undefined, undefined, ''],
  ])(
    'a %s operation with a body of type %s sends the body if the method allows one',
    async (method, type, body, sentAs, sent) => {
      await using api = await service((_, response) => json(response, {}));
      const operation = {
        operationId: 'act',
        requestBody: { content: { [type]: { schema: { type: 'object' } } } },
        responses: { 200: { description: 'ok' } },
      };
      const document = {
        openapi: '3.0.0',
        info: { title: 't', version: '1' },
        paths: { '/x': { [method]: operation } },
      };
      const tools = await openApiTools(document, { baseUrl: api.url, allowPrivate: true });
      const { result } = await runOverWire({
        script: [{ calls: [{ name: 'act', input: body === undefined ? {} : { body } }] }, report()],
        definition: { tools },
      });
      expect(callsIn(result)[0]?.slug).toBeNull();
      expect([api.received[0]?.headers['content-type'], api.received[0]?.body]).toEqual([sentAs, sent]);
    },
  );

  it('needsApproval accepts an operation id, a tool name, or a method and path', async () => {
    const operation = { operationId: 'pets.delete', responses: { 200: { description: 'ok' } } };
    const document = {
      openapi: '3.0.0',
      info: { title: 't', version: '1' },
      paths: { '/pets': { delete: operation } },
    };
    for (const name of ['pets.delete', 'pets_delete', 'DELETE /pets']) {
      const tools = await openApiTools(document, { baseUrl: 'http://127.0.0.1', needsApproval: [name] });
      const { events } = await runOverWire({
        script: [{ calls: [{ name: 'pets_delete', input: {} }] }, report()],
        definition: { tools, limits: { approvalTimeoutMs: 1 } },
      });
      expect(events.some(({ type }) => type === 'tool.approvalRequested')).toBe(true);
    }
  });
});
