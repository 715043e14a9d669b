import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { systemClock } from '../../host/clock.ts';
import { stackOf } from '../../input/errors.ts';
import { type LoggerOption, loggerOf } from '../../observe/log/logger.ts';
import { Refusal } from '../callers.ts';
import { answerFor } from '../given.ts';
import type { HttpOptions } from '../http-options.ts';
import { jsonBody, UnusableBody } from '../json-body.ts';
import { type RequestSource, serveRequests } from '../node-server.ts';
import type { ServedAgent } from '../served-agent.ts';
import type { ServerSessions } from '../sessions.ts';
import type { AgentCalls } from './agent-calls.ts';
import { agentServer, type StartedCall } from './agent-server.ts';
import { type Client, Clients } from './clients.ts';

const mcpPath = '/mcp';
const mostBytes = 4 * 1_024 * 1_024;
const defaultGraceMs = 5_000;

type ConnectedClient = Client & { transport: WebStandardStreamableHTTPServerTransport };

/** The HTTP request that is served: the signal that its client has gone, and whether it holds one message. */
type Served = { gone: AbortSignal; isAlone: boolean };

/**
 * Serves over streamable HTTP. Of revision 2026-07-28, each request is served alone; a client of an earlier one gets an MCP
 * session with its own id and server.
 */
export async function serveHttp(
  calls: AgentCalls,
  sessions: ServerSessions,
  { disconnectGraceMs = defaultGraceMs, ...callers }: HttpOptions,
  logger: LoggerOption | undefined,
): Promise<ServedAgent> {
  const clients = new Clients<ConnectedClient>();
  /** Cancel the pending aborts for clients that vanished. */
  const alarms = new Set<() => void>();
  const requests = new AsyncLocalStorage<Served>();
  const closing = new AbortController();
  const startOfCall = (transport: WebStandardStreamableHTTPServerTransport | null): StartedCall => {
    const request = requests.getStore();
    return {
      // Of revision 2026-07-28, a call may continue in another request.
      ended: AbortSignal.any([closing.signal, ...(request === undefined || transport === null ? [] : [request.gone])]),
      // Others of its batch may still be answered in the same response.
      cancelled: (requestId) => request?.isAlone === true && transport?.closeSSEStream(requestId),
    };
  };
  const onerror = (error: Error) =>
    loggerOf(logger).debug({ event: 'server.refused', error: stackOf(error) }, 'a request was refused');
  const newest = createMcpHandler(() => agentServer(calls, () => startOfCall(null)), { legacy: 'reject', onerror });
  const open = async (address: string): Promise<ConnectedClient> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => clients.add(id, client),
      onsessionclosed: (id) => clients.remove(id),
    });
    const client: ConnectedClient = { transport, address, calls: 0 };
    await agentServer(calls, () => startOfCall(transport)).connect(transport);
    return client;
  };
  const refuseWhenClosing = () => {
    if (closing.signal.aborted) throw new Refusal(503, 'the server is closing');
  };
  const answer = async (given: Request, { address, left, closed }: RequestSource): Promise<Response> => {
    refuseWhenClosing();
    const { url, method, headers } = given;
    if (new URL(url).pathname !== mcpPath) throw new Refusal(404, `the server is at ${mcpPath}`);
    const isPost = method === 'POST';
    const id = headers.get('mcp-session-id');
    const known = id === null ? undefined : clients.use(id);
    if (id !== null && known === undefined) throw new Refusal(404, 'unknown session');
    const [body] = isPost ? await jsonBody(given, [], async () => undefined, mostBytes) : [undefined];
    refuseWhenClosing();
    // Calls are answered while the server closes, which the signal of the given one tells.
    const request = new Request(url, { method, headers, signal: left });
    if (isPost && !(await isLegacyRequest(request, body))) return newest.fetch(request, { parsedBody: body });
    const client = known ?? (await open(address));
    const options = isPost ? { parsedBody: body } : {};
    const served = { gone: vanishing(left, disconnectGraceMs, alarms), isAlone: !Array.isArray(body) };
    if (!isPost) return client.transport.handleRequest(request, options);
    client.calls += 1;
    void closed.then(() => {
      client.calls -= 1;
    });
    return requests.run(served, () => client.transport.handleRequest(request, options));
  };
  const handle = (request: Request, source: RequestSource) =>
    answer(request, source).catch((error) => {
      if (error instanceof UnusableBody) return refusal(error.status, error.message);
      const { status, message } = error instanceof Refusal ? error : answerFor(error, logger, calls.agents.values());
      return refusal(status, message);
    });
  const served = await serveRequests(handle, {
    callers,
    forPages: true,
    logger,
    refused: ({ status, message }) => ({ body: refusedBody(message), headers: refusedHeaders(status) }),
  });
  const close = async () => {
    closing.abort(new Error('the server closes'));
    await calls.tasks?.leave();
    await served.close(
      async () => {
        await sessions.ended();
        for (const { transport } of clients.all()) transport.closeStandaloneSSEStream();
      },
      () => Promise.all([newest.close(), ...clients.all().map(({ transport }) => transport.close())]),
    );
    for (const cancel of alarms) cancel();
  };
  return { url: `${served.origin}${mcpPath}`, closed: served.closed, close, [Symbol.asyncDispose]: close };
}

/**
 * Returns a signal that aborts `graceMs` after the client of a request has gone. The transport keeps no events, so the client
 * cannot resume the request.
 */
function vanishing(left: AbortSignal, graceMs: number, alarms: Set<() => void>): AbortSignal {
  const gone = new AbortController();
  left.addEventListener(
    'abort',
    () => {
      const cancel = systemClock.alarm(graceMs, () => {
        alarms.delete(cancel);
        gone.abort(new Error('the client vanished'));
      });
      alarms.add(cancel);
    },
    { once: true },
  );
  return gone.signal;
}

function refusal(status: number, message: string): Response {
  return new Response(refusedBody(message), { status, headers: refusedHeaders(status) });
}

const refusedBody = (message: string) =>
  JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null });

const refusedHeaders = (status: number): Record<string, string> => ({
  'content-type': 'application/json',
  connection: 'close',
  ...(status === 401 && { 'www-authenticate': 'Bearer' }),
});
