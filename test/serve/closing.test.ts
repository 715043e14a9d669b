import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, it } from 'vitest';
import { defineAgent, type SessionEvent, serveMcp } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { json, service } from '../support/service.ts';

it('D-2: a server that is closing begins no session', async () => {
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  // A session of the agent ends only once its own MCP server has answered that it is over.
  await using tools = await service(({ method, body }, response) => {
    if (method === 'DELETE') return void told.then(() => response.writeHead(200).end());
    if (method !== 'POST') return response.writeHead(405).end();
    const { id, method: asked } = JSON.parse(body);
    if (id === undefined) return response.writeHead(202).end();
    response.setHeader('mcp-session-id', 'one');
    const serverInfo = { name: 's', version: '1' };
    const server = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo };
    return json(response, { jsonrpc: '2.0', id, result: asked === 'initialize' ? server : { tools: [] } });
  });
  const models = [rehearsalModel([{ hangs: true }])];
  const agent = defineAgent({ name: 'helper', models, mcpServers: { tools: { url: tools.url } } });
  const begun: string[] = [];
  const [running, aborting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const onEvent = ({ type, sessionId }: SessionEvent) => {
    if (type === 'session.started') begun.push(sessionId);
    if (type === 'attempt.started') running.resolve();
    if (type === 'session.aborting') aborting.resolve();
  };
  const served = await serveMcp(agent, { transport: { http: {} }, logger: false, onEvent });
  const url = served.url ?? '';
  const client = new Client({ name: 'test', version: '1' });
  // The SDK class's types do not allow undefined callbacks.
  await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Parameters<Client['connect']>[0]);
  client.callTool({ name: 'helper', arguments: { prompt: 'x' } }).catch(() => undefined);
  await running.promise;
  const closed = served.close();
  await aborting.promise;
  const late = await fetch(url, { method: 'POST', body: '{}' });
  expect([late.status, await late.text()]).toEqual([503, expect.stringContaining('the server is closing')]);
  tell();
  await closed;
  expect(begun).toHaveLength(1);
});
