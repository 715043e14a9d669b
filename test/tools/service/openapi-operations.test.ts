import { describe, expect, it } from 'vitest';
import { operationTool } from '../../../src/tools/service/openapi-operation.ts';
import { bodyOf, madeBy, parameter, receivedBy } from '../../support/operations.ts';

const made = (operation: object, more: object = {}) => madeBy(operationTool, operation, more);
const schemaOf = (operation: object, more: object = {}) => made(operation, more)?.inputSchema.jsonSchema;
const received = (operation: object, input: object, more: object = {}) =>
  receivedBy(operationTool, operation, input, more);

describe('OpenAPI tools: the input of an operation', () => {
  it('has its parameters and its body, those that it needs as required, and nothing else', () => {
    const operation = {
      parameters: [
        parameter('of', { required: true, description: 'Of what.' }),
        parameter('at', { required: false, description: 5 }),
        parameter('id', { in: 'path' }),
      ],
      ...bodyOf('application/json', { type: 'number' }, { required: true }),
    };
    const properties = {
      of: { type: 'string', description: 'Of what.' },
      at: { type: 'string' },
      id: { type: 'string' },
    };
    const expected = { type: 'object', additionalProperties: false };
    expect(schemaOf(operation, { path: '/x/{id}' })).toEqual({
      ...expected,
      properties: { ...properties, body: { type: 'number' } },
      required: ['of', 'id', 'body'],
    });
    expect(schemaOf(bodyOf('application/json', { type: 'number' }))).toEqual({
      ...expected,
      properties: { body: { type: 'number' } },
      required: [],
    });
    for (const method of ['GET', 'HEAD'])
      expect(schemaOf(operation, { path: '/x/{id}', method })).toMatchObject({ properties, required: ['of', 'id'] });
    expect(schemaOf({})).toEqual({ ...expected, properties: {}, required: [] });
  });

  it('an operation whose path has a placeholder without a parameter is left out', () => {
    const parameters = [parameter('id')];
    expect(made({ parameters }, { path: '/x/{id}' })).toBeNull();
    expect(made({ parameters: [parameter('id', { in: 'path' })] }, { path: '/x/{id}/{other}' })).toBeNull();
  });

  it('parameters of the same name each have a field, and those of the operation come before the shared ones', () => {
    const parameters = [parameter('id', { in: 'path' }), parameter('id'), parameter('body'), parameter('at')];
    const shared = [
      parameter('at', { schema: { type: 'number' } }),
      parameter('at', { in: 'header' }),
      { name: 'no' },
      { in: 'query' },
    ];
    expect(schemaOf({ parameters }, { path: '/{id}', shared })).toMatchObject({
      properties: {
        id: { type: 'string' },
        id_query: { type: 'string' },
        body_query: { type: 'string' },
        at: { type: 'string' },
        at_header: { type: 'string' },
      },
      required: ['id'],
    });
  });

  it('a caller sets no header that Pawl or the credentials set', () => {
    const parameters = ['Accept', 'Content-Type', 'AUTHORIZATION', 'X-Trace'].map((name) =>
      parameter(name, { in: 'header' }),
    );
    expect(schemaOf({ parameters: [...parameters, parameter('accept')] })).toMatchObject({
      properties: { 'X-Trace': {}, accept: {} },
    });
    const { properties } = schemaOf({ parameters }) as { properties: object };
    expect(Object.keys(properties)).toEqual(['X-Trace']);
  });

  it('a description is its summary and its text, or what it calls', () => {
    const descriptionOf = (operation: object) => made(operation)?.description;
    expect(descriptionOf({ summary: 'Adds.', description: 'Adds a pet.' })).toBe('Adds.\nAdds a pet.');
    expect(descriptionOf({ summary: '', description: 'Adds a pet.' })).toBe('Adds a pet.');
    expect(descriptionOf({ summary: 5 })).toBe('POST /x');
  });

  it.each<[string, object, unknown]>([
    ['nullable', { type: 'string', nullable: true }, { type: ['string', 'null'] }],
    ['nullable without a type', { allOf: [{}], nullable: true }, { anyOf: [{ allOf: [{}] }, { type: 'null' }] }],
    ['not nullable', { type: 'string', nullable: false }, { type: 'string' }],
    [
      'a nullable choice',
      { type: 'string', enum: ['a', 'a'], nullable: true },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    ['a choice of null', { enum: [null, { a: 1 }, { a: 1 }] }, { enum: [null, { a: 1 }] }],
    ['a limit that is excluded', { minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    ['a limit that is included', { maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
    ['limits of 3.1', { minimum: 0, exclusiveMaximum: 9 }, { minimum: 0, exclusiveMaximum: 9 }],
    ['a flag without a limit', { exclusiveMinimum: true }, {}],
    ['documentation', { discriminator: {}, xml: {}, example: 1, externalDocs: {}, title: 'A' }, { title: 'A' }],
    [
      'properties with such names',
      { properties: { example: { nullable: true, type: 'number' } }, default: { example: 1 } },
      { properties: { example: { type: ['number', 'null'] } }, default: { example: 1 } },
    ],
    [
      'read-only properties',
      { required: ['a', 'b'], properties: { a: { readOnly: true }, b: {} } },
      { required: ['b'], properties: { a: { readOnly: true }, b: {} } },
    ],
    [
      'read-only properties elsewhere',
      { required: ['id', 'b'], properties: { id: { $ref: '#/Id' }, b: {} } },
      { required: ['b'], properties: { id: { $ref: '#/$defs/Id' }, b: {} } },
    ],
    ['lists of schemas', { anyOf: [{ type: 'string', nullable: true }] }, { anyOf: [{ type: ['string', 'null'] }] }],
  ])('a schema of OpenAPI becomes one of JSON: %s', (_what, schema, expected) => {
    const given = bodyOf('application/json', schema);
    const { properties } = schemaOf(given, { api: { Id: { readOnly: true } } }) as { properties: { body: unknown } };
    expect(properties.body).toEqual(expected);
  });

  it('definitions are copied once, under names of their own, also when they lead to themselves', () => {
    const node = { type: 'object', properties: { next: { $ref: '#/components/schemas/a~1b' } } };
    const api = {
      components: { schemas: { 'a/b': node, Node: { type: 'string' } }, other: { Node: { type: 'number' } } },
    };
    const refs = ['schemas/a~1b', 'schemas/a~1b', 'schemas/Node', 'other/Node', 'schemas/gone'];
    const schema = { prefixItems: refs.map((ref) => ({ $ref: `#/components/${ref}` })) };
    expect(schemaOf(bodyOf('application/json', schema), { api })).toMatchObject({
      properties: {
        body: { prefixItems: ['a_1b', 'a_1b', 'Node', 'Node_2', 'gone'].map((name) => ({ $ref: `#/$defs/${name}` })) },
      },
      $defs: {
        a_1b: { type: 'object', properties: { next: { $ref: '#/$defs/a_1b' } } },
        Node: { type: 'string' },
        Node_2: { type: 'number' },
        gone: {},
      },
    });
  });

  it('parameters and bodies may stand elsewhere in the document', () => {
    const components = {
      p: parameter('of'),
      again: { $ref: '#/p' },
      b: bodyOf('text/plain', { type: 'string' }).requestBody,
    };
    const operation = { parameters: [{ $ref: '#/again' }], requestBody: { $ref: '#/b' } };
    expect(schemaOf(operation, { api: components })).toMatchObject({
      properties: { of: { type: 'string' }, body: { type: 'string' } },
    });
  });
});

describe('OpenAPI tools: the request of an operation', () => {
  it('values go where their parameters say; those that are missing are left out', async () => {
    const parameters = [
      parameter('of'),
      parameter('none'),
      parameter('Trace', { in: 'header' }),
      parameter('sid', { in: 'cookie' }),
      parameter('lang', { in: 'cookie' }),
      parameter('where', { content: { 'application/json': { schema: { type: 'object' } } } }),
      parameter('odd', { in: 'body' }),
    ];
    const input = { of: ['a', 'b'], none: null, Trace: 'x\r\n\r\ny', sid: 'a;b', lang: 'de', where: { a: 1 }, odd: 1 };
    const { url, headers, body } = await received({ parameters }, input);
    expect(url).toBe('/x?of=a&of=b&where=%7B%22a%22%3A1%7D');
    expect(headers).toMatchObject({
      trace: 'x y',
      cookie: 'sid=a%3Bb; lang=de',
      accept: 'application/json, */*;q=0.8',
    });
    expect(body).toBe('');
    const bare = await received({ parameters }, {});
    expect(bare.url).toBe('/x');
    expect(bare.headers).not.toHaveProperty('cookie');
  });

  it.each<[string, unknown, string, string | undefined]>([
    ['application/vnd.a+json', { a: [1] }, '{"a":[1]}', 'application/vnd.a+json'],
    ['application/json', null, 'null', 'application/json'],
    [
      'application/x-www-form-urlencoded',
      { a: [1, { b: 2 }], c: 'd e' },
      'a=1&a=%7B%22b%22%3A2%7D&c=d+e',
      'application/x-www-form-urlencoded',
    ],
    ['application/x-www-form-urlencoded', 'text', '', 'application/x-www-form-urlencoded'],
    ['text/csv', 'a,b', 'a,b', 'text/csv'],
    ['text/csv', 5, '5', 'text/csv'],
    ['image/svg+xml', '<svg/>', '<svg/>', 'image/svg+xml'],
    ['*/*', 'text', 'text', 'text/plain;charset=UTF-8'],
    ['*/*', [1], '[1]', 'application/json'],
    ['application/json', undefined, '', undefined],
  ])('a body of %s: %j', async (type, body, sent, sentAs) => {
    const request = await received(bodyOf(type, {}), body === undefined ? {} : { body });
    expect([request.body, request.headers['content-type']]).toEqual([sent, sentAs]);
  });

  it('a form of parts holds its files as files, byte for byte, and no null', async () => {
    const file = { type: 'string', format: 'binary' };
    const schema = { properties: { table: file, pages: { type: 'array', items: file }, note: { type: 'string' } } };
    const operation = bodyOf('multipart/form-data', schema, {}, { table: { contentType: 'text/csv' } });
    const body = { table: 'a,b\n1,2', pages: ['x'], note: 'So.', other: null };
    const request = await received(operation, { body });
    expect(request.body).toContain('name="table"; filename="table"\r\nContent-Type: text/csv\r\n\r\na,b\n1,2\r\n');
    expect(request.body).toContain('name="pages"; filename="pages"\r\nContent-Type: application/octet-stream\r\n\r\nx');
    expect(request.body).toContain('name="note"\r\n\r\nSo.');
    expect(request.body).not.toContain('other');
  });

  it.each([
    [{}, ['a,b', 'c'], '/x/a%2Cb,c'],
    [{}, { k: 'a/b', l: 'c' }, '/x/k,a%2Fb,l,c'],
    [{ explode: true }, { k: 'a=b' }, '/x/k=a%3Db'],
    [{ style: 'label' }, ['a', 'b,c'], '/x/.a,b%2Cc'],
    [{ style: 'matrix' }, ['a', 'b'], '/x/;id=a,b'],
  ])('a path parameter %j: the commas of a list %j are not those of its items', async (style, id, url) => {
    const operation = { parameters: [parameter('id', { in: 'path', schema: {}, ...style })] };
    expect((await received(operation, { id }, { path: '/x/{id}' })).url).toBe(url);
  });

  it('an integer of 64 bits may be given as its digits where it is written as text', async () => {
    const schema = { type: 'integer', format: 'int64' };
    const operation = { parameters: [parameter('id', { in: 'path', schema })], ...bodyOf('application/json', schema) };
    expect(schemaOf(operation, { path: '/x/{id}' })).toMatchObject({
      properties: { id: { type: ['integer', 'string'], pattern: '^-?[0-9]+$' }, body: { type: 'integer' } },
    });
    const request = await received(operation, { id: '9007199254740993' }, { path: '/x/{id}' });
    expect(request.url).toBe('/x/9007199254740993');
  });

  it('a form of parts holds each value', async () => {
    const request = await received(bodyOf('multipart/form-data', {}), { body: { a: [1, 2], b: { c: 3 } } });
    expect(request.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(request.body.match(/name="\w"\r\n\r\n.*/g)).toEqual([
      'name="a"\r\n\r\n1',
      'name="a"\r\n\r\n2',
      'name="b"\r\n\r\n{"c":3}',
    ]);
  });

  it.each([
    [['text/plain', 'application/json'], 'application/json'],
    [['multipart/form-data', 'application/x-www-form-urlencoded'], 'application/x-www-form-urlencoded'],
    [['image/png', 'text/plain', 'multipart/form-data'], 'multipart/form-data;'],
    [['image/png', 'text/plain'], 'text/plain'],
    [['image/png'], 'image/png'],
  ])('of %j the kind of body is %s', async (types, expected) => {
    const content = Object.fromEntries(types.map((type) => [type, { schema: {} }]));
    const { headers } = await received({ requestBody: { content } }, { body: { a: 1 } });
    expect(headers['content-type']?.startsWith(expected)).toBe(true);
  });

  it('an XML body is written by the model as text', () => {
    expect(schemaOf(bodyOf('application/xml', { type: 'object' }))).toMatchObject({
      properties: { body: { type: 'string', description: 'The XML document.' } },
    });
  });
});
