import { APICallError } from '@ai-sdk/provider';
import { beforeEach, describe, expect, it, vi } from 'vitest';

/** The module as a runtime has it whose `process` is this one, or has no built-in modules. */
let bounded: typeof import('../../src/http/bounded-fetch.ts');
const load = async () => {
  vi.resetModules();
  bounded = await import('../../src/http/bounded-fetch.ts');
};
beforeEach(load);

const url = 'https://model.test/v1';
const answering = (status: number, location?: string) => {
  const asked: unknown[] = [];
  const headers = location === undefined ? {} : { location };
  const send = async (input: unknown, init: object) => {
    asked.push([input, init]);
    return new Response(status === 304 ? null : 'body', { status, headers });
  };
  return { asked, fetch: bounded.boundedFetch(send as typeof fetch) };
};

describe('B-2: one HTTP request in an attempt', () => {
  it('goes out as it was given, without following redirects', async () => {
    const { asked, fetch } = answering(200);
    const response = await bounded.withOneRequest(() => fetch(url, { method: 'POST', redirect: 'follow' }));
    expect(await response.text()).toBe('body');
    expect(asked).toEqual([[url, { method: 'POST', redirect: 'manual' }]]);
  });

  it.each([url, new URL(url), new Request(url)])('a second one is refused by its address: %s', async (input) => {
    const { asked, fetch } = answering(200);
    const twice = bounded.withOneRequest(async () => {
      await fetch(input);
      return fetch(input);
    });
    await expect(twice).rejects.toThrow(`A second request in one attempt was refused: ${url}.`);
    expect(asked).toHaveLength(1);
  });

  it('the next attempt has one of its own, and outside of attempts there is no limit', async () => {
    const { asked, fetch } = answering(200);
    await bounded.withOneRequest(() => fetch(url));
    await bounded.withOneRequest(() => fetch(url));
    await fetch(url);
    await fetch(url);
    expect(asked).toHaveLength(4);
  });

  it.each([299, 400, 500])('an answer with the status %s is given back', async (status) => {
    expect((await answering(status).fetch(url)).status).toBe(status);
  });

  it.each([300, 304, 308, 399])('a redirect (%s) is refused, and says where to', async (status) => {
    const { fetch } = answering(status, 'https://other.test/');
    const refused = await fetch(url).catch((error) => error);
    expect(refused).toBeInstanceOf(APICallError);
    expect(refused).toMatchObject({
      message: `The redirect (${status}) from ${url} to https://other.test/ was refused. Use the address it leads to.`,
      ...{ url, statusCode: status, isRetryable: false, requestBodyValues: {} },
    });
  });
});

it('a runtime without AsyncLocalStorage sends requests, but cannot bound them', async () => {
  const { getBuiltinModule } = process;
  const found = vi.spyOn(process, 'getBuiltinModule');
  found.mockImplementation(((name: string) =>
    name === 'node:async_hooks' ? undefined : getBuiltinModule(name)) as never);
  await load();
  found.mockRestore();
  expect(await bounded.withOneRequest(async () => 'sent')).toBe('sent');
  expect(() => bounded.boundedFetch()).toThrow(
    expect.objectContaining({ code: 'unsupported_runtime', message: '`boundedFetch` needs AsyncLocalStorage.' }),
  );
});
