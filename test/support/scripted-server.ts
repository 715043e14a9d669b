import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

/** What a server answers to a method: a result, or a function of the parameters; one that throws answers an error. */
export type Answers = Record<string, unknown>;

/** A request or notification that a client sent. */
export type Sent = { id?: string | number; method: string; params?: Record<string, unknown> };

/**
 * An MCP server in this process, of answers alone. A method without one gets no answer, but that which asks for revision
 * 2026-07-28: without an answer to it, the server is of an earlier one, and `sent` does not hold it.
 */
export class ScriptedServer implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly sent: Sent[] = [];
  closed = 0;
  private readonly answers: Answers;

  constructor(answers: Answers = {}) {
    this.answers = { initialize: initialized(), ping: {}, 'tools/list': { tools: [] }, ...answers };
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) return;
    const { method, params } = message;
    if (method === 'server/discover' && 'id' in message && this.answers[method] === undefined) {
      this.tell({ jsonrpc: '2.0', id: message.id, error: { code: -32_601, message: 'Method not found' } });
      return;
    }
    this.sent.push({ method, ...('id' in message && { id: message.id }), ...(params && { params }) });
    const answer = this.answers[method];
    if (!('id' in message) || answer === undefined) return;
    const { id } = message;
    try {
      const result = typeof answer === 'function' ? await answer(params, id) : answer;
      this.tell({ jsonrpc: '2.0', id, result });
    } catch (error) {
      if (error !== silence) this.tell({ jsonrpc: '2.0', id, error: { code: -32_000, message: String(error) } });
    }
  }

  async close(): Promise<void> {
    this.closed += 1;
    this.onclose?.();
  }

  /** Sends a message to the client. */
  tell(message: unknown): void {
    this.onmessage?.(Object(message));
  }

  /** Tells the client that the tools have changed. */
  changed(): void {
    this.tell({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' });
  }

  /** The methods that the client has sent so far. */
  methods(): string[] {
    return this.sent.map(({ method }) => method);
  }
}

/** An answer throws this to give none. */
export const silence = new Error('no answer');

/** The answer to `initialize` of a server with these capabilities. */
export const initialized = (capabilities: object = { tools: { listChanged: true } }) => ({
  protocolVersion: '2025-06-18',
  capabilities,
  serverInfo: { name: 'scripted', version: '1' },
});

/** A tool as a server lists it. */
export const listed = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });
