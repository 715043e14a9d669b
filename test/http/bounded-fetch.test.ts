import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { afterEach, expect, it, vi } from 'vitest';
import { withBoundedLines } from '../../src/http/bounded-fetch.ts';
import { boundedFetch, defineAgent } from '../../src/index.ts';
import { openaiCompatible } from '../../src/model/compatible.ts';
import type { ModelReference } from '../../src/model/targets.ts';
import { rehearsalModel, startModelServer } from '../../src/testing/index.ts';
import { counters, report, run } from '../support/session.ts';

afterEach(() => vi.unstubAllEnvs());

/** A server that redirects each request to itself. */
async function startRedirects(status: number) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    request.resume();
    response.writeHead(status, { location: `${request.url}/again` });
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const stop = () => new Promise<void>((resolve) => server.close(() => resolve()));
  return { url: `http://127.0.0.1:${port}/v1`, seen, [Symbol.asyncDispose]: stop };
}

it.each<[string, number, (url: string) => ModelReference | Promise<ModelReference>]>([
  ['of `--base-url`', 307, (url) => openaiCompatible(url, 'm', 'test-key')],
  ['of a `provider:model` string', 308, () => 'openai:gpt-5'],
  [
    'with boundedFetch()',
    302,
    (baseURL) => createOpenAICompatible({ name: 'own', baseURL, apiKey: 'k', fetch: boundedFetch() })('m'),
  ],
])('B-2: a redirect from the endpoint of a model %s is refused and named', async (_which, status, model) => {
  await using server = await startRedirects(status);
  vi.stubEnv('OPENAI_BASE_URL', server.url);
  vi.stubEnv('OPENAI_API_KEY', 'test-key');
  const { result } = await run({ agent: defineAgent({ name: 'moved', models: [await model(server.url)] }) });
  expect(server.seen).toHaveLength(1);
  expect(result.slugs).toEqual(['no_targets', 'invalid_request']);
  expect(result.turns[0]?.attempts[0]?.fault?.message).toContain(`redirect (${status}) from ${server.url}`);
  expect(result.counters).toEqual(
    counters({
      turns: 1,
      attempts: 1,
      failedAttempts: 1,
      costUsd: 0,
      slugs: { no_targets: 1, invalid_request: 2 },
    }),
  );
});

it('B-2: a second request in one attempt is refused and named; the next attempt has one of its own', async () => {
  await using server = await startModelServer([report()]);
  const send = boundedFetch();
  const model = rehearsalModel([report()]);
  const { doStream } = model;
  let attempts = 0;
  const twice: typeof doStream = async (options) => {
    attempts += 1;
    for (let left = attempts === 1 ? 2 : 1; left > 0; left -= 1) {
      await (await send(`${server.url}/chat/completions`, { method: 'POST', body: '{"messages":[]}' })).text();
    }
    return doStream.call(model, options);
  };
  const { result } = await run({ agent: defineAgent({ name: 'twice', models: [{ ...model, doStream: twice }] }) });
  expect(server.requests).toHaveLength(2);
  expect(result.turns[0]?.attempts[0]?.fault?.message).toContain('A second request in one attempt was refused');
  expect(result.success).toBe(true);
});

it('C-5: a response fails with the first line that is too long, before it is whole', async () => {
  const pulled: number[] = [];
  const responseOf = (...pieces: string[]) =>
    new Response(
      new ReadableStream({
        pull(controller) {
          const piece = pieces[pulled.length];
          pulled.push(pulled.length);
          if (piece === undefined) controller.close();
          else controller.enqueue(new TextEncoder().encode(piece));
        },
      }),
      { status: 201, headers: { 'x-request-id': 'r' } },
    );
  const bounded = withBoundedLines(responseOf('12345\n', '123', '45\n12', '345'), 5);
  expect([bounded.status, bounded.headers.get('x-request-id')]).toEqual([201, 'r']);
  expect(await bounded.text()).toBe('12345\n12345\n12345');
  pulled.splice(0);
  const endless = withBoundedLines(responseOf('data: 1\n', ...Array.from({ length: 100 }, () => 'xxx')), 10);
  await expect(endless.text()).rejects.toThrow('a line of more than 10 bytes');
  expect(pulled.length).toBeLessThan(15);
  expect(withBoundedLines(new Response(null, { status: 204 }), 5).body).toBeNull();
  // Of other clients.
  for (const other of [{ body: { pipe: () => {} } }, { body: new ReadableStream(), status: 200 }] as never[])
    expect(withBoundedLines(other, 5)).toBe(other);
  const found = Object.defineProperty(responseOf('x'), 'url', { value: 'http://a.example/' });
  expect(withBoundedLines(found, 5).url).toBe('http://a.example/');
});
