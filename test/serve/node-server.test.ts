import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { CallerOptions } from '../../src/serve/http-options.ts';
import { serveRequests } from '../../src/serve/node-server.ts';

const bearer = 'a-token-of-many-characters';
const refused = ({ message }: { message: string }) => ({
  body: JSON.stringify({ refused: message }),
  headers: { 'content-type': 'application/json' },
});
const served = async (
  answer: (request: Request) => Promise<Response>,
  callers: CallerOptions = {},
  ended = async () => {},
) => {
  const server = await serveRequests(answer, { callers, forPages: true, refused });
  const close = () => server.close(ended);
  return { url: `${server.origin}/v1`, closed: server.closed, close, [Symbol.asyncDispose]: close };
};

describe('a handler as a server', () => {
  it('gets the requests as they came', async () => {
    await using server = await served(
      async (request) => new Response(`${request.method} ${new URL(request.url).pathname}`),
    );
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(await (await fetch(`${server.url}/models`)).text()).toBe('GET /v1/models');
  });

  it.each<[string, object, object, number, string]>([
    ['without the token', { auth: { bearer } }, {}, 401, 'unauthorized'],
    ['with another', { auth: { bearer } }, { authorization: 'Bearer other' }, 401, 'unauthorized'],
    ['of another page', {}, { origin: 'https://x.test' }, 403, 'origin not allowed'],
  ])('refuses a request %s, in the words of its API', async (_, options, headers, status, message) => {
    await using server = await served(async () => new Response('so'), options);
    const response = await fetch(`${server.url}/models`, { headers: { ...headers } });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ refused: message });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(response.headers.get('connection')).toBe('close');
  });

  it.each([
    [404, async () => new Response('nothing here', { status: 404 })],
    [
      413,
      async (request: Request) => {
        for await (const _ of request.body ?? []) break;
        return new Response('too large', { status: 413 });
      },
    ],
  ])(
    'ends the connection after a %i, since a body that is not read stands before the next request',
    async (_, answer) => {
      await using server = await served(answer);
      const response = await fetch(`${server.url}/embeddings`, { method: 'POST', body: 'x'.repeat(300_000) });
      expect(response.headers.get('connection')).toBe('close');
    },
  );

  it.each(['TRACE /v1 HTTP/1.1', 'GET http://[bad/ HTTP/1.1'])('refuses %s in the words of its API', async (line) => {
    await using server = await served(async () => new Response('so'));
    const { hostname, port, host } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(`${line}\r\nHost: ${host}\r\n\r\n`);
    const answer = await text(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer.toLowerCase()).toContain('content-type: application/json');
    expect(answer).toContain('{"refused":"the request has no address or method that can be answered"}');
  });

  it('keeps the connection when the body was read, or there is none', async () => {
    await using server = await served(async (request) => new Response(await request.text()));
    for (const init of [{}, { method: 'POST', body: 'So.' }])
      expect((await fetch(`${server.url}/models`, init)).headers.get('connection')).toBe('keep-alive');
  });

  it('that closes tells its requests, lets its sessions end, and flushes the answers', async () => {
    const order: string[] = [];
    const begun = Promise.withResolvers<void>();
    const server = await served(
      (request) =>
        new Promise((resolve) => {
          request.signal.addEventListener('abort', () => {
            order.push(`aborted: ${request.signal.reason.message}`);
            resolve(new Response('The last words.'));
          });
          begun.resolve();
        }),
      {},
      async () => void order.push('sessions ended'),
    );
    const answer = fetch(`${server.url}/models`).then((response) => response.text());
    await begun.promise;
    let isClosed = false;
    void server.closed.then(() => {
      isClosed = true;
    });
    await new Promise(setImmediate);
    expect(isClosed).toBe(false);
    await server.close();
    await server.closed;
    expect(await answer).toBe('The last words.');
    expect(order).toEqual(['aborted: the server closes', 'sessions ended']);
    await expect(fetch(server.url)).rejects.toThrow();
  });
});
