import { createServer, type Server, type ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { answered, answersPage, checkCaller, closeHttp, listening, Refusal } from '../../src/serve/callers.ts';
import { callerSchema, checkHttp } from '../../src/serve/http-options.ts';
import { keptLog } from '../support/session.ts';

const bearer = 'a-token-of-many-characters';
const auth = { bearer };

/** The status that a caller with these headers gets: 200 if it may call. */
function statusOf(headers: object, options: object = {}, isLoopback = true): number {
  try {
    checkCaller({ headers: { host: 'localhost', ...headers } }, options, isLoopback);
    return 200;
  } catch (error) {
    if (error instanceof Refusal) return error.status;
    throw error;
  }
}

describe('who may call a server', () => {
  it.each<[string, object, boolean, number]>([
    ['localhost', {}, true, 200],
    ['localhost:80', {}, true, 200],
    ['127.0.0.1:8080', {}, true, 200],
    ['[::1]:8080', {}, true, 200],
    ['', {}, true, 403],
    ['LocalHost:80', {}, true, 200],
    ['Me.example:1', { hosts: ['me.Example'] }, false, 200],
    ['evil.example', {}, true, 403],
    ['localhost.evil.example', {}, true, 403],
    ['a.localhost', {}, true, 403],
    ['127.0.0.1.evil.example:80', {}, true, 403],
    ['127a0b0c1', {}, true, 403],
    ['localhost:80x', {}, true, 403],
    ['evil.example', {}, false, 200],
    ['me.example', { hosts: ['me.example'] }, true, 200],
    ['me.example:8443', { hosts: ['me.example'] }, false, 200],
    ['me.example:8443', { hosts: ['me.example:8443'] }, false, 200],
    ['me.example:9', { hosts: ['me.example:8443'] }, false, 403],
    ['me.example', { hosts: ['me.example:8443'] }, false, 403],
    ['localhost', { hosts: ['me.example'] }, true, 403],
    ['me.example', { hosts: [] }, false, 403],
    ['[::1]:3000', { hosts: ['[::1]'] }, false, 200],
  ])('as the host %j, with %j, on loopback %s: %i', (host, options, isLoopback, status) => {
    expect(statusOf({ host }, options, isLoopback)).toBe(status);
  });

  it('a request without a host is not of loopback', () => {
    expect(statusOf({ host: undefined })).toBe(403);
  });

  it.each<[string, object, boolean, number]>([
    ['http://localhost:3000', {}, true, 200],
    ['https://127.0.0.1', {}, true, 200],
    ['http://[::1]:5173', {}, true, 200],
    ['null', {}, true, 403],
    ['https://app.example', { origins: ['https://App.example'] }, false, 200],
    ['http://evil.example', {}, true, 403],
    ['http://localhost.evil.example', {}, true, 403],
    ['http://localhost:3000', {}, false, 403],
    ['https://app.example', { origins: ['https://app.example'] }, false, 200],
    ['https://app.example:1', { origins: ['https://app.example'] }, false, 403],
    ['http://localhost:3000', { origins: ['https://app.example'] }, true, 403],
  ])('from a page of %j, with %j, on loopback %s: %i', (origin, options, isLoopback, status) => {
    expect(statusOf({ origin }, options, isLoopback)).toBe(status);
  });

  it.each<[string | undefined, number]>([
    [`Bearer ${bearer}`, 200],
    [`bearer  ${bearer}`, 200],
    [undefined, 401],
    ['', 401],
    [bearer, 401],
    [`Bearer ${bearer}x`, 401],
    [`Bearer ${bearer.slice(1)}`, 401],
    [`Bearer${bearer}`, 401],
    [`Basic Bearer ${bearer}`, 401],
  ])('with the authorization %j: %i', (authorization, status) => {
    expect(statusOf({ authorization }, { auth })).toBe(status);
    expect(statusOf({ authorization })).toBe(200);
  });

  it('says why it is refused, and the place before the token', () => {
    const refused = (headers: object) => () => checkCaller({ headers } as never, { auth }, true);
    expect(refused({ host: 'evil.example' })).toThrow('host not allowed');
    expect(refused({ host: 'localhost', origin: 'http://evil.example' })).toThrow('origin not allowed');
    expect(refused({ host: 'localhost' })).toThrow('unauthorized');
  });
});

describe('what a browser’s page may ask', () => {
  function answer(method: string, headers: object, options: object = {}) {
    const set: Record<string, string> = {};
    let head: unknown = null;
    const response = {
      setHeader: (name: string, value: string) => {
        set[name] = value;
      },
      writeHead: (status: number, fields: object) => {
        head = { status, ...fields };
        return { end: () => undefined };
      },
    };
    const request = { method, headers: { host: 'localhost', ...headers } };
    const isAnswered = answersPage(request as never, response as never, options, true);
    return { isAnswered, set, head };
  }
  const origin = 'http://localhost:3000';
  const readable = {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'mcp-session-id, retry-after',
    vary: 'origin',
  };
  const asks = { origin, 'access-control-request-method': 'POST' };

  it('the question before a call is answered without a token, with the headers that it asks for', () => {
    const fields = { 'access-control-allow-methods': 'GET, POST, DELETE', 'access-control-max-age': '600' };
    expect(answer('OPTIONS', asks, { auth })).toEqual({
      isAnswered: true,
      set: readable,
      head: { status: 204, ...fields },
    });
    expect(Object.keys(answer('OPTIONS', asks, { auth }).head ?? {})).not.toContain('access-control-allow-headers');
    const asked = answer('OPTIONS', { ...asks, 'access-control-request-headers': 'authorization' }, { auth });
    expect(asked.head).toStrictEqual({ status: 204, ...fields, 'access-control-allow-headers': 'authorization' });
  });

  it('anything else needs the token, and can read that it lacks it', () => {
    const authorization = `Bearer ${bearer}`;
    expect(answer('POST', { origin, authorization }, { auth })).toEqual({
      isAnswered: false,
      set: readable,
      head: null,
    });
    expect(answer('POST', { authorization }, { auth })).toEqual({ isAnswered: false, set: {}, head: null });
    for (const [method, headers] of [
      ['POST', { origin }],
      ['POST', asks],
      ['OPTIONS', { origin }],
      ['OPTIONS', { 'access-control-request-method': 'POST' }],
    ] as const)
      expect(() => answer(method, headers, { auth })).toThrow('unauthorized');
    expect(() => answer('OPTIONS', { ...asks, origin: 'http://evil.example' })).toThrow('origin not allowed');
  });
});

describe('where a server listens', () => {
  it('says its address, and whether only this machine reaches it', async () => {
    for (const [options, pattern] of [
      [{}, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/],
      [{ host: 'localhost' }, /^http:\/\/localhost:[1-9]\d*$/],
    ] as const) {
      const http = createServer();
      const place = await listening(http, options);
      expect(place).toEqual({ origin: expect.stringMatching(pattern), isLoopback: true });
      await closeHttp(http);
      expect(http.listening).toBe(false);
    }
  });

  it.each([
    ['::1', '::1', 'http://[::1]:7', true],
    ['::', '::', 'http://[::]:7', false],
    ['0.0.0.0', '0.0.0.0', 'http://0.0.0.0:7', false],
  ])('at the host %s, whose address is %s: %s', async (host, address, origin, isLoopback) => {
    const http = {
      once: () => {},
      on: () => {},
      listen: (_port: number, _host: string, listens: () => void) => listens(),
      address: () => ({ port: 7, address }),
    } as unknown as Server;
    expect(await listening(http, { host })).toEqual({ origin, isLoopback });
  });

  it('answers that are open are waited for before it closes, and then cut off', async () => {
    const open = new Set<ServerResponse>();
    const got = Promise.withResolvers<ServerResponse>();
    const http = createServer((_, response) => {
      open.add(response);
      response.write('begun');
      got.resolve(response);
    });
    const { origin } = await listening(http, {});
    const answer = fetch(origin).then((response) => response.text());
    const response = await got.promise;
    let isOver = false;
    const over = answered(open).then(() => {
      isOver = true;
    });
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    response.end(', done');
    await over;
    expect(await answer).toBe('begun, done');
    const cut = fetch(origin).then((one) => one.text());
    await expect.poll(() => open.size).toBe(2);
    await closeHttp(http);
    await expect(cut).rejects.toThrow();
  });

  it('a port that is taken, or none, is refused by name', async () => {
    const [first, second] = [createServer(), createServer()];
    const { origin } = await listening(first, {});
    const port = Number(new URL(origin).port);
    await expect(listening(second, { port })).rejects.toMatchObject({
      code: 'invalid_options',
      message: expect.stringMatching(/^`port` must be a free port; got \d+\. .*EADDRINUSE/),
    });
    await expect(listening(second, { port: 70_000 })).rejects.toMatchObject({ code: 'invalid_options' });
    await closeHttp(first);
  });

  it('a server logs an error that occurs while it listens, and continues to serve', async () => {
    const { lines, logger } = keptLog();
    const http = createServer((_, response) => response.end('here'));
    const { origin } = await listening(http, {}, logger);
    for (const code of ['EMFILE', 'ENFILE']) http.emit('error', new Error(`accept ${code}`));
    expect(lines).toEqual(
      ['EMFILE', 'ENFILE'].map((code) =>
        expect.objectContaining({
          ...{ level: 50, event: 'server.failed', msg: 'a server could not accept a connection' },
          error: expect.stringContaining(`accept ${code}`),
        }),
      ),
    );
    expect(await (await fetch(origin)).text()).toBe('here');
    await closeHttp(http);
  });

  it.each([
    'https://app.example',
    'HTTPS://App.Example:8443',
    'http://[::1]',
    'chrome-extension://abc',
    'file://',
    'null',
  ])('an origin is one as browsers write it: %s', (origin) =>
    expect(() => checkHttp(callerSchema(), { origins: [origin] }, 'http')).not.toThrow(),
  );

  it.each([
    7,
    '',
    'app.example',
    'https://app.example/',
    'https://app.example:443',
    'https://app.example/x',
    '*',
    'a://b/c',
  ])('an origin that no page has is refused: %s', (origin) => {
    expect(() => checkHttp(callerSchema(), { origins: [origin] }, 'http')).toThrow(
      `\`http.origins[0]\` must be an origin as browsers send it, such as "https://app.example.com"; got ${JSON.stringify(origin)}.`,
    );
  });

  it('off loopback, what is lacking is named', () => {
    const lacking = (options: object) => {
      try {
        checkHttp(callerSchema(), options, 'http');
        return '';
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const host of ['127.0.0.1', '::1', 'localhost', undefined])
      expect(lacking(host === undefined ? {} : { host })).toBe('');
    expect(lacking({ host: '0.0.0.0', auth, hosts: [], origins: [] })).toBe('');
    expect(lacking({ host: '0.0.0.0', auth })).not.toContain('http.auth');
    expect(lacking({ host: '0.0.0.0', auth })).toContain(
      '`http.origins` is required to serve on 0.0.0.0, which others can reach.',
    );
    expect(lacking({ auth: { bearer: 'short' } })).toContain('a token of at least 16 characters');
    for (const port of [-1, 65_536, 1.5, '80'])
      expect(lacking({ port })).toContain('`http.port` must be an integer from 0 to 65535');
  });
});
