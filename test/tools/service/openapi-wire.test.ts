import { describe, expect, it } from 'vitest';
import { operationTool } from '../../../src/tools/service/openapi-operation.ts';
import { bodyOf, madeBy, parameter, receivedBy } from '../../support/operations.ts';

const schemaOf = (operation: object, more: object = {}) =>
  madeBy(operationTool, operation, more)?.inputSchema.jsonSchema;
const received = (operation: object, input: object, more: object = {}) =>
  receivedBy(operationTool, operation, input, more);

describe('OpenAPI tools: values are written as the document says', () => {
  it.each<[object, unknown, string]>([
    [{}, ['a,b', 'c'], '/x?q=a%2Cb&q=c'],
    [{ explode: false }, ['a,b', 'c'], '/x?q=a%2Cb,c'],
    [{ explode: false }, [], '/x?q='],
    [{ style: 'spaceDelimited', explode: false }, ['a b', 'c'], '/x?q=a%20b%20c'],
    [{ style: 'pipeDelimited', explode: false }, ['a', 'c'], '/x?q=a%7Cc'],
    [{ explode: false }, { k: 'a,b', l: null, m: 2 }, '/x?q=k,a%2Cb,m,2'],
    [{}, { k: 'a&b', l: null }, '/x?k=a%26b'],
    [
      { style: 'deepObject' },
      { k: 'a', l: null, m: { n: [1, 2] } },
      '/x?q%5Bk%5D=a&q%5Bm%5D%5Bn%5D%5B0%5D=1&q%5Bm%5D%5Bn%5D%5B1%5D=2',
    ],
    [{ style: 'deepObject' }, ['a', 'b'], '/x?q%5B0%5D=a&q%5B1%5D=b'],
    [{ allowReserved: true }, 'a/b:c?d&e=f#g h', '/x?q=a/b:c?d%26e%3Df%23g%20h'],
    [{}, 'a\uD800', '/x?q=a%EF%BF%BD'],
    [{ content: { 'text/plain': { schema: {} } } }, 'ab', '/x?q=ab'],
    [{ content: { 'application/vnd.a+JSON': { schema: {} } } }, 'ab', '/x?q=%22ab%22'],
  ])('a query parameter %j of %j', async (style, q, url) => {
    expect((await received({ parameters: [parameter('q', { schema: {}, ...style })] }, { q })).url).toBe(url);
  });

  it('a chain of schemas that are made of each other takes no more time for each of its operations', () => {
    const ref = (at: number) => ({ $ref: `#/components/schemas/S${at}` });
    const chain = Array.from({ length: 200 }, (_, at) => [
      `S${at}`,
      { allOf: [ref(at + 1), { required: ['a'] }], properties: { [`p${at}`]: {} } },
    ]);
    const api = {
      components: { schemas: { ...Object.fromEntries(chain), S200: { properties: { a: { readOnly: true } } } } },
    };
    for (let times = 0; times < 20; times += 1) {
      const schema = schemaOf(bodyOf('application/json', ref(0)), { api }) as { $defs: Record<string, object> };
      expect(Object.keys(schema.$defs)).toHaveLength(201);
      expect(schema.$defs.S0).toMatchObject({ allOf: [{ $ref: '#/$defs/S1' }, { required: [] }] });
    }
  });

  it('within JSON, an integer of 64 bits is no text', () => {
    const content = { 'application/json': { schema: { type: 'integer', format: 'int64' } } };
    const schema = schemaOf({ parameters: [parameter('id', { schema: undefined, content })] });
    expect(schema).toMatchObject({ properties: { id: { type: 'integer' } } });
  });

  it('what a parameter’s media type writes is the same wherever it goes', async () => {
    const content = { 'application/json': { schema: {} } };
    const places = ['path', 'query', 'header', 'cookie'];
    const parameters = places.map((place) => parameter(place, { in: place, required: place === 'path', content }));
    const value = { a: [1, 'b'] };
    const input = Object.fromEntries(places.map((place) => [place, value]));
    const { url, headers } = await received({ parameters }, input, { path: '/x/{path}' });
    const text = JSON.stringify(value);
    expect(url).toBe(`/x/${encodeURIComponent(text)}?query=${encodeURIComponent(text)}`);
    expect([headers.header, headers.cookie]).toEqual([text, `cookie=${encodeURIComponent(text)}`]);
  });

  it('a key in the query leaves the rest of it as it is written', async () => {
    const operation = { parameters: [parameter('q', { schema: {}, explode: false })] };
    const auth = { key: 'a key', name: 'key', in: 'query' as const };
    expect((await received(operation, { q: ['a,b', 'c'] }, { auth })).url).toBe('/x?q=a%2Cb,c&key=a+key');
    expect((await received(operation, {}, { auth })).url).toBe('/x?key=a+key');
    const both = { parameters: [...operation.parameters, parameter('key', { schema: {} })] };
    expect((await received(both, { q: ['a,b', 'c'], key: 'mine' }, { auth })).url).toBe('/x?q=a%2Cb,c&key=a+key');
    const same = { parameters: [parameter('key', { schema: {} })] };
    expect((await received(same, { key: 'mine' }, { auth })).url).toBe('/x?key=a+key');
  });

  it('a text that no header holds is refused before anything is sent', async () => {
    const operation = { parameters: [parameter('name', { in: 'header', schema: {} })] };
    expect((await received(operation, { name: 'Zoë' })).headers.name).toBe('Zoë');
    await expect(received(operation, { name: 'Łucja' })).rejects.toThrow(
      'name goes into a header, which holds no characters outside of Latin-1.',
    );
  });

  it.each<[object, string]>([
    [{}, 'ids=a&ids=b&metadata=%7B%22order%22%3A%221+2%22%7D'],
    [{ ids: { explode: false } }, 'ids=a,b&metadata=%7B%22order%22%3A%221+2%22%7D'],
    [{ metadata: { style: 'deepObject', explode: true } }, 'ids=a&ids=b&metadata%5Border%5D=1%202'],
    [{ metadata: { style: 'form' } }, 'ids=a&ids=b&order=1%202'],
    [
      { ids: { contentType: 'application/json' } },
      'ids=%5B%22a%22%2C%22b%22%5D&metadata=%7B%22order%22%3A%221+2%22%7D',
    ],
    [{ ids: { style: 'deepObject' } }, 'ids%5B0%5D=a&ids%5B1%5D=b&metadata=%7B%22order%22%3A%221+2%22%7D'],
    [{ ids: { style: 'pipeDelimited' } }, 'ids=a%7Cb&metadata=%7B%22order%22%3A%221+2%22%7D'],
  ])('a form is written as its encoding %j says', async (encoding, sent) => {
    const operation = bodyOf('application/x-www-form-urlencoded', {}, {}, encoding);
    const body = { ids: ['a', 'b'], metadata: { order: '1 2' } };
    expect((await received(operation, { body })).body).toBe(sent);
  });

  it('a part of a form has the media type that its encoding names', async () => {
    const encoding = {
      metadata: { contentType: 'application/json' },
      text: { contentType: 'application/json' },
      note: { contentType: 'text/plain' },
      odd: { contentType: 'image/png, image/jpeg' },
    };
    const operation = bodyOf('multipart/form-data', {}, {}, encoding);
    const request = await received(operation, { body: { metadata: { a: 1 }, text: '1', note: 'So.', odd: 'x' } });
    expect(request.body).toMatch(
      /name="metadata"; filename="blob"\r\nContent-Type: application\/json\r\n\r\n\{"a":1\}\r/,
    );
    expect(request.body).toMatch(/name="text"; filename="blob"\r\nContent-Type: application\/json\r\n\r\n"1"\r/);
    expect(request.body).toContain('name="note"\r\n\r\nSo.');
    expect(request.body).toContain('name="odd"\r\n\r\nx');
  });

  it('the files of a form are found in all that its schema is made of, also if that leads to itself', async () => {
    const api = {
      components: {
        schemas: {
          Base: {
            properties: { file: { type: 'string', format: 'binary' } },
            allOf: [{ $ref: '#/components/schemas/Base' }],
          },
        },
      },
    };
    const schema = {
      allOf: [{ $ref: '#/components/schemas/Base' }, { properties: { page: { contentMediaType: 'image/png' } } }],
    };
    const request = await received(bodyOf('multipart/form-data', schema), { body: { file: 'x', page: 'y' } }, { api });
    expect(request.body).toContain('name="file"; filename="file"\r\nContent-Type: application/octet-stream');
    expect(request.body).toContain('name="page"; filename="page"\r\nContent-Type: image/png');
  });

  it('read-only properties are not required, wherever the schema says that they are', () => {
    const api = {
      components: { schemas: { Base: { properties: { id: { readOnly: true }, at: {} } }, Id: { type: 'string' } } },
    };
    const base = { $ref: '#/components/schemas/Base' };
    const required = ['id', 'at', 'name'];
    const within = schemaOf(bodyOf('application/json', { allOf: [base, { required }] }), { api });
    expect(within).toMatchObject({
      properties: { body: { allOf: [{ $ref: '#/$defs/Base' }, { required: ['at', 'name'] }] } },
    });
    const beside = schemaOf(bodyOf('application/json', { required, allOf: [base] }), { api });
    expect(beside).toMatchObject({ properties: { body: { required: ['at', 'name'] } } });
    const properties = { id: { $ref: '#/components/schemas/Id', readOnly: true } };
    const referring = schemaOf(bodyOf('application/json', { required, properties }), { api });
    expect(referring).toMatchObject({ properties: { body: { required: ['at', 'name'] } } });
  });

  it.each<[object, object]>([
    [{ $ref: '#/components/schemas/Long' }, { type: ['integer', 'string'], pattern: '^-?[0-9]+$' }],
    [
      { type: 'integer', format: 'int64', nullable: true },
      { anyOf: [{ type: ['integer', 'string'] }, { type: 'null' }] },
    ],
    [{ type: ['integer', 'null'], format: 'int64' }, { type: ['integer', 'null', 'string'] }],
    [{ type: 'array', items: { $ref: '#/components/schemas/Long' } }, { items: { type: ['integer', 'string'] } }],
    [{ type: 'array', items: { type: 'integer' } }, { items: { type: 'integer' } }],
    [{ type: 'integer', format: 'int32' }, { type: 'integer' }],
    [{ type: 'string', format: 'int64' }, { type: 'string' }],
  ])('an integer of 64 bits that is %j may be given as its digits', (schema, written) => {
    const api = { components: { schemas: { Long: { type: 'integer', format: 'int64' } } } };
    const operation = { parameters: [parameter('id', { schema })] };
    expect(schemaOf(operation, { api })).toMatchObject({ properties: { id: written } });
  });
});
