import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { openApiTools, PawlError } from '../../../src/index.ts';
import { json, service } from '../../support/service.ts';
import { callsIn, report, runOverWire } from '../../support/session.ts';

const example = (path: string) => createRequire(import.meta.url)(`@readme/oas-examples/${path}`);

describe('OpenAPI tools', () => {
  it('the pet store: calls fill the path, the query and the body, send the API key and return answers', async () => {
    await using api = await service((request, response) =>
      json(response, { method: request.method, url: request.url }),
    );
    const tools = await openApiTools(example('3.0/json/petstore.json'), {
      baseUrl: `${api.url}/v2`,
      allowPrivate: true,
      auth: { key: 'very-secret-key', name: 'api_key' },
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

  it.each([
    ['label', false, '/.5/.3,4/.k,v'],
    ['label', true, '/.5/.3.4/.k=v'],
    ['matrix', false, '/;id=5/;list=3,4/;of=k,v'],
    ['matrix', true, '/;id=5/;list=3;list=4/;k=v'],
    ['simple', false, '/5/3,4/k,v'],
    ['simple', true, '/5/3,4/k=v'],
  ])('parameters of a path have the style %s, explode %s', async (style, explode, path) => {
    await using api = await service((_, response) => json(response, {}));
    const parameters = ['id', 'list', 'of'].map((name) => ({
      ...{ name, in: 'path', required: true, style, explode },
      schema: {},
    }));
    const document = {
      openapi: '3.0.3',
      info: { title: 'styles', version: '1' },
      paths: {
        '/{id}/{list}/{of}': {
          get: { operationId: 'find', parameters, responses: { 200: { description: 'ok' } } },
        },
      },
    };
    const tools = await openApiTools(document, { baseUrl: api.url, allowPrivate: true });
    const inputs = [
      { id: 5, list: [3, 4], of: { k: 'v' } },
      { id: 5, list: [], of: { k: 'v' } },
      { id: '..', list: [3], of: { k: 'v' } },
    ];
    const calls = inputs.map((input) => ({ name: 'find', input }));
    const { result } = await runOverWire({ script: [{ calls }, report()], definition: { tools } });
    const [asked, ...more] = api.received.map(({ url }) => decodeURIComponent(url));
    expect(asked).toBe(path);
    // What would address another resource is refused, unless a sign stands before it.
    expect(more).toEqual([]);
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, 'tool_exec_failed', 'tool_exec_failed', null]);
  });

  it.each<[unknown, object, string]>([
    [
      { openapi: '2.0' },
      {},
      'The OpenAPI document cannot be used (the given object): `openapi` must be version 3.0 or 3.1; got "2.0".',
    ],
    ['/no/such/file.yaml', {}, 'ENOENT'],
    [
      example('3.0/json/petstore.json'),
      { baseUrl: 'nowhere' },
      '`baseUrl` must be an http or https URL without placeholders, a query or a fragment; got "nowhere".',
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

  it('S-5: a specification extension among the paths is not a path, so it cannot extend the host name', async () => {
    const operation = { operationId: 'act', responses: { 200: { description: 'ok' } } };
    const paths = { 'x-a.example/steal': { get: operation }, '/x': { get: operation } };
    const document = { openapi: '3.0.0', info: { title: 't', version: '1' }, paths };
    const tools = await openApiTools(document, { baseUrl: 'https://api.example.com', auth: { bearer: 'token-42' } });
    expect(Object.keys(tools)).toEqual(['act']);
  });

  it('a document that refers to other files is refused', async () => {
    const operation = { operationId: 'act', responses: { 200: { description: 'ok' } } };
    const parameters = [{ $ref: 'common.yaml#/components/parameters/id' }];
    const paths = { '/x': { get: { ...operation, parameters } } };
    const tools = openApiTools({ openapi: '3.0.0', info: { title: 't', version: '1' }, paths });
    await expect(tools).rejects.toThrow("Can't resolve common.yaml#/components/parameters/id, only internal refs");
  });

  it('an operation whose path has an undeclared parameter is left out, or refused if it is wanted', async () => {
    const paths = { '/{id}': { get: { operationId: 'act', responses: { 200: { description: 'ok' } } } } };
    const document = { openapi: '3.0.0', info: { title: 't', version: '1' }, paths };
    const baseUrl = 'http://127.0.0.1';
    expect(await openApiTools(document, { baseUrl })).toEqual({});
    await expect(openApiTools(document, { baseUrl, include: ['act'] })).rejects.toMatchObject({
      code: 'invalid_tool',
      message: 'The operation act cannot be a tool: a parameter in its path has no declaration.',
    });
  });

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
