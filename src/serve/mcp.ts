import type { Transport } from '@modelcontextprotocol/server';
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio';
import type { Agent } from '../agent/definition.ts';
import { eventLoopTurn } from '../host/clock.ts';
import { AgentCalls } from './mcp/agent-calls.ts';
import { agentServer } from './mcp/agent-server.ts';
import { AgentTasks } from './mcp/agent-tasks.ts';
import { serveHttp } from './mcp/http.ts';
import type { ServedAgent, ServeMcpOptions } from './served-agent.ts';
import { ServerSessions } from './sessions.ts';

/** Serves agents over a transport until the server is closed or the client disconnects. */
export async function serveAgents(agents: readonly Agent[], options: ServeMcpOptions): Promise<ServedAgent> {
  const { transport, journal, tasks = false, ...own } = options;
  const sessions = new ServerSessions(own);
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  const names = new Set(tasks === true ? named.keys() : tasks === false ? [] : tasks);
  const asTasks =
    journal === undefined || names.size === 0 ? null : new AgentTasks(named, sessions, { journal, names });
  const calls = new AgentCalls(named, sessions, asTasks);
  if (transport === 'stdio') return serveTransport(calls, sessions, new StdioServerTransport());
  if (!('http' in transport)) return serveTransport(calls, sessions, transport);
  return serveHttp(calls, sessions, transport.http, options.logger);
}

/** Serves one connection, in the revision in which its client begins. */
async function serveTransport(calls: AgentCalls, sessions: ServerSessions, transport: Transport): Promise<ServedAgent> {
  const closing = new AbortController();
  const closed = Promise.withResolvers<void>();
  const before = transport.onclose;
  const server = serveStdio(() => agentServer(calls, () => ({ ended: closing.signal, cancelled: () => {} })), {
    transport,
  });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    before?.();
    // A call of revision 2026-07-28 whose client has its questions has no request that ends.
    closing.abort(new Error('the client disconnected'));
    closed.resolve();
  };
  const close = async () => {
    closing.abort(new Error('the server closes'));
    await calls.tasks?.leave();
    await sessions.ended();
    // The calls are answered first.
    await eventLoopTurn();
    await server.close();
  };
  return { url: null, closed: closed.promise.then(() => sessions.ended()), close, [Symbol.asyncDispose]: close };
}
