import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server';

/** What a server of revision 2026-07-28 got over HTTP. */
export type Got = { method: string; params: Record<string, unknown>; headers: IncomingMessage['headers'] };

const schema = (properties: Record<string, Record<string, string>> = {}) => ({ type: 'object' as const, properties });
const tools = [
  { name: 'echo', inputSchema: schema({ text: { type: 'string', 'x-mcp-header': 'Text' } }) },
  { name: 'ask', inputSchema: schema() },
  { name: 'sample', inputSchema: schema() },
  { name: 'leak', inputSchema: schema() },
  { name: 'count', inputSchema: schema() },
  { name: 'odd', inputSchema: schema({ list: { type: 'array', 'x-mcp-header': 'List' } }) },
];
const nothing = { params: {}, headers: {} };
const text = (said: string) => ({ content: [{ type: 'text' as const, text: said }] });

/** A server of revision 2026-07-28 alone, over real HTTP. `lacking` refuses requests without this bearer token. */
export async function newestServer({ lacking, ttlMs = 60_000 }: { lacking?: string; ttlMs?: number } = {}) {
  const got: Got[] = [];
  let listed = tools;
  const handler = createMcpHandler(
    ({ requestInfo }) => {
      const capabilities = { tools: { listChanged: true } };
      const cacheHints = { 'tools/list': { ttlMs, cacheScope: 'private' as const } };
      const server = new Server({ name: 'newest', version: '1' }, { capabilities, cacheHints });
      server.setRequestHandler('tools/list', () => ({ tools: listed }));
      server.setRequestHandler('tools/call', ({ params: { name, arguments: given = {} } }, { mcpReq }) => {
        if (name === 'ask' && mcpReq.inputResponses === undefined) {
          const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } };
          const question = inputRequired.elicit({ mode: 'form', message: 'Your name?', requestedSchema });
          return inputRequired({ inputRequests: { question }, requestState: 'one' });
        }
        if (name === 'ask') return text(`${JSON.stringify(mcpReq.inputResponses)} ${mcpReq.requestState()}`);
        if (name === 'sample') {
          const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi.' } }];
          return inputRequired({ inputRequests: { reply: inputRequired.createMessage({ messages, maxTokens: 9 }) } });
        }
        if (name === 'leak') return text(`you sent ${requestInfo?.headers.get('authorization')}`);
        if (name === 'count') return { content: [], structuredContent: 3 };
        return text(String(given.text));
      });
      return server;
    },
    { legacy: 'reject' },
  );
  const listener = getRequestListener(async (request) => {
    const isPost = request.method === 'POST';
    const body: Got = isPost ? ((await request.clone().json()) as Got) : { method: request.method, ...nothing };
    got.push({ method: body.method, params: body.params, headers: Object.fromEntries(request.headers) });
    if (lacking !== undefined && request.headers.get('authorization') !== `Bearer ${lacking}`)
      return new Response('no', { status: 401 });
    return handler.fetch(request);
  });
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    got,
    methods: () => got.map(({ method }) => method),
    /** Changes the tools, and says so. */
    change: () => {
      listed = [{ name: 'added', inputSchema: schema() }];
      handler.notify.toolsChanged();
    },
    /** Breaks all connections, and changes the tools while nobody listens. */
    changeUnheard: () => {
      http.closeAllConnections();
      listed = [{ name: 'added', inputSchema: schema() }];
    },
    [Symbol.asyncDispose]: async () => {
      await handler.close();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}
