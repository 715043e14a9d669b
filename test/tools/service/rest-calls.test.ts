import { asSchema, type FlexibleSchema, lazySchema, zodSchema } from '@ai-sdk/provider-utils';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { RestToolOptions } from '../../../src/index.ts';
import { restTool } from '../../../src/index.ts';
import { service } from '../../support/service.ts';

const options = (more: object): RestToolOptions => ({
  method: 'GET',
  url: 'https://a.example/',
  input: z.object({}),
  allowPrivate: true,
  ...more,
});
type Made = {
  description: string;
  idempotent: boolean;
  execute(input: object, context?: object): Promise<unknown>;
};
const made = (more: object): Made => {
  const tool = restTool(options(more)) as unknown as Made;
  return { ...tool, execute: (input, context = {}) => tool.execute(input, context) };
};
const failureOf = (call: Promise<unknown>) => call.then(String, (error) => ({ ...error, message: error.message }));

describe('D-4: a request that may be sent again after a crash', () => {
  it.each<[string, boolean | undefined, boolean, boolean]>([
    ['GET', undefined, true, false],
    ['HEAD', undefined, true, false],
    ['GET', false, false, false],
    ['POST', undefined, false, true],
    ['PUT', undefined, false, true],
    ['POST', true, true, true],
    ['DELETE', true, true, true],
  ])('%s with `idempotent` %s: again %s, with a key %s', async (method, idempotent, again, hasKey) => {
    await using server = await service((_, response) => response.end());
    const tool = made({ method, url: server.url, ...(idempotent !== undefined && { idempotent }) });
    expect(tool.idempotent).toBe(again);
    await tool.execute({}, { idempotencyKey: 'key-1' });
    await tool.execute({}, {});
    const keys = server.received.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toEqual([hasKey ? 'key-1' : undefined, undefined]);
  });

  it('a header of one’s own is not replaced', async () => {
    await using server = await service((_, response) => response.end());
    const headers = { 'Idempotency-Key': 'own' };
    await made({ method: 'POST', url: server.url, idempotent: true, headers }).execute({}, { idempotencyKey: 'key-1' });
    expect(server.received[0]?.headers['idempotency-key']).toBe('own');
  });
});

describe('REST tools: what is sent', () => {
  it.each<[string, object, string, string]>([
    ['GET', { a: 1, b: null, c: undefined, d: [1, { e: 2 }], f: true }, '?a=1&d=1&d=%7B%22e%22%3A2%7D&f=true', ''],
    ['HEAD', { a: 1 }, '?a=1', ''],
    ['DELETE', { a: 1 }, '?a=1', ''],
    ['POST', { a: 1, b: null, c: undefined }, '', '{"a":1,"b":null}'],
    ['PATCH', {}, '', '{}'],
  ])('%s of %j', async (method, input, query, body) => {
    await using server = await service((_, response) => response.end());
    await made({ method, url: `${server.url}/x` }).execute(input);
    expect(server.received[0]).toMatchObject({ method, url: `/x${query}`, body });
    expect(server.received[0]?.headers).toMatchObject({
      accept: 'application/json, text/*;q=0.9, */*;q=0.8',
      ...(body !== '' && { 'content-type': 'application/json' }),
    });
  });

  it.each<[unknown, string, string | undefined]>([
    ['text', 'text', 'text/plain;charset=UTF-8'],
    [new Uint8Array([97]), 'a', undefined],
    [{ a: 1 }, '{"a":1}', 'application/json'],
    [0, '0', 'application/json'],
    [null, '', undefined],
    [undefined, '', undefined],
  ])('a body of its own: %j', async (body, sent, type) => {
    await using server = await service((_, response) => response.end());
    await made({ method: 'DELETE', url: server.url, body: () => body }).execute({ a: 1 });
    expect(server.received[0]).toMatchObject({ url: '/', body: sent });
    expect(server.received[0]?.headers['content-type']).toBe(type);
  });

  const bytes = new TextEncoder().encode('-ab-');
  it.each<[string, unknown, string | undefined]>([
    ['an ArrayBuffer', bytes.slice(1, 3).buffer, undefined],
    ['a DataView', new DataView(bytes.buffer, 1, 2), undefined],
    ['numbers of 16 bits', new Uint16Array(bytes.slice(1, 3).buffer), undefined],
    ['a query', new URLSearchParams({ ab: '' }), 'application/x-www-form-urlencoded'],
  ])('a body of %s is sent as it is', async (_, body, type) => {
    await using server = await service((_request, response) => response.end());
    await made({ method: 'POST', url: server.url, body: () => body }).execute({});
    expect(server.received[0]?.body).toBe(type === undefined ? 'ab' : 'ab=');
    expect(server.received[0]?.headers['content-type']).toBe(type);
  });

  it('a body of a form is sent in parts', async () => {
    await using server = await service((_, response) => response.end());
    const form = new FormData();
    form.append('a', 'b');
    await made({ method: 'POST', url: server.url, body: () => form }).execute({});
    expect(server.received[0]?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(server.received[0]?.body).toContain('name="a"\r\n\r\nb');
  });

  it.each<[string, unknown, string]>([
    ['a map', new Map([['a', 1]]), '[object Map]'],
    ['a set within', { a: [new Set([1])] }, '[object Set]'],
    ['a promise', Promise.resolve(1), '[object Promise]'],
    ['a blob', new Blob(['a']), '[object Blob]'],
    ['bytes within', { a: new Uint8Array(2) }, '[object Uint8Array]'],
    ['no number', { a: Number.NaN }, 'NaN'],
    ['a symbol', Symbol('a'), 'Symbol(a)'],
    ['a function', { a: () => 1 }, 'a function'],
  ])('a body that JSON would lose is refused: %s', async (_, body, held) => {
    await using server = await service((_request, response) => response.end());
    const call = made({ method: 'POST', url: server.url, body: () => body }).execute({});
    await expect(call).rejects.toThrow(
      `\`body\` must return a text, bytes, a form or a value that JSON holds; it holds ${held}.`,
    );
    expect(server.received).toEqual([]);
  });

  it.each([
    {},
    Object.create(null),
    new (class Empty {
      toJSON = () => ({ a: 1 });
    })(),
    new (class Point {
      x = 1;
    })(),
    { a: '', b: 'text', c: true, d: 0, e: null, f: [''], g: undefined },
  ])('what JSON holds is a body: %j', async (body) => {
    await using server = await service((_, response) => response.end());
    await made({ method: 'POST', url: server.url, body: () => body }).execute({});
    expect(server.received[0]?.body).toBe(JSON.stringify(body));
  });

  it('a schema that is made at its first use is one, too', async () => {
    await using server = await service((_, response) => response.end());
    const input = lazySchema(() => zodSchema(z.object({ a: z.string() })));
    const made = restTool(options({ url: `${server.url}/{a}`, input: input as never }));
    const tool = made as unknown as { inputSchema: FlexibleSchema<unknown> };
    expect(asSchema(tool.inputSchema).jsonSchema).toMatchObject({ required: ['a'] });
  });

  it('a header that is no text is refused, and one that is undefined is left out', async () => {
    await using server = await service((_, response) => response.end());
    const call = made({ url: server.url, headers: () => ({ 'X-A': 1 }) }).execute({});
    await expect(call).rejects.toThrow('`headers.X-A` must be a string; got 1.');
    expect(server.received).toEqual([]);
    await made({ url: server.url, headers: () => ({ 'X-A': undefined, 'X-B': 'b' }) }).execute({});
    expect(server.received[0]?.headers).toMatchObject({ 'x-b': 'b' });
    expect(server.received[0]?.headers).not.toHaveProperty('x-a');
  });

  it('what cannot stand in the path is refused, and may stand in the query', async () => {
    await using server = await service((_, response) => response.end());
    const tool = made({ url: `${server.url}/{id}/x?of={of}` });
    for (const id of [undefined, null, '', '.', '..'])
      expect(await failureOf(tool.execute({ id, of: 'a' }))).toMatchObject({
        message: expect.stringMatching(/^id is part of the URL and must not be /),
      });
    expect(await failureOf(tool.execute({ of: 'a', toString: 'own' }))).toMatchObject({
      message: 'id is part of the URL and must not be undefined.',
    });
    await tool.execute({ id: 'a/b?c#d', of: null });
    await tool.execute({ id: { a: 1 }, of: '..' });
    expect(server.received.map(({ url }) => url)).toEqual(['/a%2Fb%3Fc%23d/x?of=', '/%7B%22a%22%3A1%7D/x?of=..']);
  });
});

describe('S-5: credentials are sent, and not shown', () => {
  const basic = `Basic ${btoa('ann:password-1')}`;
  it.each<[object, string, string]>([
    [{ bearer: 'token-1' }, 'authorization', 'Bearer token-1'],
    [{ basic: { username: 'ann', password: 'password-1' } }, 'authorization', basic],
    [{ key: 'secret-1', name: 'X-Key' }, 'x-key', 'secret-1'],
    [{ key: 'secret-1', name: 'X-Key', in: 'header' }, 'x-key', 'secret-1'],
  ])('%j', async (auth, header, value) => {
    await using server = await service(({ headers }, response) =>
      response.writeHead(400).end(`${headers[header]} password-1 token secre`),
    );
    const failure = await failureOf(made({ url: server.url, auth }).execute({}));
    expect(server.received[0]?.headers[header]).toBe(value);
    const secrets = ['token-1', 'secret-1', btoa('ann:password-1')];
    if ('basic' in auth) secrets.push('password-1');
    for (const secret of secrets) expect(JSON.stringify(failure)).not.toContain(secret);
    expect(JSON.stringify(failure)).toContain('[redacted]');
    // Texts that are no secrets stay.
    expect(JSON.stringify(failure)).toContain('token secre');
  });

  it('secrets of six characters are redacted, and shorter ones are not', async () => {
    await using server = await service((_, response) => response.end('12345 123456'));
    const contentOf = async (bearer: string) => await made({ url: server.url, auth: { bearer } }).execute({});
    expect(await contentOf('123456')).toBe('12345 [redacted]');
    expect(await contentOf('12345')).toBe('12345 123456');
    const headers = { 'x-api-key': '12345' };
    expect(await made({ url: server.url, headers }).execute({})).toBe('12345 123456');
  });
});

describe('C-3: what comes back', () => {
  it.each<[string, string | Buffer, unknown]>([
    ['text/plain', 'x', 'x'],
    ['text/plain; charset=iso-8859-1', Buffer.from([0xe4]), 'ä'],
    ['text/plain; charset="utf-16le"', Buffer.from('ä', 'utf16le'), 'ä'],
    ['text/plain; charset=unknown', 'ä', 'ä'],
    ['application/problem+json', '{"a":1}', { a: 1 }],
    ['application/json', '{', '{'],
    ['application/xhtml+xml', '{"a":1}', '{"a":1}'],
    ['text/plain', Buffer.from([97, 0]), '[text/plain, 2 bytes]'],
    ['image/png', 'png', '[image/png, 3 bytes]'],
    ['image/text/png', 'png', '[image/text/png, 3 bytes]'],
    ['', 'x', 'x'],
    ['text/plain', '', 'The response has no content.'],
  ])('%s: %j', async (type, body, value) => {
    await using server = await service((_, response) =>
      response.writeHead(200, type === '' ? {} : { 'content-type': type }).end(body),
    );
    expect(await made({ url: server.url }).execute({})).toEqual(value);
  });

  it('what is too long is cut, and says so', async () => {
    await using server = await service(({ url }, response) =>
      response.writeHead(200, { 'content-type': url === '/json' ? 'application/json' : 'image/png' }).end('123456'),
    );
    const contentOf = async (path: string) => await made({ url: `${server.url}${path}`, maxBytes: 4 }).execute({});
    expect(await contentOf('/json')).toBe('1234\n[… the response was truncated after 4 bytes …]');
    expect(await contentOf('/png')).toBe('[image/png, 4 bytes or more]');
  });

  it('a status from 400 on is a failure with its body', async () => {
    await using server = await service(({ url }, response) => response.writeHead(Number(url.slice(1))).end());
    const call = (status: number) => made({ url: `${server.url}/${status}` }).execute({});
    expect(await call(399)).toBe('The response has no content.');
    expect(await failureOf(call(400))).toMatchObject({
      message: `GET ${server.url}/400 answered 400 Bad Request`,
      value: { status: 400, body: 'The response has no content.' },
    });
    await using odd = await service((_, response) => response.writeHead(499, ' ').end());
    expect(await failureOf(made({ url: odd.url }).execute({}))).toMatchObject({
      message: `GET ${odd.url}/ answered 499`,
    });
  });
});

describe('B-1: options of a REST tool', () => {
  it.each<[object, string]>([
    [{ url: 'a.example' }, '`url` must be an http or https URL, with {name} for fields of the input; got "a.example".'],
    [{ url: 'shttp://a.example' }, '`url` must be an http or https URL'],
    [{ url: 'httpx://a.example' }, '`url` must be an http or https URL'],
    [{ body: () => 1 }, 'body cannot be used: a GET request has no body.'],
    [{ method: 'HEAD', body: () => 1 }, 'body cannot be used: a HEAD request has no body.'],
    [{ url: 'https://ann@a.example/' }, 'url must not contain credentials'],
    [{ url: 'https://:secret@a.example/' }, 'url must not contain credentials'],
    [{ url: 'https://{host}/' }, 'allowedHosts is required, since the input chooses the host in url'],
    [{ url: 'https://a{host}.example/x' }, 'allowedHosts is required, since the input chooses the host in url'],
    [{ headers: { 'x y': '1' } }, '`headers.x y` must be a header that HTTP can send; got "1".'],
    [
      { headers: { Authorization: 'Bearer –' } },
      '`headers.Authorization` must be a header that HTTP can send; got a string.',
    ],
    [{ headers: 5 }, '`headers` must be an object of strings; got 5.'],
    [{ auth: { bearer: '' } }, '`auth.bearer` must be a string that is not empty.'],
    [{ auth: 'x' }, '`auth` must have `bearer`, `basic`, or `key` and `name`.'],
  ])('%j', (more, message) => {
    expect(() => made(more)).toThrow(expect.objectContaining({ code: 'invalid_tool' }));
    expect(() => made(more)).toThrow(message);
  });

  it('what may be left out has a default', () => {
    expect(made({ url: 'https://a.example/{long-name}/x?key=hidden' }).description).toBe(
      'GET https://a.example/{long-name}/x',
    );
    expect(made({ description: 'Looks.' }).description).toBe('Looks.');
    expect(() => made({ url: 'https://a.example/?at={x}:{y}', method: 'POST' })).not.toThrow();
    expect(() => made({ url: 'https://{host}/', allowedHosts: ['*.a.example'] })).not.toThrow();
    expect(() => made({ input: { type: 'object', properties: {} } })).not.toThrow();
  });
});
