// Loaded in advance: a session loads it on demand, and no seed decides how long that takes.
import '../../src/tools/mcp/servers.ts';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { Begun, Witness } from './agent.ts';
import { secret } from './model.ts';
import type { Life, World } from './world.ts';

/** The tools of the simulated MCP server, as a model calls them. */
export const serverTools = ['box__note'];

const tools = [
  { name: 'note', description: 'Notes.', inputSchema: { type: 'object' } },
  // An unusable tool is left out; the others stay.
  { name: '', inputSchema: 'nothing' },
];

/** Returns a function that connects to an MCP server, which answers whenever the world lets it, and misbehaves. */
export function simulatedServer(world: World, witness: Witness): () => Transport {
  const { life } = world;
  return () => {
    const transport = new SimulatedTransport(world, life, witness);
    life.connections.add(transport);
    return transport;
  };
}

/** The client's end of a connection to the server. */
export class SimulatedTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  private readonly world: World;
  private readonly life: Life;
  private readonly witness: Witness;
  private readonly calls = new Map<unknown, { begun: Begun; controller: AbortController }>();

  constructor(world: World, life: Life, witness: Witness) {
    this.world = world;
    this.life = life;
    this.witness = witness;
  }

  async start(): Promise<void> {
    // No process is left that could connect.
    if (this.life.isDead) await new Promise<never>(() => {});
    if (!this.world.choices.chance(3)) return;
    this.trouble('does not start');
    this.life.connections.delete(this);
    throw new Error(`no such server ${secret}`);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.life.connections.has(this)) throw new Error('the server is gone');
    if (!('method' in message)) return;
    if ('id' in message) void this.answer(message);
    else if (message.method === 'notifications/cancelled')
      this.calls.get(message.params?.requestId)?.controller.abort();
  }

  async close(): Promise<void> {
    if (this.life.connections.delete(this)) this.onclose?.();
  }

  private async answer(request: JSONRPCRequest): Promise<void> {
    const { world, life } = this;
    const { method } = request;
    if (method === 'tools/call') this.begin(request);
    await life.turn(`the server answers ${method}`);
    if (!life.connections.has(this)) return;
    const kind = world.choices.weighed({
      answers: 90,
      'has an error': 3,
      hangs: 2,
      dies: 3,
      'answers nonsense': 2,
    });
    if (kind !== 'answers') this.trouble(kind);
    if (kind === 'hangs') return;
    if (kind === 'dies') return this.die();
    if (kind === 'has an error') return this.reply(request, { error: { code: -32_000, message: `no ${secret}` } });
    if (kind === 'answers nonsense') return this.reply(request, { result: { content: secret, tools: 7 } });
    if (method === 'initialize') {
      const capabilities = { tools: { listChanged: true } };
      const serverInfo = { name: 'simulated', version: '1' };
      return this.reply(request, { result: { protocolVersion: '2025-06-18', capabilities, serverInfo } });
    }
    if (method === 'tools/list') return this.reply(request, { result: { tools } });
    if (method === 'tools/call') return await this.called(request);
    return this.reply(request, { result: {} });
  }

  private async called(request: JSONRPCRequest): Promise<void> {
    const { choices } = this.world;
    const progressToken = request.params?._meta?.progressToken;
    if (progressToken !== undefined && choices.chance(20)) {
      const params = { progressToken, progress: 1, message: `half of it ${secret}` };
      this.receive({ jsonrpc: '2.0', method: 'notifications/progress', params });
      await this.life.turn('the server ends its call');
    }
    if (choices.chance(5)) {
      this.trouble('changes its tools');
      this.receive({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
    }
    this.reply(request, { result: { content: [{ type: 'text', text: 'noted' }], isError: choices.chance(10) } });
  }

  /** Its process ends, and with it every call that it had begun. */
  die(): Promise<void> {
    for (const { begun } of this.calls.values()) begun.hasEnded = true;
    return this.close();
  }

  /** A call has reached the server. Its signal aborts when it is cancelled. */
  private begin({ id }: JSONRPCRequest): void {
    const { world, life, witness } = this;
    const controller = new AbortController();
    const { signal } = controller;
    const callId = `server ${witness.begun.length}`;
    const begun = { agent: 'simulated', name: 'box__note', callId, signal, hasEnded: false, life };
    this.calls.set(id, { begun, controller });
    witness.begun.push(begun);
    // A call may be on its way when the abort comes.
    if (world.isDirect) witness.onBegin('simulated');
  }

  private reply({ id }: JSONRPCRequest, answer: { result: object } | { error: { code: number; message: string } }) {
    const call = this.calls.get(id);
    if (call !== undefined) call.begun.hasEnded = true;
    this.receive({ jsonrpc: '2.0', id, ...answer } as JSONRPCMessage);
  }

  private receive(message: JSONRPCMessage): void {
    if (this.life.connections.has(this)) this.onmessage?.(message);
  }

  private trouble(kind: string): void {
    this.world.trouble(`a server ${kind}`);
    this.world.tell(`a server ${kind}`);
  }
}
