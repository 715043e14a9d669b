import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, it, onTestFinished } from 'vitest';
import { counters, report, runOverWire, tokensOf } from '../../support/session.ts';

/** A server of the revisions of 2025 that keeps sessions: without one, it answers nothing but `initialize`. */
async function oldServer(): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const say = (status: number, body: object, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id, method, params } = JSON.parse(text);
    asked.push(method);
    const error = { code: -32_001, message: 'Session not found' };
    const results: Record<string, object> = {
      initialize: {
        ...{ protocolVersion: params?.protocolVersion, capabilities: { tools: {} } },
        serverInfo: { name: 'old', version: '1' },
      },
      'tools/list': { tools: [{ name: 'get', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: 'got it' }] },
    };
    const isNew = method === 'initialize';
    if (!isNew && request.headers['mcp-session-id'] !== 's1') return say(404, { jsonrpc: '2.0', error, id: null });
    if (id === undefined) return response.writeHead(202).end();
    say(200, { jsonrpc: '2.0', id, result: results[method] ?? {} }, isNew ? { 'mcp-session-id': 's1' } : {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, asked };
}

it.each([
  ['its own', (url: string) => ({ url })],
  [
    'one that a function makes with the old package',
    (url: string) => ({ transport: () => new StreamableHTTPClientTransport(new URL(url)) }),
  ],
])('a server of 2025 that keeps sessions is connected over a transport: %s', async (_, server) => {
  const { url, asked } = await oldServer();
  const { result } = await runOverWire({
    script: [{ calls: [{ name: 'srv__get', input: {} }] }, report()],
    definition: { mcpServers: { srv: server(url) } as never },
  });
  expect([result.status, JSON.stringify(result.conversation)]).toEqual([
    'succeeded',
    expect.stringContaining('got it'),
  ]);
  expect(result.counters).toEqual(
    counters({
      ...{ turns: 2, attempts: 2, reports: { attempted: 1 }, tokens: tokensOf(2), costUsd: null },
      toolCalls: { requested: 2, answered: 2, executed: 1, succeeded: 1, acknowledged: 1 },
    }),
  );
  expect(asked.filter((method) => method === 'tools/call')).toEqual(['tools/call']);
});
