import type { IncomingMessage, ServerResponse } from 'node:http';
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { McpServerConfig } from '../../src/index.ts';
import type { Witness } from './agent.ts';
import { SimulatedTransport } from './server.ts';
import { textOf, type Wire } from './wire.ts';
import type { Life, World } from './world.ts';

/** Serves the simulated MCP server over streamable HTTP. Returns how a session connects to it. */
export function servedOver(wire: Wire, world: World, witness: Witness): McpServerConfig {
  const server = new HttpServer(world, witness);
  return { url: wire.handle((request, response) => void server.handle(request, response)) };
}

class HttpServer {
  private readonly world: World;
  private readonly life: Life;
  private readonly witness: Witness;
  /** The session of the client; null before the first, and once it is over. */
  private session: SimulatedTransport | null = null;
  /** Whether the session was granted: until then, it ends with its first response. */
  private isGranted = false;
  /** The responses that wait for an answer, by the id of their request. */
  private readonly open = new Map<unknown, ServerResponse>();

  constructor(world: World, witness: Witness) {
    this.world = world;
    this.life = world.life;
    this.witness = witness;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => response.destroy());
    if (request.method === 'DELETE') await this.session?.close();
    if (request.method !== 'POST') {
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
      return;
    }
    const message: JSONRPCMessage = JSON.parse(await textOf(request));
    if (!(await this.hasSession(message))) {
      response.destroy();
      return;
    }
    if (this.session === null) response.writeHead(404).end();
    else if (!isJSONRPCRequest(message)) response.writeHead(202).end();
    else this.stream(message.id, response);
    await this.session?.send(message);
  }

  /** A first message begins a session. Returns false if there is no server to begin one. */
  private async hasSession(message: JSONRPCMessage): Promise<boolean> {
    if (!('method' in message) || message.method !== 'initialize') return true;
    const { world, life, witness, open } = this;
    await this.session?.close();
    const session = new SimulatedTransport(world, life, witness);
    life.connections.add(session);
    session.onmessage = (sent) => this.send(sent);
    session.onclose = () => {
      this.session = null;
      for (const response of open.values()) response.destroy();
      open.clear();
    };
    try {
      await session.start();
    } catch {
      return false;
    }
    this.session = session;
    this.isGranted = false;
    return true;
  }

  private stream(id: unknown, response: ServerResponse): void {
    this.open.set(id, response);
    response.on('close', () => {
      this.open.delete(id);
      if (!this.isGranted) void this.session?.close();
    });
    response.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': 'simulated' });
    response.flushHeaders();
  }

  /** Answers a request. A notification takes the stream of the last one that waits; without one, it is lost. */
  private send(message: JSONRPCMessage): void {
    const isAnswer = !('method' in message) && 'id' in message;
    if ('result' in message && 'protocolVersion' in message.result) this.isGranted = true;
    const response = isAnswer ? this.open.get(message.id) : [...this.open.values()].at(-1);
    response?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    if (isAnswer) response?.end();
  }
}
