import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import { PawlError, type SessionEvent } from '../../src/index.ts';
import { openaiHandler, serveOpenai } from '../../src/openai/index.ts';
import { ask, served, texter } from '../support/openai.ts';
import { patient } from '../support/tools.ts';

describe('the callers of serveOpenai', () => {
  it('callers are checked as by serveMcp: the host, the origin and the token', async () => {
    const bearer = 'a-token-of-some-length';
    await using server = await served([texter([{ text: 'Hi.' }])], { http: { auth: { bearer } } });
    const status = async (headers: Record<string, string>) => {
      const { port } = new URL(server.url);
      const sent = httpRequest({ port, host: '127.0.0.1', path: '/v1/models', headers });
      sent.end();
      const [response] = await once(sent, 'response');
      response.resume();
      return response.statusCode;
    };
    const authorization = `Bearer ${bearer}`;
    expect(await status({ authorization })).toBe(200);
    expect(await status({})).toBe(401);
    expect(await status({ authorization, host: 'evil.example' })).toBe(403);
    expect(await status({ authorization, origin: 'https://evil.example' })).toBe(403);
    await expect(serveOpenai([texter([])], { http: { host: '0.0.0.0' } })).rejects.toThrow(
      '`http.auth` is required to serve on 0.0.0.0, which others can reach.',
    );
    await expect(serveOpenai([texter([])], { http: { disconnectGraceMs: 5 } as object })).rejects.toThrow(
      'Unknown option `http.disconnectGraceMs`.',
    );
    await expect(serveOpenai([])).rejects.toThrow(PawlError);
    await expect(serveOpenai([texter([]), texter([])])).rejects.toThrow('distinct names; got "texter" twice');
  });

  it('a page of a permitted origin may ask, and read the answer; another may not', async () => {
    const bearer = 'a-token-of-some-length';
    const origins = ['https://app.example'];
    await using server = await served([texter([])], { http: { auth: { bearer }, origins } });
    const asked = (origin: string) =>
      fetch(`${server.url}/chat/completions`, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'authorization,content-type',
        },
      });
    const preflight = await asked('https://app.example');
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization,content-type');
    const headers = { origin: 'https://app.example', authorization: `Bearer ${bearer}` };
    const listed = await fetch(`${server.url}/models`, { headers });
    expect([listed.status, listed.headers.get('access-control-allow-origin')]).toEqual([200, 'https://app.example']);
    expect((await asked('https://evil.example')).status).toBe(403);
  });

  it('a server that closes ends its answers', async () => {
    const waits = texter([{ calls: [{ name: 'patient', input: {} }] }], { tools: { patient } });
    const server = await served([waits]);
    const post = (stream: boolean) =>
      fetch(`${server.url}/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'texter', ...ask, stream }),
      });
    const [streaming, whole] = [post(true), post(false)];
    await expect.poll(() => server.events.filter(({ type }) => type === 'tool.started').length).toBe(2);
    await server.close();
    expect(await (await streaming).text()).toMatch(/"code":"aborted"[\s\S]*data: \[DONE\]\n\n$/);
    expect((await whole).status).toBe(422);
  });

  it('a quiet stream is kept open by comments, until its client leaves', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const events: SessionEvent[] = [];
      const onEvent = (event: SessionEvent) => void events.push(event);
      const handler = openaiHandler([texter([{ hangs: true }])], { logger: false, onEvent });
      const body = JSON.stringify({ model: 'texter', ...ask, stream: true });
      const response = await handler(new Request('http://x.example/v1/chat/completions', { method: 'POST', body }));
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      expect((await reader?.read())?.value).toContain('"role":"assistant"');
      for (let times = 0; times < 2; times += 1) {
        await vi.advanceTimersByTimeAsync(15_000);
        expect((await reader?.read())?.value).toBe(': working\n\n');
      }
      await reader?.cancel();
      await handler.ended();
      expect(events.at(-1)?.type).toBe('session.aborted');
    } finally {
      vi.useRealTimers();
    }
  });

  it('more sessions than may run at once are refused', async () => {
    const waits = texter([{ calls: [{ name: 'patient', input: {} }] }], { tools: { patient } });
    await using server = await served([waits], { maxSessions: 1 });
    const first = server.client.chat.completions.create({ model: 'texter', ...ask }).catch(() => undefined);
    await expect.poll(() => server.events.some(({ type }) => type === 'tool.started')).toBe(true);
    const second = await server.client.chat.completions.create({ model: 'texter', ...ask }).catch((error) => error);
    expect(second).toMatchObject({ status: 429, code: 'too_many_sessions' });
    await server.close();
    await first;
  });
});
