import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import { defineAgent, type ServeMcpOptions, type SessionEvent, serveMcp } from '../../src/index.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { keptLog, report } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

const { logger } = keptLog();
const token = 'a-token-of-many-characters';

const served = (
  replies: RehearsalScript,
  http: object = {},
  over: Partial<ServeMcpOptions> = {},
  definition: object = {},
) =>
  serveMcp(defineAgent({ name: 'helper', models: [rehearsalModel(replies)], ...definition }), {
    transport: { http },
    logger,
    ...over,
  });

async function clientOf(url: string | null, headers: Record<string, string> = {}, answer?: () => ElicitResult) {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: answer === undefined ? {} : { elicitation: { form: {} } } },
  );
  if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, answer);
  const transport = new StreamableHTTPClientTransport(new URL(url ?? ''), { requestInit: { headers } });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client;
}

const call = { name: 'helper', arguments: { prompt: 'x' } };
const hello = {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  body: JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  }),
};

describe('serving to strangers', () => {
  it.each([
    [{ host: '0.0.0.0' }, ['auth', 'hosts', 'origins']],
    [{ host: 'example.com', auth: { bearer: token } }, ['hosts', 'origins']],
    [{ host: '::', auth: { bearer: token }, hosts: ['me'] }, ['origins']],
  ])('off loopback it refuses to start without a token and lists: %j', async (http, lacking) => {
    const problems = lacking.map((name) => `\`transport.http.${name}\` is required to serve on ${http.host}`);
    await expect(served([report()], http)).rejects.toThrow(problems[0]);
    for (const problem of problems) await expect(served([report()], http)).rejects.toThrow(problem);
  });

  it('a short token is refused', async () => {
    await expect(served([report()], { auth: { bearer: 'short' } })).rejects.toThrow(
      '`transport.http.auth.bearer` must be a token of at least 16 characters; got a string.',
    );
  });

  it('off loopback it answers only the token, the hosts and the origins that are named', async () => {
    const http = {
      host: '0.0.0.0',
      auth: { bearer: token },
      hosts: ['agents.example'],
      origins: ['https://app.example'],
    };
    await using server = await served([report()], http);
    const url = (server.url ?? '').replace('0.0.0.0', '127.0.0.1');
    const status = async (headers: Record<string, string>) => {
      // fetch sets the host itself, so the request is made by hand.
      const { request } = await import('node:http');
      const sent = request(url, { method: 'POST', headers: { ...hello.headers, ...headers } }).end(hello.body);
      const [response] = await once(sent, 'response');
      response.resume();
      return response.statusCode;
    };
    const authorization = `Bearer ${token}`;
    expect(await status({ host: 'agents.example', authorization })).toBe(200);
    expect(await status({ host: 'agents.example', authorization, origin: 'https://app.example' })).toBe(200);
    expect(await status({ host: 'agents.example:8443', authorization: `bearer ${token}` })).toBe(200);
    expect(await status({ host: 'agents.example' })).toBe(401);
    expect(await status({ host: 'agents.example', authorization: token })).toBe(401);
    expect(await status({ host: 'agents.example', authorization: `${authorization}x` })).toBe(401);
    expect(await status({ host: 'evil.example', authorization })).toBe(403);
    expect(await status({ host: 'agents.example', authorization, origin: 'https://evil.example' })).toBe(403);
    expect(await status({ host: 'agents.example', authorization, origin: 'http://localhost:3000' })).toBe(403);
  });

  it('a page of a named origin may ask before it calls, and read the answer', async () => {
    await using server = await served([report()], { auth: { bearer: token }, origins: ['https://app.example'] });
    const ask = (origin: string) =>
      fetch(server.url ?? '', { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });
    const preflight = await ask('https://app.example');
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([
      204,
      'https://app.example',
    ]);
    expect((await ask('https://evil.example')).status).toBe(403);
    // The origins that are named are all that there are, on loopback too.
    expect((await ask('http://localhost:3000')).status).toBe(403);
    const refused = await fetch(server.url ?? '', {
      ...hello,
      headers: { ...hello.headers, origin: 'https://app.example' },
    });
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, 'https://app.example']);
    const client = await clientOf(server.url, { authorization: `Bearer ${token}`, origin: 'https://app.example' });
    expect((await client.listTools()).tools).toHaveLength(1);
    await client.close();
  });

  it('a token works on loopback too', async () => {
    await using server = await served([report('In.')], { auth: { bearer: token } });
    expect((await fetch(server.url ?? '', hello)).status).toBe(401);
    const client = await clientOf(server.url, { authorization: `Bearer ${token}` });
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'In.' }] });
    await client.close();
  });

  it('calls beyond maxSessions get a clear error, and the next one after an end works', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<string>();
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    const script: RehearsalScript = ({ index }) => (index === 0 ? { calls: [{ name: 'slow' }] } : report('Done.'));
    await using server = await served(
      script,
      {},
      { maxSessions: 1, onEvent: (event) => event.type === 'tool.started' && begin() },
      { tools: { slow: () => held } },
    );
    const [one, other] = [await clientOf(server.url), await clientOf(server.url)];
    const first = one.callTool(call);
    await began;
    await expect(other.callTool(call)).rejects.toThrow(
      'the server already runs 1 sessions, its limit (maxSessions); try again later',
    );
    release('found');
    expect(await first).toMatchObject({ content: [{ text: 'Done.' }] });
    expect(await other.callTool(call)).toMatchObject({ content: [{ text: 'Done.' }] });
    await Promise.all([one.close(), other.close()]);
  });

  it('D-2: a client that vanishes during a call aborts its session after the grace', async () => {
    const ended: string[] = [];
    const { promise: began, resolve: begin } = Promise.withResolvers<void>();
    await using server = await served(
      [{ hangs: true }],
      { disconnectGraceMs: 20 },
      {
        onEvent: (event: SessionEvent) => {
          if (event.type === 'attempt.started') begin();
          if (event.type === 'session.aborted') ended.push(event.failure.detail ?? '');
        },
      },
    );
    const opened = await fetch(server.url ?? '', hello);
    const id = opened.headers.get('mcp-session-id') ?? '';
    await opened.text();
    const leave = new AbortController();
    const body = JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: call });
    const asked = fetch(server.url ?? '', {
      ...hello,
      headers: { ...hello.headers, 'mcp-session-id': id },
      body,
      signal: leave.signal,
    });
    asked.then((response) => response.text()).catch(() => undefined);
    await began;
    leave.abort();
    await expect.poll(() => ended).toEqual(['the client vanished']);
  });

  const approvals = [{ calls: [{ name: 'guarded', input: { path: '/a' } }] }, report('Done.')];
  it.each<[string, (() => ElicitResult) | undefined, string, string | null]>([
    ['accepts', () => ({ action: 'accept', content: { approve: true } }), 'done', null],
    ['answers no', () => ({ action: 'accept', content: { approve: false } }), 'tool_denied', 'Declined by the user.'],
    ['declines', () => ({ action: 'decline' }), 'tool_denied', 'Declined by the user.'],
    ['dismisses', () => ({ action: 'cancel' }), 'tool_denied', 'Dismissed by the user.'],
    [
      'breaks',
      () => {
        throw new Error('no screen');
      },
      'tool_denied',
      'The client could not be asked: no screen',
    ],
    ['cannot be asked', undefined, 'tool_denied', 'The MCP client cannot ask a person for approval (elicitation).'],
  ])('a call that needs approval, whose client %s: %s', async (_what, answer, outcome, reason) => {
    const heard: SessionEvent[] = [];
    const over = { onEvent: (event: SessionEvent) => void heard.push(event) };
    await using server = await served(approvals, {}, over, { tools: { guarded } });
    const client = await clientOf(server.url, {}, answer);
    expect(await client.callTool(call)).toMatchObject({ content: [{ text: 'Done.' }] });
    expect(heard[0]?.type).toBe('session.started');
    const [answered] = heard.flatMap((event) => (event.type === 'tool.answered' ? [event.slug ?? 'done'] : []));
    expect(answered).toBe(outcome);
    const reasons = heard.flatMap((event) => (event.type === 'tool.denied' ? [event.reason] : []));
    expect(reasons).toEqual(reason === null ? [] : [reason]);
    await client.close();
  });
});
