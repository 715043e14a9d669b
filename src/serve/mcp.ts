import { randomUUID } from 'node:crypto';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Agent } from '../agent/definition.ts';
import { expected, messageOf, PawlError } from '../errors.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { SessionResult } from '../session/options.ts';
import { startSession } from '../session/start-session.ts';
import type { ServedAgent, ServeMcpOptions } from './serve-mcp.ts';

const mcpPath = '/mcp';
const mostClients = 1_000;
const mostBytes = 4 * 1_024 * 1_024;
const input = z.strictObject({ prompt: z.string().min(1) });
const inputSchema = {
  type: 'object' as const,
  properties: { prompt: { type: 'string', description: 'The task, with everything needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
};

/** Serves the agent over a transport until the server is closed or the client disconnects. */
export async function serve(agent: Agent, options: ServeMcpOptions): Promise<ServedAgent> {
  const { transport } = options;
  if (transport === 'stdio') return serveTransport(agent, options, stdio());
  if (!('http' in transport)) return serveTransport(agent, options, transport);
  return serveHttp(agent, options, transport.http);
}

async function serveTransport(agent: Agent, options: ServeMcpOptions, transport: Transport): Promise<ServedAgent> {
  const running = new Set<Promise<unknown>>();
  const { server, closed } = agentServer(agent, options, running);
  await server.connect(transport);
  const close = async () => {
    await server.close();
    await Promise.all(running);
  };
  return {
    url: null,
    closed: closed.then(() => Promise.all(running)).then(() => undefined),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Creates a stdio transport that closes when the client closes stdin, which aborts all running sessions. */
function stdio(): Transport {
  const transport = new StdioServerTransport();
  process.stdin.once('end', () => void transport.close());
  return transport;
}

/** A connected client; `calls` counts its unanswered requests. */
type Client = { transport: StreamableHTTPServerTransport; calls: number };

/** Serves over streamable HTTP. Each client gets an MCP session with its own id and server. */
async function serveHttp(
  agent: Agent,
  options: ServeMcpOptions,
  { port = 0, host = '127.0.0.1' }: { port?: number; host?: string },
): Promise<ServedAgent> {
  /** Clients by session id, the least recently used first. */
  const clients = new Map<string, Client>();
  const running = new Set<Promise<unknown>>();
  const open = async (): Promise<Client> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        clients.set(id, client);
        // Clients may leave without notice, so the oldest idle one is dropped. Clients with open calls are kept.
        const idle = [...clients].find(([, one]) => one !== client && one.calls === 0);
        if (clients.size > mostClients && idle !== undefined) {
          clients.delete(idle[0]);
          void idle[1].transport.close();
        }
      },
      onsessionclosed: (id) => void clients.delete(id),
    });
    const client: Client = { transport, calls: 0 };
    // The SDK class's types do not allow undefined callbacks.
    await agentServer(agent, options, running).server.connect(transport as Transport);
    return client;
  };
  let isLoopback = true;
  const http = createServer((request, response) => {
    handle(request, response).catch((error) =>
      refuse(response, error instanceof BadRequest ? error.status : 500, messageOf(error)),
    );
  });
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    // A web page must not reach a server on this machine under another host name.
    if (isLoopback && !(isLoopbackHost(request.headers.host) && isLoopbackOrigin(request.headers.origin)))
      return refuse(response, 403, 'host not allowed');
    if (new URL(request.url ?? '/', 'http://x').pathname !== mcpPath)
      return refuse(response, 404, `the server is at ${mcpPath}`);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? clients.get(id) : undefined;
    if (id !== undefined && known === undefined) return refuse(response, 404, 'unknown session');
    const client = known ?? (await open());
    if (typeof id === 'string' && clients.delete(id)) clients.set(id, client);
    if (request.method === 'POST') {
      client.calls += 1;
      response.once('close', () => {
        client.calls -= 1;
      });
    }
    await client.transport.handleRequest(request, response, await bodyOf(request));
  };
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: unknown) =>
      reject(new PawlError('invalid_options', `${expected('port', port, 'a free port')} ${messageOf(error)}`));
    http.once('error', refuse);
    try {
      http.listen(port, host, resolve);
    } catch (error) {
      refuse(error);
    }
  });
  const closed = new Promise<void>((resolve) => http.once('close', resolve));
  const close = async () => {
    await Promise.all([...clients.values()].map(({ transport }) => transport.close()));
    await Promise.all(running);
    await closeHttp(http);
  };
  const { port: given, address } = http.address() as AddressInfo;
  isLoopback = ['127.0.0.1', '::1'].includes(address);
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${name}:${given}${mcpPath}`, closed, close, [Symbol.asyncDispose]: close };
}

function isLoopbackHost(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host ?? '');
}

/** Whether the request comes from a local page, or from a client that is not a browser and sends no origin. */
function isLoopbackOrigin(origin: string | undefined): boolean {
  return origin === undefined || (URL.canParse(origin) && isLoopbackHost(new URL(origin).host));
}

class BadRequest extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) response.end();
  else {
    const error = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null };
    // The rest of the request is not read.
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(JSON.stringify(error));
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > mostBytes) throw new BadRequest(413, `the request is larger than ${mostBytes} bytes`);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new BadRequest(400, 'the body is not JSON');
  }
}

function closeHttp(http: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

/** Creates the server for one client, with the agent as its only tool. */
function agentServer(
  agent: Agent,
  { logger, budget, onEvent }: ServeMcpOptions,
  /** The sessions in progress. */
  running: Set<Promise<unknown>>,
): { server: Server; closed: Promise<void> } {
  const server = new Server({ name: agent.name, version: '1.0.0' }, { capabilities: { tools: {} } });
  const gone = new AbortController();
  const description = agent.definition.description ?? `Gives a task to the agent ${agent.name} and returns its report.`;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: agent.name, description, inputSchema }] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    if (params.name !== agent.name) throw new McpError(ErrorCode.InvalidParams, `unknown tool ${params.name}`);
    const parsed = input.safeParse(params.arguments);
    if (!parsed.success)
      throw new McpError(ErrorCode.InvalidParams, `the input must be { prompt }: ${parsed.error.issues[0]?.message}`);
    const progressToken = params._meta?.progressToken;
    let progress = 0;
    const session = startSession(agent, {
      prompt: parsed.data.prompt,
      signal: AbortSignal.any([signal, gone.signal]),
      ...(logger !== undefined && { logger }),
      ...(budget !== undefined && { budget }),
      onEvent: (event) => {
        const message = progressToken === undefined ? null : progressOf(event);
        if (message !== null && progressToken !== undefined) {
          progress += 1;
          const notice = { method: 'notifications/progress' as const, params: { progressToken, progress, message } };
          // The client may have disconnected.
          sendNotification(notice).catch(() => undefined);
        }
        return onEvent?.(event);
      },
    });
    running.add(session.result);
    const result = await session.result;
    running.delete(session.result);
    return resultOf(result);
  });
  const closed = new Promise<void>((resolve) => {
    server.onclose = () => {
      gone.abort(new Error('the client disconnected'));
      resolve();
    };
  });
  return { server, closed };
}

/** Returns the progress message for an event, or null if the event is not forwarded. */
function progressOf(event: SessionEvent): string | null {
  const where = event.path.length === 0 ? '' : `${event.path.join(' > ')}: `;
  switch (event.type) {
    case 'attempt.started':
      return `${where}turn ${event.turn}, attempt ${event.attempt}`;
    case 'attempt.failed':
      return `${where}turn ${event.turn}, attempt ${event.attempt} failed: ${event.slugs.join(', ')}`;
    case 'tool.answered':
      return `${where}${event.name}: ${event.slug ?? 'done'}`;
    case 'progress.reported':
      return `${where}${event.message}`;
    default:
      return null;
  }
}

function resultOf({ success, report, slugs }: SessionResult): CallToolResult {
  const { content } = report;
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const isObject = typeof content === 'object' && content !== null && !Array.isArray(content);
  return {
    content: [{ type: 'text', text }],
    ...(isObject && { structuredContent: { ...content } }),
    ...(!success && { isError: true, _meta: { slugs } }),
  };
}
