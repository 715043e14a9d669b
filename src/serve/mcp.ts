import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Agent } from '../agent/definition.ts';
import { eventLoopTurn } from '../host/clock.ts';
import { agentServer } from './agent-server.ts';
import { serveHttp } from './http.ts';
import type { ServedAgent, ServeMcpOptions } from './served-agent.ts';
import { ServerSessions } from './sessions.ts';

/** Serves the agent over a transport until the server is closed or the client disconnects. */
export async function serveAgent(agent: Agent, options: ServeMcpOptions): Promise<ServedAgent> {
  const { transport, ...own } = options;
  const sessions = new ServerSessions(own);
  if (transport === 'stdio') return serveTransport(agent, sessions, stdio());
  if (!('http' in transport)) return serveTransport(agent, sessions, transport);
  return serveHttp(agent, sessions, transport.http, options.logger);
}

async function serveTransport(agent: Agent, sessions: ServerSessions, transport: Transport): Promise<ServedAgent> {
  const closing = new AbortController();
  const { server, closed } = agentServer(agent, sessions, () => ({ ended: closing.signal, cancelled: () => {} }));
  await server.connect(transport);
  const close = async () => {
    closing.abort(new Error('the server closes'));
    await sessions.ended();
    // The calls are answered first.
    await eventLoopTurn();
    await server.close();
  };
  return { url: null, closed: closed.then(() => sessions.ended()), close, [Symbol.asyncDispose]: close };
}

/** Creates a stdio transport that closes when the client closes its side, which aborts all running sessions. */
function stdio(): Transport {
  const transport: Transport = new StdioServerTransport();
  const close = () => {
    if (opened.delete(close)) void transport.close();
  };
  opened.add(close);
  process.stdin.once('end', close);
  transport.onclose = () => {
    opened.delete(close);
    process.stdin.off('end', close);
  };
  if (!process.stdout.listeners('error').includes(gone)) process.stdout.on('error', gone);
  return transport;
}

/** Closes each transport over this process's streams. */
const opened = new Set<() => void>();

/** A client that is gone reads no more: writing to it is an error, which may come after the server was closed. */
function gone(): void {
  for (const close of opened) close();
}
