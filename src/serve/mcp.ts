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
import type { Agent } from '../agent-definition.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import type { SessionEvent } from '../observe/events.ts';
import { stderrLogger } from '../observe/log.ts';
import type { SessionResult } from '../session.ts';
import { startSession } from '../start-session.ts';
import type { ServedAgent, ServeMcpOptions } from './serve-mcp.ts';

const mcpPath = '/mcp';
const mostClients = 1_000;
const mostBytes = 4 * 1_024 * 1_024;
const input = z.strictObject({ prompt: z.string().min(1) });
const inputSchema = {
  type: 'object' as const,
  properties: { prompt: { type: 'string', description: 'The task, with all that is needed to do it.' } },
  required: ['prompt'],
  additionalProperties: false,
};

/** Serves the agent over a transport, until it is closed or its peer is gone. */
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

/** When the client closes our input it is gone: what runs is aborted. */
function stdio(): Transport {
  const transport = new StdioServerTransport();
  process.stdin.once('end', () => void transport.close());
  return transport;
}

/** `calls`: requests of it that have no answer yet. */
type Client = { transport: StreamableHTTPServerTransport; calls: number };

/** Streamable HTTP: each client has a session, and a server of its own, by the id that it was given. */
async function serveHttp(
  agent: Agent,
  options: ServeMcpOptions,
  { port = 0, host = '127.0.0.1' }: { port?: number; host?: string },
): Promise<ServedAgent> {
  /** The one that was used longest ago comes first. */
  const clients = new Map<string, Client>();
  const running = new Set<Promise<unknown>>();
  const open = async (): Promise<Client> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        clients.set(id, client);
        // Clients that go without a word are not kept for ever; one that waits for an answer has not gone.
        const idle = [...clients].find(([, one]) => one !== client && one.calls === 0);
        if (clients.size > mostClients && idle !== undefined) {
          clients.delete(idle[0]);
          void idle[1].transport.close();
        }
      },
      onsessionclosed: (id) => void clients.delete(id),
    });
    const client: Client = { transport, calls: 0 };
    // The SDK's own class does not say that its callbacks may be undefined.
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
    // A page in a browser must not reach a server on this machine under another name.
    if (isLoopback && !(isLoopbackHost(request.headers.host) && isLoopbackOrigin(request.headers.origin)))
      return refuse(response, 403, 'this host is not served');
    if (new URL(request.url ?? '/', 'http://x').pathname !== mcpPath)
      return refuse(response, 404, `the server is at ${mcpPath}`);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? clients.get(id) : undefined;
    if (id !== undefined && known === undefined) return refuse(response, 404, 'there is no such session');
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
      reject(new PawlError('invalid_options', `port is ${shown(port)}: a free port is needed (${messageOf(error)}).`));
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

/** Pages say where they come from; other clients say nothing. */
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
    // What is left of the request is not read.
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
    if (length > mostBytes) throw new BadRequest(413, `the request has more than ${mostBytes} bytes`);
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

/** One client's server: the agent is its one tool. */
function agentServer(
  agent: Agent,
  { logger = stderrLogger('warn'), budget, onEvent }: ServeMcpOptions,
  /** The sessions that have not ended yet. */
  running: Set<Promise<unknown>>,
): { server: Server; closed: Promise<void> } {
  const server = new Server({ name: agent.name, version: '1.0.0' }, { capabilities: { tools: {} } });
  const gone = new AbortController();
  const description =
    agent.definition.description ?? `Gives a task to the agent ${agent.name}, and gives its report back.`;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [{ name: agent.name, description, inputSchema }] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
    if (params.name !== agent.name) throw new McpError(ErrorCode.InvalidParams, `there is no tool ${params.name}`);
    const parsed = input.safeParse(params.arguments);
    if (!parsed.success)
      throw new McpError(ErrorCode.InvalidParams, `the input is not { prompt }: ${parsed.error.issues[0]?.message}`);
    const progressToken = params._meta?.progressToken;
    let progress = 0;
    const session = startSession(agent, {
      prompt: parsed.data.prompt,
      signal: AbortSignal.any([signal, gone.signal]),
      logger,
      ...(budget !== undefined && { budget }),
      onEvent: (event) => {
        const message = progressToken === undefined ? null : progressOf(event);
        if (message !== null && progressToken !== undefined) {
          progress += 1;
          const notice = { method: 'notifications/progress' as const, params: { progressToken, progress, message } };
          // A client that is gone is told nothing more.
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
      gone.abort(new Error('the client is gone'));
      resolve();
    };
  });
  return { server, closed };
}

/** What a client is told of a session that runs. */
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
