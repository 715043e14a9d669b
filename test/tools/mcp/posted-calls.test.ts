import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tool } from 'ai';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { defineAgent, mcpPool } from '../../../src/index.ts';
import { rehearsalModel } from '../../../src/testing/index.ts';
import { until } from '../../support/journaled.ts';
import { callsIn, counters, report, run } from '../../support/session.ts';

type Message = { id?: number; method?: string };
const eventStream = { 'content-type': 'text/event-stream' };
const result = { content: [{ type: 'text', text: 'gone' }] };

/** A server over HTTP with one tool, which answers a call as `answer` does. Returns its address and its open sockets. */
async function serverOf(
  answer: (response: ServerResponse, id: number, posted: (then: () => void) => void) => void,
  streams = false,
) {
  const sockets = new Set<Socket>();
  let onPost = () => {};
  let own: ServerResponse | null = null;
  const methods: string[] = [];
  const server = createServer(async (request, response) => {
    if (request.method === 'DELETE') methods.push(`DELETE ${request.headers['mcp-session-id']}`);
    if (request.method === 'GET') methods.push(`GET after ${request.headers['last-event-id']}`);
    if (request.method === 'GET' && request.url?.endsWith('?stream')) {
      own = response.writeHead(200, eventStream);
      return void response.write(': hello\n\n');
    }
    if (request.method !== 'POST') return void response.writeHead(request.method === 'GET' ? 405 : 200).end();
    const { id, method }: Message = JSON.parse(Buffer.concat(await request.toArray()).toString());
    if (method !== undefined) methods.push(method);
    const say = (value: object) => {
      response.writeHead(200, streams ? eventStream : { 'content-type': 'application/json' });
      const said = JSON.stringify({ jsonrpc: '2.0', id, result: value });
      response.end(streams ? `data: ${said}\n\n` : said);
    };
    onPost();
    if (id === undefined || method === undefined) return void response.writeHead(202).end();
    if (method === 'tools/call')
      return answer(response, id, (then) => {
        onPost = () => {
          onPost = () => {};
          then();
        };
      });
    if (method === 'tools/list') return say({ tools: [{ name: 'go', inputSchema: { type: 'object' } }] });
    if (method === 'ping') return say(request.url?.endsWith('?nonsense') ? [] : {});
    response.setHeader('mcp-session-id', 'one');
    const serverInfo = { name: 'odd', version: '1' };
    return say({ protocolVersion: '2025-06-18', capabilities: { tools: { listChanged: true } }, serverInfo });
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sockets, methods, own: () => own };
}

const agentOf = (server: object, limits = {}) =>
  defineAgent({
    name: 'calling',
    models: [rehearsalModel([{ calls: [{ name: 's__go', input: {} }] }, report()])],
    mcpServers: { s: server as never },
    limits,
  });
const answered = (toolCalls: object, tokens: object) =>
  counters({
    ...{ turns: 2, attempts: 2, tokens: tokens as never, costUsd: null, reports: { attempted: 1 } },
    toolCalls: { requested: 2, executed: 1, acknowledged: 1, answered: 2, ...toolCalls },
  });

describe('C-1: a call over HTTP whose response ends without an answer', () => {
  it.each<[string, (response: ServerResponse) => void, string]>([
    [
      'as a server that closes',
      (response) => response.writeHead(200, eventStream).end(': bye\n\n'),
      'its response ended before that',
    ],
    [
      'in the middle',
      (response) => {
        response.writeHead(200, eventStream).write(': wait\n\n');
        setImmediate(() => response.socket?.resetAndDestroy());
      },
      'its response ended before that',
    ],
    [
      'as a notification',
      (response) => response.writeHead(202).end(),
      'it accepted the call as if it were a notification',
    ],
  ])('%s, is answered at once', async (_, answer, why) => {
    const { url } = await serverOf(answer);
    const { result: ended } = await run({ agent: agentOf({ url }) });
    expect(callsIn(ended)[0]).toMatchObject({
      slug: 'tool_exec_failed',
      result: {
        message: expect.stringContaining(`The server s gave no answer to the call, which may have run: ${why}.`),
      },
    });
    expect(ended.counters).toEqual(answered({ failed: 1 }, ended.counters.tokens));
  });

  it('is answered by its last event, however soon the response ends', async () => {
    const { url, methods } = await serverOf((response, id) => {
      response.writeHead(200, eventStream);
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    });
    const pool = mcpPool({ s: { url } });
    const { result: ended } = await run({ agent: agentOf(pool.servers.s as object) });
    expect(callsIn(ended)[0]?.slug).toBeNull();
    expect(ended.counters).toEqual(answered({ succeeded: 1 }, ended.counters.tokens));
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    await pool.close();
    expect(methods).not.toContain('notifications/cancelled');
  });

  it('is fetched again if its events have ids', async () => {
    const { url, methods } = await serverOf((response) =>
      response.writeHead(200, eventStream).end('id: 1\nretry: 20\ndata:\n\n'),
    );
    const { result: ended } = await run({ agent: agentOf({ url }, { toolTimeoutMs: 300 }) });
    expect(callsIn(ended)[0]?.slug).toBe('tool_timeout');
    expect(methods).toEqual(expect.arrayContaining(['GET after 1', 'notifications/cancelled']));
  });
});

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;

describe('C-1: what the client posts during a call', () => {
  it.each([
    ['its answer to a ping', { id: 900, method: 'ping' }],
    [
      'its answer to a question',
      {
        id: 901,
        method: 'elicitation/create',
        params: { message: 'x', requestedSchema: { type: 'object', properties: {} } },
      },
    ],
    ['a request for a changed list', { method: 'notifications/tools/list_changed' }],
  ])('%s, is not taken for the call', async (_, message) => {
    const { url } = await serverOf((response, id, posted) => {
      response.writeHead(200, eventStream).write(event(message));
      posted(async () => {
        for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
        response.end(event({ id, result }));
      });
    }, true);
    const handlers = { elicit: async () => ({ action: 'accept' as const, content: {} }) };
    const { result: ended } = await run({ agent: agentOf({ url, handlers }, { toolTimeoutMs: 5_000 }) });
    expect(callsIn(ended)[0]?.slug).toBeNull();
    expect(ended.counters).toEqual(answered({ succeeded: 1 }, ended.counters.tokens));
  });

  it('an answer that comes in the stream of the server counts', async () => {
    const { url, own } = await serverOf((response, id) => {
      response.writeHead(202).end();
      response.once('close', () => own()?.write(event({ id, result })));
    });
    const { result: ended } = await run({ agent: agentOf({ url: `${url}?stream` }, { toolTimeoutMs: 5_000 }) });
    expect(callsIn(ended)[0]?.slug).toBeNull();
  });
});

it('D-2: a server that answers a ping with nonsense is lost, and told that its session is over', async () => {
  const { url, methods } = await serverOf((response) => response.writeHead(200, eventStream).end());
  // The session lasts until the ping is answered.
  const look = tool({ inputSchema: z.object({}), execute: () => until(() => methods.includes('DELETE one')) });
  const calls = [{ name: 's__go', input: {} }];
  const agent = defineAgent({
    name: 'calling',
    models: [rehearsalModel([{ calls }, { calls: [{ name: 'look', input: {} }] }, report()])],
    mcpServers: { s: { url: `${url}?nonsense` } },
    tools: { look },
  });
  const { result: ended, events } = await run({ agent });
  expect(ended.counters).toEqual(
    counters({
      ...{ turns: 3, attempts: 3, tokens: ended.counters.tokens, costUsd: null, reports: { attempted: 1 } },
      toolCalls: { requested: 3, executed: 2, failed: 1, succeeded: 1, acknowledged: 1, answered: 3 },
    }),
  );
  expect(events.map(({ type }) => type)).toContain('server.lost');
});

it('D-2: a call that was cut off leaves no connection open', async () => {
  const { url, sockets } = await serverOf((response) => response.writeHead(200, eventStream).write(': wait\n\n'));
  const pool = mcpPool({ s: { url } });
  for (let index = 0; index < 4; index += 1) {
    const { result: ended } = await run({ agent: agentOf(pool.servers.s as object, { toolTimeoutMs: 50 }) });
    expect(callsIn(ended)[0]?.slug).toBe('tool_timeout');
  }
  expect(sockets.size).toBeLessThan(4);
  await pool.close();
});
