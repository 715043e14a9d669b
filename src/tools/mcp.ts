import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ErrorCode,
  ListToolsResultSchema,
  McpError,
  type Progress,
  type Tool,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../errors.ts';
import type { ToolRun } from './catalog.ts';
import type { McpServerConfig } from './mcp-definition.ts';
import { McpResult } from './mcp-result.ts';
import { StdioTransport } from './mcp-stdio.ts';
import { ToolError } from './result.ts';

export type McpTool = Pick<Tool, 'name' | 'description' | 'inputSchema'>;

/** What the users of a connection are told. */
export type McpListener = {
  /** The list of tools is new; or the connection was lost, to be made anew at the next call. */
  onTools: () => void;
  onLost: (message: string) => void;
  onDebug: (line: string) => void;
};

const mostPages = 1_000;
const firstBackoffMs = 100;
const longestBackoffMs = 5_000;
/** A call ends by its own signal: the SDK's timeout must not come first. */
const noTimeout = { timeout: 2_147_483_647 };
const pingTimeoutMs = 2_000;

/** One connection to one MCP server: made, used, lost, made anew with backoff, and closed. */
export class McpConnection {
  readonly name: string;
  tools: readonly McpTool[] = [];
  private readonly config: McpServerConfig;
  private readonly listeners = new Set<McpListener>();
  private client: Client | null = null;
  private connecting: Promise<Client> | null = null;
  private starting: Client | null = null;
  private failures = 0;
  private closed = false;

  constructor(name: string, config: McpServerConfig) {
    this.name = name;
    this.config = config;
  }

  listen(listener: McpListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Connects and lists the tools, at most for `timeoutMs`; rejects with what went wrong. */
  async open(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      await orAborted(this.connected(), limit, `no answer within ${timeoutMs} ms`);
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /** Calls a tool. A server that is gone is started anew, a few times, as long as the call has time. */
  async call(tool: string, input: Record<string, unknown>, run: ToolRun): Promise<McpResult> {
    const client = await this.alive(run.signal);
    const onprogress = ({ progress, total, message }: Progress) =>
      run.progress({
        type: 'text',
        value: [`${progress}${total === undefined ? '' : ` of ${total}`}`, message].join(' ').trim(),
      });
    try {
      const params = { name: tool, arguments: input };
      const options = { ...noTimeout, signal: run.signal, onprogress };
      const returned = await client.request({ method: 'tools/call', params }, CallToolResultSchema, options);
      const result = new McpResult(returned);
      if (returned.isError === true) throw result.asError();
      return result;
    } catch (error) {
      if (run.signal.aborted || error instanceof ToolError) throw error;
      if (isInvalid(error)) throw new ToolError(`The server ${this.name} gave an answer that is no result.`);
      if (!(error instanceof McpError)) this.lose(client, messageOf(error));
      if (error instanceof McpError && error.code !== ErrorCode.ConnectionClosed) throw new ToolError(error.message);
      throw new ToolError(`The server ${this.name} was lost during the call: whether it was executed is unknown.`);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    this.listeners.clear();
    this.abandon();
    const client = this.client ?? (await this.connecting?.catch(() => null)) ?? null;
    this.client = null;
    if (client === null) return;
    const { transport } = client;
    if (transport instanceof StreamableHTTPClientTransport) await transport.terminateSession().catch(() => undefined);
    await client.close().catch(() => undefined);
  }

  /** Gives up a connection that is being made. */
  private abandon(): void {
    this.starting?.close().catch(() => undefined);
  }

  private async alive(signal: AbortSignal): Promise<Client> {
    for (;;) {
      try {
        return await orAborted(this.connected(), signal, `${this.name} did not come up in time`);
      } catch (error) {
        if (signal.aborted || this.closed || this.failures > 4) {
          throw new ToolError(`The server ${this.name} is not available: ${messageOf(error)}`);
        }
      }
    }
  }

  private connected(): Promise<Client> {
    if (this.client !== null) return Promise.resolve(this.client);
    this.connecting ??= this.connect().finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  private async connect(): Promise<Client> {
    if (this.closed) throw new Error('it was closed');
    if (this.failures > 0) {
      const backoffMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (this.failures - 1));
      await new Promise((resolve) => setTimeout(resolve, backoffMs));
    }
    const client = this.newClient();
    this.starting = client;
    try {
      await client.connect(this.transport());
      this.tools = await listTools(client);
    } catch (error) {
      this.failures += 1;
      await client.close().catch(() => undefined);
      throw error;
    } finally {
      this.starting = null;
    }
    if (this.closed) {
      await client.close();
      throw new Error('it was closed');
    }
    this.failures = 0;
    this.client = client;
    client.onclose = () => this.lose(client, 'the connection was closed');
    client.onerror = (error) => this.suspect(client, error);
    for (const listener of this.listeners) listener.onTools();
    return client;
  }

  private newClient(): Client {
    const { elicit, sample } = this.config.handlers ?? {};
    const capabilities = { ...(elicit && { elicitation: {} }), ...(sample && { sampling: {} }) };
    const client = new Client({ name: 'pawl', version: '0.1.0' }, { capabilities });
    if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
    if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sample(params));
    client.setNotificationHandler(ToolListChangedNotificationSchema, async () => {
      this.tools = await listTools(client);
      for (const listener of this.listeners) listener.onTools();
    });
    return client;
  }

  private transport(): Transport {
    const { config } = this;
    if ('command' in config) {
      return new StdioTransport(config, (line) => {
        for (const listener of this.listeners) listener.onDebug(line);
      });
    }
    if ('url' in config) {
      return new StreamableHTTPClientTransport(new URL(config.url), { requestInit: { headers: config.headers ?? {} } });
    }
    return typeof config.transport === 'function' ? config.transport() : config.transport;
  }

  /** Something went wrong beside a call: the server is asked whether it is there. Without an answer it is lost. */
  private suspect(client: Client, error: Error): void {
    for (const listener of this.listeners) listener.onDebug(messageOf(error));
    if (this.client !== client || !('url' in this.config)) return;
    client.ping({ timeout: pingTimeoutMs }).catch((reason) => this.lose(client, messageOf(reason)));
  }

  private lose(client: Client, message: string): void {
    if (this.client !== client) return;
    this.client = null;
    this.failures = Math.max(1, this.failures);
    for (const listener of this.listeners) listener.onLost(message);
    // What still waits for an answer of it gets an error now.
    client.close().catch(() => undefined);
  }
}

/** What came, and is not what the protocol says: the server is there. */
function isInvalid(error: unknown): boolean {
  return error instanceof Error && 'issues' in error;
}

/** All pages of the list; a server that pages for ever is cut off. */
async function listTools(client: Client): Promise<McpTool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const listed = await client.request({ method: 'tools/list', params }, ListToolsResultSchema, noTimeout);
    tools.push(...listed.tools);
    cursor = listed.nextCursor;
    if (cursor === undefined) return tools;
  }
  throw new Error(`the list of tools has more than ${mostPages} pages`);
}

async function orAborted<T>(promise: Promise<T>, signal: AbortSignal, message: string): Promise<T> {
  promise.catch(() => undefined);
  if (signal.aborted) throw new Error(message);
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(new Error(message));
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
