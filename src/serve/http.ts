import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Agent } from '../agent/definition.ts';
import { expected, messageOf, PawlError } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import { agentServer, type Sessions } from './agent-server.ts';
import type { HttpOptions, ServedAgent } from './serve-mcp.ts';

const mcpPath = '/mcp';
const mostClients = 1_000;
const mostBytes = 4 * 1_024 * 1_024;
const defaultGraceMs = 5_000;

/** A connected client; `calls` counts its unanswered requests. */
type Client = { transport: StreamableHTTPServerTransport; address: string; calls: number };

/** Serves over streamable HTTP. Each client gets an MCP session with its own id and server. */
export async function serveHttp(agent: Agent, sessions: Sessions, options: HttpOptions): Promise<ServedAgent> {
  const { port = 0, host = '127.0.0.1', disconnectGraceMs = defaultGraceMs } = options;
  const clients = new Clients();
  /** The signal that the client of the current HTTP request has gone. */
  const requests = new AsyncLocalStorage<AbortSignal>();
  const open = async (address: string): Promise<Client> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => clients.add(id, client),
      onsessionclosed: (id) => clients.remove(id),
    });
    const client: Client = { transport, address, calls: 0 };
    // The SDK class's types do not allow undefined callbacks.
    await agentServer(agent, sessions, () => requests.getStore() ?? null).server.connect(transport as Transport);
    return client;
  };
  let isLoopback = true;
  const http = createServer((request, response) => {
    handle(request, response).catch((error) =>
      refuse(response, error instanceof Refusal ? error.status : 500, messageOf(error)),
    );
  });
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    checkCaller(request, options, isLoopback);
    if (new URL(request.url ?? '/', 'http://x').pathname !== mcpPath)
      throw new Refusal(404, `the server is at ${mcpPath}`);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? clients.use(id) : undefined;
    if (id !== undefined && known === undefined) throw new Refusal(404, 'unknown session');
    const client = known ?? (await open(request.socket.remoteAddress ?? ''));
    const body = await bodyOf(request);
    if (request.method === 'POST') {
      client.calls += 1;
      response.once('close', () => {
        client.calls -= 1;
      });
    }
    await requests.run(vanishing(response, disconnectGraceMs), () =>
      client.transport.handleRequest(request, response, body),
    );
  };
  await listening(http, port, host);
  const closed = new Promise<void>((resolve) => http.once('close', resolve));
  const close = async () => {
    await clients.close();
    await sessions.ended();
    await closeHttp(http);
  };
  const { port: given, address } = http.address() as AddressInfo;
  isLoopback = ['127.0.0.1', '::1'].includes(address);
  const name = host.includes(':') ? `[${host}]` : host;
  return { url: `http://${name}:${given}${mcpPath}`, closed, close, [Symbol.asyncDispose]: close };
}

/** The clients by session id, the least recently used first. */
class Clients {
  private readonly byId = new Map<string, Client>();

  /**
   * Adds a client. Clients may leave without notice, so beyond the most one is dropped: the oldest idle one of the
   * address that has the most idle ones, so that no address can push out the clients of another.
   */
  add(id: string, client: Client): void {
    this.byId.set(id, client);
    if (this.byId.size <= mostClients) return;
    const idle = [...this.byId].filter(([, one]) => one !== client && one.calls === 0);
    const counts = new Map<string, number>();
    for (const [, { address }] of idle) counts.set(address, (counts.get(address) ?? 0) + 1);
    const [most] = [...counts].sort(([, one], [, other]) => other - one)[0] ?? [];
    const [dropped, its] = idle.find(([, { address }]) => address === most) ?? [];
    if (dropped === undefined) return;
    this.byId.delete(dropped);
    void its?.transport.close();
  }

  /** Returns a client, and makes it the most recently used. */
  use(id: string): Client | undefined {
    const client = this.byId.get(id);
    if (client !== undefined && this.byId.delete(id)) this.byId.set(id, client);
    return client;
  }

  remove(id: string): void {
    this.byId.delete(id);
  }

  async close(): Promise<void> {
    await Promise.all([...this.byId.values()].map(({ transport }) => transport.close()));
  }
}

/**
 * Returns a signal that aborts `graceMs` after the connection of an unfinished response has closed. The transport keeps
 * no events, so the client cannot resume the request.
 */
function vanishing(response: ServerResponse, graceMs: number): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (response.writableFinished) return;
    systemClock.alarm(graceMs, () => gone.abort(new Error('the client vanished')));
  });
  return gone.signal;
}

/** Refuses a request from a host or page that is not permitted, or without the token. */
function checkCaller({ headers }: IncomingMessage, { auth, hosts, origins = [] }: HttpOptions, isLoopback: boolean) {
  const { host = '', origin, authorization = '' } = headers;
  const hostIsKnown = hosts === undefined ? !isLoopback || isLoopbackHost(host) : hosts.includes(host);
  // A client that is not a browser sends no origin.
  const originIsKnown = origin === undefined || origins.includes(origin) || (isLoopback && isLoopbackOrigin(origin));
  // A web page must not reach a server on this machine under another host name.
  if (!hostIsKnown) throw new Refusal(403, 'host not allowed');
  if (!originIsKnown) throw new Refusal(403, 'origin not allowed');
  if (auth !== undefined && !isSame(authorization, `Bearer ${auth.bearer}`)) throw new Refusal(401, 'unauthorized');
}

/** Compares in a time that does not reveal where they differ. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

function isLoopbackHost(host: string | undefined): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/.test(host ?? '');
}

/** Whether the request comes from a local page, or from a client that is not a browser and sends no origin. */
function isLoopbackOrigin(origin: string | undefined): boolean {
  return origin === undefined || (URL.canParse(origin) && isLoopbackHost(new URL(origin).host));
}

class Refusal extends Error {
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
    const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
    // The rest of the request is not read.
    const fields = { 'content-type': 'application/json', connection: 'close', ...challenge };
    response.writeHead(status, fields).end(JSON.stringify(error));
  }
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > mostBytes) throw new Refusal(413, `the request is larger than ${mostBytes} bytes`);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
}

function listening(http: HttpServer, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const refused = (error: unknown) =>
      reject(new PawlError('invalid_options', `${expected('port', port, 'a free port')} ${messageOf(error)}`));
    http.once('error', refused);
    try {
      http.listen(port, host, resolve);
    } catch (error) {
      refused(error);
    }
  });
}

function closeHttp(http: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}
