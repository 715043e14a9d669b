import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js';
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';

/** A server of the earlier package over HTTP with SSE, and the requests that it got. */
export async function sseServer() {
  const got: string[] = [];
  let transport: SSEServerTransport | null = null;
  const http = createServer(async (request, response) => {
    const path = new URL(request.url ?? '/', 'http://x').pathname;
    got.push(`${request.method} ${path}`);
    if (request.method === 'POST' && path === '/messages') return transport?.handlePostMessage(request, response);
    if (request.method !== 'GET') return response.writeHead(405).end();
    transport = new SSEServerTransport('/messages', response);
    const server = new Server({ name: 'old', version: '1' }, { capabilities: { tools: {} } });
    const tools = [{ name: 'look', inputSchema: { type: 'object' as const } }];
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }));
    server.setRequestHandler(CallToolRequestSchema, () => ({ content: [{ type: 'text', text: 'seen' }] }));
    await server.connect(transport);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/sse`,
    got,
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}
