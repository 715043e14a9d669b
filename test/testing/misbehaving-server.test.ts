import { afterEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type ScriptedResponse,
  type ServerScript,
  startModelServer,
} from '../../src/testing/index.ts';

const servers: ModelServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function serve(script: ServerScript): Promise<ModelServer> {
  const server = await startModelServer(script);
  servers.push(server);
  return server;
}

const post = (server: ModelServer, path = 'chat/completions', body: object = {}, init: RequestInit = {}) =>
  fetch(`${server.url}/${path}`, { method: 'POST', body: JSON.stringify({ messages: [], ...body }), ...init });

const streamed = async (response: ScriptedResponse, path = 'chat/completions') =>
  (await post(await serve([response]), path, { stream: true })).text();

describe('a scripted server', () => {
  it('records each request, and how it was asked', async () => {
    const server = await serve([{}]);
    await post(server, 'messages', { model: 'm', stream: false }, { headers: { 'X-Own': 'yes' } });
    await fetch(`${server.url}/models`);
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/v1$/);
    expect(server.requests).toMatchObject([
      {
        wire: 'anthropic',
        method: 'POST',
        path: '/v1/messages',
        headers: { 'x-own': 'yes' },
        body: { messages: [], model: 'm', stream: false },
      },
      { wire: 'openai', method: 'GET', path: '/v1/models', body: { messages: [] } },
    ]);
  });

  it('repeats the last response of its script', async () => {
    const server = await serve([{ text: 'one' }, { text: 'two' }]);
    const texts: unknown[] = [];
    for (let at = 0; at < 3; at += 1) texts.push((await (await post(server)).json()) as unknown);
    expect(texts).toMatchObject(
      ['one', 'two', 'two'].map((content, at) => ({ id: `chatcmpl-${at}`, choices: [{ message: { content } }] })),
    );
  });

  it('a script may be a function of the request and its number, and an empty one gives empty replies', async () => {
    const server = await serve(({ body }, index) => ({ text: `${body.model} ${index}` }));
    await post(server, 'messages', { model: 'first' });
    const answer = await post(server, 'messages', { model: 'second' });
    expect(await answer.json()).toMatchObject({ content: [{ text: 'second 1' }], model: 'second' });
    expect(await (await post(await serve([]))).json()).toMatchObject({
      model: 'scripted',
      choices: [{ message: { content: null } }],
    });
  });

  it('takes no more requests once it is closed', async () => {
    const server = await serve([{ hang: true }]);
    const hanging = post(server).catch((error) => error.message);
    while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await server[Symbol.asyncDispose]();
    expect(await hanging).toBe('fetch failed');
    await expect(post(server)).rejects.toThrow('fetch failed');
  });
});

describe('a scripted server misbehaves on command', () => {
  const error = { type: 'overloaded', code: 'c1', message: 'too much' };
  it.each<[string, ScriptedResponse, object]>([
    ['chat/completions', { status: 503, error }, { error: { ...error, param: null } }],
    [
      'chat/completions',
      { status: 400, error: { type: 'bad' } },
      { error: { type: 'bad', code: 'bad', message: 'scripted error', param: null } },
    ],
    [
      'chat/completions',
      { status: 500 },
      { error: { type: 'scripted_error', code: 'scripted_error', message: 'scripted error', param: null } },
    ],
    ['messages', { status: 529, error }, { type: 'error', error: { type: 'overloaded', message: 'too much' } }],
  ])('on %s, a status and its error: %j', async (path, response, body) => {
    const answer = await post(await serve([{ ...response, headers: { 'retry-after': '7' } }]), path, { stream: true });
    expect([answer.status, answer.headers.get('content-type'), answer.headers.get('retry-after')]).toEqual([
      response.status,
      'application/json',
      '7',
    ]);
    expect(await answer.json()).toEqual(body);
  });

  it('a status below 400 is no error, and a body is sent as it is', async () => {
    expect(await streamed({ status: 399, text: 'x' })).toContain('data: [DONE]');
    const answer = await post(await serve([{ status: 202, body: 'plain', text: 'x' }]), 'messages', { stream: true });
    expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([
      202,
      'application/json',
      'plain',
    ]);
    const failed = await post(await serve([{ status: 500, body: 'plain' }]));
    expect([failed.status, await failed.text()]).toEqual([500, 'plain']);
  });

  it('an error takes the place of the events from a place on', async () => {
    const errorEvent = { afterEvents: 1, type: 'overloaded', message: 'too much' };
    const told = { type: 'overloaded', message: 'too much', code: 'overloaded' };
    const openai = (await streamed({ text: 'x', errorEvent })).split('\n\n');
    expect(openai.slice(1)).toEqual([`data: ${JSON.stringify({ error: told })}`, '']);
    const anthropic = (await streamed({ text: 'x', errorEvent }, 'messages')).split('\n\n');
    expect(anthropic.slice(1)).toEqual([`event: error\ndata: ${JSON.stringify({ type: 'error', error: told })}`, '']);
  });

  it('garbage stands between events, and nothing is lost', async () => {
    const whole = await streamed({ text: 'x' });
    const [first = '', ...others] = whole.split('\n\n');
    expect(await streamed({ text: 'x', garbage: { afterEvents: 1, text: 'data: {oops\n\n' } })).toBe(
      [first, 'data: {oops', ...others].join('\n\n'),
    );
  });

  it('a body ends early as if it were whole, or its connection breaks', async () => {
    const whole = await streamed({ text: 'x' });
    expect(await streamed({ text: 'x', cut: { afterBytes: 20, how: 'end' } })).toBe(whole.slice(0, 20));
    await expect(streamed({ text: 'x', cut: { afterBytes: 20, how: 'reset' } })).rejects.toThrow('terminated');
  });

  it('a connection breaks before any response', async () => {
    await expect(streamed({ reset: true })).rejects.toThrow('fetch failed');
  });

  it('a response begins and never ends', async () => {
    const answer = await post(await serve([{ text: 'x', hang: { afterBytes: 20 } }]), 'messages', { stream: true });
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    expect(first?.value?.length).toBe(20);
    const next = reader?.read().catch((problem) => problem.message);
    await Promise.all(servers.map((server) => server.close()));
    expect(await next).toBe('terminated');
  });

  it('a response comes after its delay', async () => {
    const server = await serve([{ text: 'x', delayMs: 50 }]);
    const asked = performance.now();
    expect((await post(server, 'messages')).status).toBe(200);
    // A timer may ring a little early.
    expect(performance.now() - asked).toBeGreaterThan(45);
  });
});
