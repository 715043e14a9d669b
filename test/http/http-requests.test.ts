import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { HttpPolicy, HttpRequest } from '../../src/http/http-policy.ts';
import { httpRequest } from '../../src/http/http-request.ts';
import { type Received, service } from '../support/service.ts';

const sent = (url: string, more: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url: new URL(url),
  headers: {},
  body: null,
  signal: new AbortController().signal,
  ...more,
});
const open: HttpPolicy = { allowPrivate: true };
const requested = (url: string, more: Partial<HttpRequest> = {}, policy: HttpPolicy = open) =>
  httpRequest(sent(url, more), policy);

/** Redirects `/N` to what `to` says, and answers anything else with `done`. */
const redirecting = (status: number, to: string) =>
  service(({ url }, response) => {
    if (!url.startsWith('/start')) response.writeHead(200, { 'content-type': 'text/plain' }).end('done');
    else response.writeHead(status, { location: to }).end('moved');
  });
const textOf = ({ bytes }: { bytes: Uint8Array }) => Buffer.from(bytes).toString();

describe('REST tools: where a request may go', () => {
  it.each([
    ['http://0.1.2.3/', '0.1.2.3'],
    ['http://10.0.0.1/', '10.0.0.1'],
    ['http://100.64.0.1/', '100.64.0.1'],
    ['http://127.8.0.1/', '127.8.0.1'],
    ['http://169.254.169.254/', '169.254.169.254'],
    ['http://172.31.0.1/', '172.31.0.1'],
    ['http://192.0.0.8/', '192.0.0.8'],
    ['http://192.168.1.1/', '192.168.1.1'],
    ['http://198.19.0.1/', '198.19.0.1'],
    ['http://224.0.0.1/', '224.0.0.1'],
    ['http://255.255.255.255/', '255.255.255.255'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://[::1]/', '::1'],
    ['http://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
    ['http://[fd00::1]/', 'fd00::1'],
    ['http://[fe80::1]/', 'fe80::1'],
    ['http://[64:ff9b::7f00:1]/', '64:ff9b::7f00:1'],
    ['http://[2001::1]/', '2001::1'],
    ['http://[2001:db8::1]/', '2001:db8::1'],
    ['http://[2002:7f00:1::]/', '2002:7f00:1::'],
  ])('%s is not public', async (url, address) => {
    await expect(requested(url, {}, {})).rejects.toThrow(
      `The address ${address} is not public; it needs allowPrivate.`,
    );
  });

  it.each(['http://93.184.215.14/', 'http://172.32.0.1/', 'http://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/'])(
    '%s is public',
    async (url) => {
      // Nothing is sent, since the request is aborted.
      const signal = AbortSignal.abort(new Error('not sent'));
      await expect(requested(url, { signal }, {})).rejects.toThrow('not sent');
    },
  );

  it('the addresses of a name are looked at when it is connected to', async () => {
    const failed = requested('http://localhost:4747/', {}, {});
    await expect(failed).rejects.toThrow(/^GET http:\/\/localhost:4747\/ failed: The address \S+ is not public/);
  });

  it.each<[string, string[], boolean]>([
    ['http://api.test/', ['api.test'], true],
    ['http://API.test/', ['Api.Test'], true],
    ['http://api.test/', ['other.test', 'api.test'], true],
    ['http://api.test/', ['api.tes', 'pi.test', 'api.test.org'], false],
    ['http://v1.api.test/', ['api.test'], false],
    ['http://v1.api.test/', ['*.api.test'], true],
    ['http://v2.v1.api.test/', ['*.api.test'], true],
    ['http://api.test/', ['*.api.test'], false],
    ['http://evilapi.test/', ['*.api.test'], false],
    ['http://api.test.evil.org/', ['*.api.test'], false],
    ['http://api.test:8080/', ['api.test'], true],
    ['http://api.test:8080/', ['api.test:8080'], true],
    ['http://api.test:8080/', ['api.test:80'], false],
    ['http://api.test/', ['api.test:80'], true],
    ['http://api.test/', ['api.test:443'], false],
    ['https://api.test/', ['api.test:443'], true],
    ['https://api.test/', ['api.test:80'], false],
    ['https://api.test/', ['*.test:443'], true],
    ['http://api.test/', [], false],
  ])('%s, where %j may be called: %s', async (url, allowedHosts, may) => {
    const signal = AbortSignal.abort(new Error('not sent'));
    const host = new URL(url).host;
    await expect(requested(url, { signal }, { allowedHosts })).rejects.toThrow(
      may ? 'not sent' : `The host ${host} is not allowed; allowed hosts: ${allowedHosts.join(', ')}.`,
    );
  });

  it.each(['ftp://api.test/', 'file:///etc/passwd', 'data:text/plain,x'])('%s is not an http(s) URL', async (url) => {
    const { protocol } = new URL(url);
    await expect(requested(url)).rejects.toThrow(`The protocol ${protocol} is not allowed; use http or https.`);
  });
});

describe('S-5: redirects', () => {
  const headers = {
    Accept: 'a/b',
    'Accept-Language': 'de',
    'Content-Type': 'text/x',
    'User-Agent': 'me',
    'X-Api-Key': 'hidden',
    Authorization: 'hidden',
  };
  const named = (request: Received | undefined) =>
    ['accept', 'accept-language', 'content-type', 'user-agent', 'x-api-key', 'authorization'].filter((name) =>
      ['a/b', 'de', 'text/x', 'me', 'hidden'].includes(String(request?.headers[name])),
    );

  it('another origin gets harmless headers alone, and the same origin all', async () => {
    await using elsewhere = await service((_, response) => response.end('there'));
    await using away = await redirecting(307, `${elsewhere.url}/there`);
    expect(textOf(await requested(`${away.url}/start`, { headers }))).toBe('there');
    expect(named(elsewhere.received[0])).toEqual(['accept', 'accept-language', 'content-type', 'user-agent']);
    await using near = await redirecting(307, '/there');
    expect(textOf(await requested(`${near.url}/start`, { headers }))).toBe('done');
    expect(named(near.received[1])).toHaveLength(6);
  });

  it.each([
    [301, 'POST', 'GET'],
    [302, 'POST', 'GET'],
    [303, 'POST', 'GET'],
    [303, 'PUT', 'GET'],
    [301, 'PUT', 'PUT'],
    [302, 'DELETE', 'DELETE'],
    [307, 'POST', 'POST'],
    [308, 'POST', 'POST'],
  ])('%i of %s goes on as %s', async (status, method, next) => {
    await using near = await redirecting(status, '/there');
    const given = { method, body: 'x', headers: { 'Content-Type': 'text/x', 'Content-Length': '1', 'x-key': 'k' } };
    const answer = await requested(`${near.url}/start`, given);
    expect(answer).toMatchObject({ status: 200, statusText: 'OK', contentType: 'text/plain', cut: false });
    const [, second] = near.received;
    expect(second).toMatchObject({ method: next, url: '/there', body: next === 'GET' ? '' : 'x' });
    expect(second?.headers['content-type']).toBe(next === 'GET' ? undefined : 'text/x');
    expect(second?.headers['content-length']).toBe(next === 'GET' ? undefined : '1');
    expect(second?.headers['x-key']).toBe('k');
  });

  it('303 of HEAD goes on as HEAD', async () => {
    await using near = await redirecting(303, '/there');
    expect(await requested(`${near.url}/start`, { method: 'HEAD' })).toMatchObject({ status: 200 });
    expect(near.received.map(({ method }) => method)).toEqual(['HEAD', 'HEAD']);
  });

  it('a body does not go to another origin', async () => {
    await using elsewhere = await service((_, response) => response.end('there'));
    await using away = await redirecting(307, `${elsewhere.url}/there?key=hidden`);
    await expect(requested(`${away.url}/start?key=hidden`, { method: 'POST', body: 'x' })).rejects.toThrow(
      `POST ${away.url}/start redirects (307) to ${elsewhere.url}/there; the body was not sent to another origin.`,
    );
    expect(elsewhere.received).toEqual([]);
  });

  it('there are five of them at most', async () => {
    let most = 5;
    await using chain = await service(({ url }, response: ServerResponse) => {
      const hop = Number(url.slice(1));
      if (hop === most) response.end('done');
      else response.writeHead(302, { location: `/${hop + 1}` }).end();
    });
    expect(textOf(await requested(`${chain.url}/0`))).toBe('done');
    most = 6;
    await expect(requested(`${chain.url}/0`)).rejects.toThrow(`${chain.url}/0 redirects more than 5 times.`);
    expect(chain.received).toHaveLength(12);
  });

  it('what leads nowhere is an answer or an error', async () => {
    await using wrong = await redirecting(302, 'http://');
    await expect(requested(`${wrong.url}/start`)).rejects.toThrow(`${wrong.url}/start redirects to an invalid URL.`);
    for (const status of [299, 300, 304, 400, 200]) {
      await using given = await service((_, response) =>
        response.writeHead(status, status === 300 || status === 304 ? {} : { location: '/there' }).end(),
      );
      expect(await requested(`${given.url}/start`)).toMatchObject({ status, contentType: '' });
      expect(given.received).toHaveLength(1);
    }
    await using choice = await redirecting(300, '/there');
    expect(textOf(await requested(`${choice.url}/start`))).toBe('done');
    await using guarded = await redirecting(302, 'http://10.0.0.1/');
    const { host } = new URL(guarded.url);
    await expect(requested(`${guarded.url}/start`, {}, { ...open, allowedHosts: [host] })).rejects.toThrow(
      'The host 10.0.0.1 is not allowed',
    );
  });
});

describe('REST tools: bodies', () => {
  it('a form is sent with its boundary', async () => {
    await using given = await service((_, response) => response.end());
    const body = new FormData();
    body.set('name', 'Ann');
    await requested(given.url, { method: 'POST', body, headers: { 'x-key': 'k' } });
    const [request] = given.received;
    const [, boundary = ''] =
      /^multipart\/form-data; boundary=(.+)$/.exec(request?.headers['content-type'] ?? '') ?? [];
    expect(request?.body.split(boundary)).toHaveLength(3);
    expect(request?.body).toContain('Ann');
    expect(request?.headers['x-key']).toBe('k');
    const headers = { 'x-key': 'k' };
    await requested(given.url, { method: 'POST', body: new Uint8Array([97, 98]), headers });
    expect(given.received[1]).toMatchObject({ body: 'ab' });
    expect(headers).toEqual({ 'x-key': 'k' });
  });

  it.each([
    [3, 'abc', true],
    [4, 'abcd', false],
    [5, 'abcd', false],
  ])('of 4 bytes at most %i are read: %s', async (maxBytes, read, cut) => {
    await using given = await service((_, response) => response.end('abcd'));
    const answer = await requested(given.url, {}, { ...open, maxBytes });
    expect([textOf(answer), answer.cut]).toEqual([read, cut]);
  });

  it('a connection that breaks says where and why; an abort is not one', async () => {
    await using broken = await service((_, response) => response.destroy());
    await expect(requested(`${broken.url}/a?key=hidden`)).rejects.toThrow(
      new RegExp(`^GET ${broken.url}/a failed: (?!fetch failed)\\S.+`),
    );
    await using half = await service((_, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('abc', () => response.destroy());
    });
    await expect(requested(half.url)).rejects.toThrow(`GET ${half.url}/ failed: `);
    await expect(requested(half.url, { signal: AbortSignal.abort(new Error('stopped')) })).rejects.toThrow(/^stopped$/);
  });
});
