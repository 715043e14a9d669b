import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { providerFetch } from '../../src/http/patient-fetch.ts';
import { behaviourOf, faultOf, type ModelParts, partsOf, secret } from './model.ts';

/** How many turns of the event loop without a byte or a connection count as quiet. */
const quietTurns = 6;

/**
 * A real HTTP server on the loopback interface, for simulated sessions whose models are asked over the wire. The world decides
 * when and how it answers; what is under way between two steps has arrived when the next one begins.
 */
export class Wire {
  private readonly sockets = new Set<Socket>();
  private readonly handlers = new Map<string, (request: IncomingMessage, response: ServerResponse) => void>();
  private readonly server = createServer((request, response) => {
    this.happened += 1;
    const key = request.url?.split('/')[1] ?? '';
    const handler = this.handlers.get(key);
    if (handler === undefined) response.destroy();
    else handler(request, response);
  });
  /** Connections, requests and ends, and the bytes of closed connections. */
  private happened = 0;

  private constructor() {
    this.server.on('connection', (socket) => {
      this.happened += 1;
      this.sockets.add(socket);
      socket.on('close', () => {
        this.happened += 1 + socket.bytesRead + socket.bytesWritten;
        this.sockets.delete(socket);
      });
    });
  }

  static async open(): Promise<Wire> {
    const wire = new Wire();
    await new Promise<void>((resolve) => wire.server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  /** Returns a model that this server answers for. */
  model(parts: ModelParts): LanguageModelV4 {
    let requests = 0;
    const baseURL = this.handle((request, response) => {
      requests += 1;
      const reply = new WireReply(parts, requests, request.url ?? '', response);
      request.on('error', () => response.destroy());
      void textOf(request).then((body) => reply.send(body));
    });
    const options = { name: 'simulated', baseURL, apiKey: secret, includeUsage: true, fetch: providerFetch() };
    return createOpenAICompatible(options)(parts.id);
  }

  /** Handles requests to a URL of their own, which it returns. */
  handle(handler: (request: IncomingMessage, response: ServerResponse) => void): string {
    const key = `m${this.handlers.size}`;
    this.handlers.set(key, handler);
    const { port } = this.server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/${key}`;
  }

  /** Resolves once nothing has come or gone for some turns of the event loop. */
  async quiet(): Promise<void> {
    let before = this.activity;
    for (let calm = 0; calm < quietTurns; calm += 1) {
      await new Promise(setImmediate);
      if (this.activity === before) continue;
      before = this.activity;
      calm = -1;
    }
  }

  /** Forgets the models and servers of a session that is over. */
  clear(): void {
    this.handlers.clear();
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private get activity(): number {
    return [...this.sockets].reduce(
      (sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten,
      this.happened,
    );
  }
}

export async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** One reply in the format of OpenAI's chat completions. */
class WireReply {
  private readonly parts: ModelParts;
  private readonly response: ServerResponse;
  private readonly number: number;
  private readonly url: string;
  private readonly name: string;
  private calls = 0;

  constructor(parts: ModelParts, number: number, url: string, response: ServerResponse) {
    this.parts = parts;
    this.number = number;
    this.url = url;
    this.response = response;
    this.name = `${parts.agent}/${parts.id}#${number}`;
    const { connections } = parts.life;
    const connection = { close: () => response.destroy() };
    connections.add(connection);
    response.on('close', () => connections.delete(connection));
  }

  async send(body: string): Promise<void> {
    const { parts, response, name } = this;
    const { world, life, agent } = parts;
    const { messages, tools = [] }: WireRequest = JSON.parse(body);
    parts.sent({ agent, prompt: promptOf(messages), signal: undefined });
    await life.turn(`${name} answers`);
    if (response.destroyed) return;
    const behaviour = behaviourOf(world, name);
    if (behaviour === 'hangs') return;
    if (behaviour === 'has a fault') return this.refuse();
    if (behaviour === 'throws at random') return this.misbehave();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    parts.onPart(agent);
    const offered = tools.map((tool) => tool.function.name);
    for (const part of partsOf(parts, this.number, offered)) {
      if (part === 'stalls') return;
      const event = this.eventOf(part);
      if (event === null) continue;
      await life.turn(`${name} sends ${part.type}`);
      await this.write(event);
      if (response.destroyed) return;
      // The provider passes the end of a reply on once the stream ends.
      if (part.type !== 'finish') parts.onPart(agent);
    }
    await life.turn(`${name} ends`);
    response.end();
  }

  private refuse(): void {
    const { statusCode, responseHeaders } = faultOf(this.parts.world);
    this.response.writeHead(statusCode ?? 500, { 'content-type': 'application/json', ...responseHeaders });
    this.response.end(JSON.stringify({ error: { message: `refused ${secret}` } }));
  }

  private misbehave(): void {
    const { response, parts } = this;
    const kind = parts.world.choices.pick(['drops', 'a page', 'nothing', 'a redirect'] as const);
    if (kind === 'drops') response.destroy();
    else if (kind === 'a page') response.writeHead(200, { 'content-type': 'text/html' }).end(`<h1>${secret}</h1>`);
    else if (kind === 'nothing') response.writeHead(200).end();
    else response.writeHead(307, { location: this.url }).end();
  }

  /** Sends bytes at once, or in two pieces that may cut a character. */
  private async write(event: string): Promise<void> {
    const { response, parts, name } = this;
    const { choices } = parts.world;
    const bytes = Buffer.from(event);
    const at = choices.chance(20) ? choices.below(bytes.length) : 0;
    if (at > 0) {
      response.write(bytes.subarray(0, at));
      await parts.life.turn(`${name} sends the rest`);
    }
    if (!response.destroyed) response.write(bytes.subarray(at));
  }

  /** Returns a part as an event of the stream; null if the format has none for it. */
  private eventOf(part: LanguageModelV4StreamPart): string | null {
    const choice = (delta: object, finish_reason: string | null = null) =>
      `data: ${JSON.stringify({ id: 'r', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
    switch (part.type) {
      case 'text-delta':
        return choice({ content: part.delta });
      case 'reasoning-delta':
        return choice({ reasoning_content: part.delta });
      case 'tool-input-start': {
        const index = this.calls;
        this.calls += 1;
        const call = { index, id: part.id, type: 'function', function: { name: part.toolName, arguments: '' } };
        return choice({ tool_calls: [call] });
      }
      case 'tool-input-delta':
        return choice({ tool_calls: [{ index: this.calls - 1, function: { arguments: part.delta } }] });
      case 'finish': {
        const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
        const reason = part.finishReason.unified.replace('-', '_');
        return `${choice({}, reason)}data: ${JSON.stringify({ id: 'r', choices: [], usage })}\n\ndata: [DONE]\n\n`;
      }
      case 'error':
        return `data: ${JSON.stringify({ error: { message: `broken ${secret}` } })}\n\n`;
      default:
        return null;
    }
  }
}

type WireRequest = { messages: WireMessage[]; tools?: { function: { name: string } }[] };

type WireMessage = {
  role: 'system' | 'user' | 'assistant' | 'tool';
  content: string | { type: 'text'; text: string }[] | null;
  tool_calls?: { id: string }[];
  tool_call_id?: string;
};

/** Returns the messages of a request as a prompt, as far as the promises look at it. */
function promptOf(messages: readonly WireMessage[]): LanguageModelV4Prompt {
  const prompt: { role: string; content: unknown }[] = [];
  for (const { role, content, tool_calls = [], tool_call_id } of messages) {
    const last = prompt.at(-1);
    const texts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
    const result = { type: 'tool-result', toolCallId: tool_call_id };
    if (role === 'tool' && last?.role === 'tool') (last.content as unknown[]).push(result);
    else if (role === 'tool') prompt.push({ role, content: [result] });
    else if (role === 'system') prompt.push({ role, content });
    else
      prompt.push({
        role,
        content: [...texts, ...tool_calls.map(({ id }) => ({ type: 'tool-call', toolCallId: id }))],
      });
  }
  return prompt as LanguageModelV4Prompt;
}
