import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Agent } from '../agent/definition.ts';
import { systemClock } from '../host/clock.ts';
import { messageOf } from '../input/errors.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import { depthProblem } from '../platform/plain-json.ts';
import { agentServer, type StartedCall } from './agent-server.ts';
import { answered, answersPage, closeHttp, listening, Refusal } from './callers.ts';
import { type Client, Clients } from './clients.ts';
import { answerFor } from './given.ts';
import type { HttpOptions } from './http-options.ts';
import type { ServedAgent } from './served-agent.ts';
import type { ServerSessions } from './sessions.ts';

const mcpPath = '/mcp';
const mostBytes = 4 * 1_024 * 1_024;
const defaultGraceMs = 5_000;

type ConnectedClient = Client & { transport: StreamableHTTPServerTransport };

/** Serves over streamable HTTP. Each client gets an MCP session with its own id and server. */
export async function serveHttp(
  agent: Agent,
  sessions: ServerSessions,
  options: HttpOptions,
  logger: LoggerOption | undefined,
): Promise<ServedAgent> {
  const { disconnectGraceMs = defaultGraceMs } = options;
  const clients = new Clients<ConnectedClient>();
  /** Cancel the pending aborts for clients that vanished. */
  const alarms = new Set<() => void>();
  /** The current HTTP request: the signal that its client has gone, and whether it holds one message. */
  const requests = new AsyncLocalStorage<{ gone: AbortSignal; isAlone: boolean }>();
  const open = async (address: string): Promise<ConnectedClient> => {
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => clients.add(id, client),
      onsessionclosed: (id) => clients.remove(id),
    });
    const client: ConnectedClient = { transport, address, calls: 0 };
    // The SDK class's types do not allow undefined callbacks.
    await agentServer(agent, sessions, () => startOfCall(transport)).server.connect(transport as Transport);
    return client;
  };
  const closing = new AbortController();
  const startOfCall = (transport: StreamableHTTPServerTransport): StartedCall => {
    const request = requests.getStore();
    return {
      ended: AbortSignal.any([closing.signal, ...(request === undefined ? [] : [request.gone])]),
      // Others of its batch may still be answered in the same response.
      cancelled: (requestId) => request?.isAlone === true && transport.closeSSEStream(requestId),
    };
  };
  /** The responses to calls, which are open until they are answered. */
  const calls = new Set<ServerResponse>();
  let isLoopback = true;
  const http = createServer((request, response) => {
    handle(request, response).catch((error) => {
      const { status, message } = error instanceof Refusal ? error : answerFor(error, logger, [agent]);
      refuse(response, status, message);
    });
  });
  const refuseWhenClosing = () => {
    if (closing.signal.aborted) throw new Refusal(503, 'the server is closing');
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    refuseWhenClosing();
    if (answersPage(request, response, options, isLoopback)) return;
    if (pathOf(request) !== mcpPath) throw new Refusal(404, `the server is at ${mcpPath}`);
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? clients.use(id) : undefined;
    if (id !== undefined && known === undefined) throw new Refusal(404, 'unknown session');
    const client = known ?? (await open(request.socket.remoteAddress ?? ''));
    const body = await bodyOf(request);
    refuseWhenClosing();
    if (request.method === 'POST') {
      client.calls += 1;
      calls.add(response);
      response.once('close', () => {
        client.calls -= 1;
        calls.delete(response);
      });
    }
    const gone = vanishing(response, disconnectGraceMs, alarms);
    await requests.run({ gone, isAlone: !Array.isArray(body) }, () =>
      client.transport.handleRequest(request, response, body),
    );
  };
  const place = await listening(http, options, logger);
  isLoopback = place.isLoopback;
  const closed = new Promise<void>((resolve) => http.once('close', resolve));
  const close = async () => {
    closing.abort(new Error('the server closes'));
    await sessions.ended();
    await answered(calls);
    await clients.close();
    await closeHttp(http);
    for (const cancel of alarms) cancel();
  };
  return { url: `${place.origin}${mcpPath}`, closed, close, [Symbol.asyncDispose]: close };
}

/**
 * Returns a signal that aborts `graceMs` after the connection of an unfinished response has closed. The transport keeps
 * no events, so the client cannot resume the request.
 */
function vanishing(response: ServerResponse, graceMs: number, alarms: Set<() => void>): AbortSignal {
  const gone = new AbortController();
  response.once('close', () => {
    if (response.writableFinished) return;
    const cancel = systemClock.alarm(graceMs, () => {
      alarms.delete(cancel);
      gone.abort(new Error('the client vanished'));
    });
    alarms.add(cancel);
  });
  return gone.signal;
}

/** The path that a request asks for; null if its target is not a valid URL. */
function pathOf({ url = '/' }: IncomingMessage): string | null {
  return URL.parse(url, 'http://x')?.pathname ?? null;
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
  try {
    for await (const chunk of request) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > mostBytes) throw new Refusal(413, `the request is larger than ${mostBytes} bytes`);
    }
  } catch (error) {
    throw error instanceof Refusal ? error : new Refusal(400, `the body could not be read: ${messageOf(error)}`);
  }
  let body: unknown;
  try {
    body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refusal(400, 'the body is not JSON');
  }
  const why = depthProblem(body);
  if (why !== null) throw new Refusal(400, `the body cannot be read: ${why}`);
  return body;
}
