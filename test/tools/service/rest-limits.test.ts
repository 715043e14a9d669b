import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { PawlError, type RestToolOptions, restTool } from '../../../src/index.ts';
import { ask, json, service, user } from '../../support/service.ts';
import { callsIn, report, runOverWire } from '../../support/session.ts';

describe('REST tools', () => {
  it.each<[string, Partial<RestToolOptions>, RegExp]>([
    ['a private address', { allowPrivate: false }, /127\.0\.0\.1 is not public/],
    [
      'a name for a private address',
      { allowPrivate: false, url: 'http://localhost:49151/users/{id}' },
      /is not public/,
    ],
    ['a host that is not allowed', { allowedHosts: ['api.example.com', '*.example.org'] }, /is not allowed/],
    ['a port that is not allowed', { allowedHosts: ['127.0.0.1:1'] }, /is not allowed/],
  ])('%s is refused before anything is sent', async (_name, policy, message) => {
    await using api = await service((_, response) => json(response, {}));
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url, policy) } },
    });
    expect(callsIn(result)[0]).toMatchObject({
      slug: 'tool_exec_failed',
      result: { message: expect.stringMatching(message) },
    });
    expect(api.received).toHaveLength(0);
  });

  it('redirects obey the same policy', async () => {
    await using api = await service((_, response) => response.writeHead(302, { location: 'ftp://x/' }).end());
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(callsIn(result)[0]?.result.message).toContain('ftp: is not allowed');
  });

  it.each([['..'], ['.'], ['']])('an id of %j cannot change the path of the request', async (id) => {
    await using api = await service((_, response) => json(response, {}));
    const { result } = await runOverWire({
      script: [ask({ id }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(callsIn(result)[0]?.slug).toBe('tool_exec_failed');
    expect(api.received).toHaveLength(0);
  });

  it('C-1: long, empty, binary and malformed responses become clear results', async () => {
    await using api = await service((request, response) => {
      if (request.url === '/users/empty') response.writeHead(204).end();
      else if (request.url === '/users/picture')
        response.writeHead(200, { 'content-type': 'image/png' }).end(Buffer.alloc(9));
      else if (request.url === '/users/broken')
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":');
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('x'.repeat(20_000));
    });
    const { result } = await runOverWire({
      script: [{ calls: ['empty', 'picture', 'broken', 'long'].flatMap((id) => ask({ id }).calls) }, report()],
      definition: { tools: { user: user(api.url, { maxBytes: 1_000 }) } },
    });
    const texts = callsIn(result).map(({ output }) => (output.type === 'text' ? output.value : ''));
    expect(texts.slice(0, 3)).toEqual(['The response has no content.', '[image/png, 9 bytes]', '{"a":']);
    expect(texts[3]).toContain('truncated after 1000 bytes');
  });

  it.each([
    ['text/plain; charset=iso-8859-1', Buffer.from('Grüße', 'latin1'), 'Grüße'],
    ['text/plain; charset="utf-16le"', Buffer.from('Grüße', 'utf16le'), 'Grüße'],
    ['application/json', Buffer.from('\uFEFF{"a":1}'), '{"a":1}'],
    ['text/plain; charset=no-such', Buffer.from('Grüße'), 'Grüße'],
  ])('a response in %s is decoded correctly', async (type, bytes, expected) => {
    await using api = await service((_, response) => response.writeHead(200, { 'content-type': type }).end(bytes));
    const { result } = await runOverWire({
      script: [ask({ id: '1' }), report()],
      definition: { tools: { user: user(api.url) } },
    });
    expect(JSON.stringify(callsIn(result)[0]?.output)).toContain(JSON.stringify(expected).slice(1, -1));
  });

  it('C-1: calls to a service that hangs, resets or is unreachable are answered', async () => {
    await using api = await service((request, response) => {
      if (request.url === '/users/reset') response.destroy();
    });
    const { result } = await runOverWire({
      script: [
        { calls: [...ask({ id: 'hang' }).calls, ...ask({ id: 'reset' }).calls, ...ask({ id: '1' }, 'gone').calls] },
        report(),
      ],
      definition: {
        tools: { user: user(api.url), gone: user('http://127.0.0.1:1') },
        limits: { toolTimeoutMs: 200 },
      },
    });
    expect(callsIn(result).map(({ slug }) => slug)).toEqual([
      'tool_timeout',
      'tool_exec_failed',
      'tool_exec_failed',
      null,
    ]);
  });

  it('C-1: an abort cancels the request', async () => {
    const closed = Promise.withResolvers<void>();
    await using api = await service((_, response) => response.on('close', () => closed.resolve()));
    const { result } = await runOverWire({
      script: [ask({ id: '1' })],
      definition: { tools: { user: user(api.url) } },
      during: (event, session) => {
        if (event.type === 'tool.started') setImmediate(() => session.abort());
      },
    });
    expect(callsIn(result)[0]?.slug).toBe('aborted');
    if (api.received.length > 0) await closed.promise;
  });

  it.each<[object, string]>([
    [{ method: 'FOO' }, '`method` must be one of GET, HEAD, POST, PUT, PATCH, DELETE; got "FOO".'],
    [{ input: undefined }, '`input` is required: the schema of an object.'],
    [{ input: null }, '`input` must be the schema of an object; got null.'],
    [{ maxBytes: -1 }, '`maxBytes` must be an integer of at least 1; got -1.'],
    [{ allowedHosts: 'e.com' }, '`allowedHosts` must be an array of host names; got "e.com".'],
    [{ retries: 3 }, 'Unknown option `retries`.'],
    [{ needsApproval: 'yes' }, '`needsApproval` must be a boolean; got "yes".'],
    [{ body: () => ({}) }, 'body cannot be used: a GET request has no body.'],
  ])('%o is refused', (over, message) => {
    expect(() => user('http://127.0.0.1', over)).toThrow(PawlError);
    expect(() => user('http://127.0.0.1', over)).toThrow(message);
  });

  it('an invalid URL is refused', () => {
    expect(() => user('file:///etc')).toThrow(PawlError);
    expect(() => user('http://{host}', { auth: { bearer: 'x' } })).toThrow(
      'allowedHosts is required, since the input chooses the host in url; got url "http://{host}/users/{id}".',
    );
    expect(() => restTool({ method: 'GET', url: 'nowhere', input: z.object({}) })).toThrow(
      '`url` must be an http or https URL, with {name} for fields of the input; got "nowhere".',
    );
  });
});
