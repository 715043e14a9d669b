import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type RestToolOptions, restTool } from '../../../src/index.ts';
import { ask, json, type Received, service, user } from '../../support/service.ts';
import { callsIn, counters, report, runOverWire, tokensOf } from '../../support/session.ts';

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
  });

  it.each([
    [{ bearer: undefined }, '`auth.bearer` must be a string that is not empty.'],
    [{ bearer: '' }, '`auth.bearer` must be a string that is not empty'],
    [{ key: 'k' }, '`auth.name` must be a string that is not empty.'],
    [{ key: 'k', name: 'X-Key', in: 'cookie' }, '`auth.in` must be header or query'],
    [{ basic: { username: 'ann' } }, '`auth.basic.password` must be a string.'],
    [{ basic: 'ann:word' }, '`auth.basic` must be { username, password }.'],
    [{ token: 'x' }, '`auth` must have `bearer`, `basic`, or `key` and `name`.'],
    ['token', '`auth` must have `bearer`, `basic`, or `key` and `name`.'],
    [null, '`auth` must have'],
  ])('the credentials %j are refused when the tool is made', (auth, problem) => {
    const made = () => user('http://127.0.0.1:9', { auth: auth as unknown as { bearer: string } });
    expect(made).toThrow(problem);
    expect(made).toThrow(expect.objectContaining({ code: 'invalid_tool' }));
    expect(made).not.toThrow('ann:word');
  });

  it('S-5: a key in the query is not shown as a form writes it', async () => {
    await using api = await service((request, response) => json(response, { echo: request.url }));
    const key = "it's (~my secret~) key";
    const { result, events, lines } = await runOverWire({
      script: [{ calls: [{ name: 'user', input: { id: '1' } }] }, report()],
      definition: { tools: { user: user(api.url, { auth: { key, name: 'key', in: 'query' } }) } },
    });
    const asked = api.received[0]?.url ?? '';
    expect(new URL(asked, api.url).searchParams.get('key')).toBe(key);
    expect(JSON.stringify([result, events, lines])).toContain('[redacted]');
    expect(JSON.stringify([result, events, lines])).not.toContain(asked.slice(asked.indexOf('=') + 1));
  });

  it('a field in the query may be empty or a dot, which change no path', async () => {
    await using api = await service((request, response) => json(response, { url: request.url }));
    const found = restTool({
      method: 'GET',
      url: `${api.url}/find/{in}?q={q}`,
      input: z.object({ in: z.string(), q: z.string() }),
      allowPrivate: true,
    });
    const inputs = [{ q: '' }, { q: '.' }, { q: '..', in: '..' }].map((input) => ({ in: 'all', ...input }));
    const { result } = await runOverWire({
      script: [{ calls: inputs.map((input) => ({ name: 'found', input })) }, report()],
      definition: { tools: { found } },
    });
    expect(api.received.map(({ url }) => url)).toEqual(['/find/all?q=', '/find/all?q=.']);
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([null, null, 'tool_exec_failed', null]);
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

  it('an id that no number holds exactly reaches the model with all its digits', async () => {
    await using api = await service((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"id":9007199254740993,"count":3}');
    });
    const tool = restTool({ method: 'GET', url: `${api.url}/users`, input: z.object({}), allowPrivate: true });
    const { result, requests } = await runOverWire({
      script: [ask({}), report()],
      definition: { tools: { user: tool } },
    });
    expect(callsIn(result)[0]?.result.value).toEqual({ id: '9007199254740993', count: 3 });
    expect(JSON.stringify(requests[1]?.body.messages)).toContain('9007199254740993');
  });

  it.each([
    [307, 'POST'],
    [308, 'POST'],
    [301, 'PUT'],
    [302, 'PATCH'],
  ] as const)('a redirect (%i) of %s to another origin does not send the body there', async (status, method) => {
    await using other = await service((_, response) => json(response, { here: true }));
    const elsewhere = other.url.replace('127.0.0.1', 'localhost');
    await using api = await service((request, response) => {
      const location = request.url.startsWith('/users') ? '/moved' : `${elsewhere}/there`;
      response.writeHead(status, { location }).end();
    });
    const { result } = await runOverWire({
      script: [ask({ card: '4111' }), report()],
      definition: {
        tools: {
          user: restTool({
            method,
            url: `${api.url}/users`,
            input: z.object({ card: z.string() }),
            allowPrivate: true,
          }),
        },
      },
    });
    expect(api.received).toHaveLength(2);
    expect(other.received).toEqual([]);
    expect(callsIn(result)[0]).toMatchObject({
      slug: 'tool_exec_failed',
      result: { message: expect.stringContaining('the body was not sent to another origin') },
    });
  });
});
