import { setTimeout } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport, StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  McpError,
  type Progress,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { messageOf } from '../errors.ts';
import { timely } from '../timely.ts';
import type { ToolRun } from './catalog.ts';
import { patientFetch } from './http-request.ts';
import type { McpServerConfig } from './mcp-definition.ts';
import { listTools, type McpTool } from './mcp-list.ts';
import { McpResult } from './mcp-result.ts';
import { StdioTransport } from './mcp-stdio.ts';
import { ToolError } from './result.ts';

/** What the users of a connection are told. */
export type McpListener = {
  /** The list of tools is new; or the connection was lost, to be made anew at the next call. */
  onTools: () => void;
  onLost: (message: string) => void;
  onDebug: (line: string) => void;
  /** A tool cannot be used. */
  onLeftOut: (reason: string) => void;
};

const firstBackoffMs = 100;
const longestBackoffMs = 5_000;
const mostFailures = 4;
/** A call ends by its own signal: the SDK's timeout must not come first. */
const longestMs = 2_147_483_647;
const noTimeout = { timeout: longestMs };
const pingTimeoutMs = 2_000;
/** Ms to connect anew, and to list the tools. */
const restartTimeoutMs = 30_000;
/** Ms for each step of closing: the end of a session does not hang on a server's. */
const closeTimeoutMs = 3_000;
/** Ms between two looks at a list that changes and changes. */
const listPauseMs = 100;

/** One connection to one MCP server: made, used, lost, made anew with backoff, and closed. */
export class McpConnection {
  readonly name: string;
  tools: readonly McpTool[] = [];
  private readonly config: McpServerConfig;
  private readonly listeners = new Set<McpListener>();
  private client: Client | null = null;
  private connecting: Promise<Client> | null = null;
  private giveUp = new AbortController();
  private refreshing = false;
  private stale = false;
  private failures = 0;
  private closed = false;
  private connectTimeoutMs = restartTimeoutMs;

  constructor(name: string, config: McpServerConfig) {
    this.name = name;
    this.config = config;
  }

  listen(listener: McpListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The last line that the server's process wrote to its stderr: often why it ended. */
  private lastWords = '';

  /** Connects and lists the tools, at most for `timeoutMs`; rejects with what went wrong. With `shared`, others wait too, for as long as they may. */
  async open(timeoutMs: number, signal: AbortSignal, shared = false): Promise<void> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      this.connectTimeoutMs = shared ? Math.max(timeoutMs, restartTimeoutMs) : timeoutMs;
      await timely(longestMs, this.connected(this.connectTimeoutMs), `no answer within ${timeoutMs} ms`, limit);
    } catch (error) {
      if (!shared) this.abandon();
      const said = this.lastWords === '' ? '' : ` (it said: ${this.lastWords})`;
      throw new Error(`${messageOf(error)}${said}`, { cause: error });
    }
  }

  /** Calls a tool. A server that is gone is started anew, a few times, as long as the call has time. */
  async call(tool: string, input: Record<string, unknown>, run: ToolRun): Promise<McpResult> {
    const client = await this.alive(run.signal);
    try {
      return await this.request(client, tool, input, run);
    } catch (error) {
      if (run.signal.aborted || error instanceof ToolError) throw error;
      if (isInvalid(error)) throw new ToolError(`The server ${this.name} gave an answer that is no result.`);
      if (error instanceof StreamableHTTPError && error.code !== undefined && error.code >= 400) {
        return await this.refused(client, error, tool, input, run);
      }
      // Servers use the code of a closed connection for errors of their own: it is gone only if its transport is.
      if (error instanceof McpError && client.transport !== undefined) throw new ToolError(error.message);
      this.lose(client, messageOf(error));
      throw new ToolError(`The server ${this.name} was lost during the call: whether it was executed is unknown.`);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    const told = [...this.listeners];
    this.listeners.clear();
    this.abandon();
    const closing = <T>(promise: Promise<T> | null): Promise<T | null> =>
      timely(closeTimeoutMs, promise, `it did not close within ${closeTimeoutMs} ms`).catch((error) => {
        for (const listener of told) listener.onDebug(messageOf(error));
        return null;
      });
    const client = this.client ?? (await closing(this.connecting));
    this.client = null;
    if (client === null) return;
    const { transport } = client;
    if (transport instanceof StreamableHTTPClientTransport) await closing(transport.terminateSession());
    await closing(client.close());
  }

  private async request(
    client: Client,
    tool: string,
    input: Record<string, unknown>,
    run: ToolRun,
  ): Promise<McpResult> {
    const onprogress = ({ progress, total, message }: Progress) => {
      const value = [`${progress}${total === undefined ? '' : ` of ${total}`}`, message?.slice(0, 1_000)]
        .join(' ')
        .trim();
      run.progress({ type: 'text', value });
    };
    const params = { name: tool, arguments: input };
    const options = { ...noTimeout, signal: run.signal, onprogress };
    const returned = await client.request({ method: 'tools/call', params }, CallToolResultSchema, options);
    const result = new McpResult(returned);
    if (returned.isError === true) throw result.asError();
    return result;
  }

  /** The server answered this call with an HTTP error: the others go on. It forgets its sessions when it is started anew. */
  private async refused(
    client: Client,
    error: StreamableHTTPError,
    tool: string,
    input: Record<string, unknown>,
    run: ToolRun,
  ): Promise<McpResult> {
    if (error.code !== 404) throw new ToolError(`The server ${this.name} refused the call: ${error.message}`);
    this.lose(client, 'its session is forgotten');
    return await this.request(await this.alive(run.signal), tool, input, run);
  }

  /** Gives up a connection that is being made. */
  private abandon(): void {
    this.giveUp.abort();
    this.giveUp = new AbortController();
  }

  private async alive(signal: AbortSignal): Promise<Client> {
    for (;;) {
      try {
        const timeoutMs = Math.max(restartTimeoutMs, this.connectTimeoutMs);
        return await timely(longestMs, this.connected(timeoutMs), `${this.name} did not come up in time`, signal);
      } catch (error) {
        if (signal.aborted || this.closed || this.failures > mostFailures) {
          throw new ToolError(`The server ${this.name} is not available: ${messageOf(error)}`);
        }
      }
    }
  }

  private connected(timeoutMs: number): Promise<Client> {
    if (this.client !== null) return Promise.resolve(this.client);
    this.connecting ??= this.connect(timeoutMs).finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  private async connect(timeoutMs: number): Promise<Client> {
    const { signal } = this.giveUp;
    if (this.failures > 0) {
      const backoffMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (this.failures - 1));
      await setTimeout(backoffMs, undefined, { signal });
    }
    if (this.closed) throw new Error('it was closed');
    const client = this.newClient();
    const giveUp = () => void client.close().catch(() => undefined);
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      await client.connect(this.transport(), { timeout: timeoutMs, signal });
      await this.list(client, timeoutMs);
      signal.throwIfAborted();
    } catch (error) {
      this.failures += 1;
      await client.close().catch(() => undefined);
      throw error;
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
    this.failures = 0;
    this.client = client;
    client.onclose = () => this.lose(client, 'the connection was closed');
    client.onerror = (error) => this.suspect(client, error);
    return client;
  }

  /** Takes the list in; who listens is told if it is another one than before. */
  private async list(client: Client, timeoutMs: number): Promise<void> {
    const { tools, leftOut } = await listTools(client, timeoutMs);
    for (const reason of leftOut) for (const listener of this.listeners) listener.onLeftOut(reason);
    if (isDeepStrictEqual(tools, this.tools)) return;
    this.tools = tools;
    for (const listener of this.listeners) listener.onTools();
  }

  /** A list that changes and changes is looked at now and then, and once more at the end. */
  private async refresh(client: Client): Promise<void> {
    if (this.refreshing) {
      this.stale = true;
      return;
    }
    this.refreshing = true;
    try {
      do {
        this.stale = false;
        await this.list(client, restartTimeoutMs);
        await setTimeout(listPauseMs);
      } while (this.stale && this.client === client);
    } catch (error) {
      for (const listener of this.listeners) listener.onDebug(messageOf(error));
    } finally {
      this.refreshing = false;
    }
  }

  private newClient(): Client {
    const { elicit, sample } = this.config.handlers ?? {};
    const capabilities = { ...(elicit && { elicitation: {} }), ...(sample && { sampling: {} }) };
    const client = new Client({ name: 'pawl', version: '0.1.0' }, { capabilities });
    if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
    if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sample(params));
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void this.refresh(client));
    return client;
  }

  private transport(): Transport {
    const { config } = this;
    if ('command' in config) {
      return new StdioTransport(config, (line) => {
        if (line.trim() !== '') this.lastWords = line.slice(0, 500);
        for (const listener of this.listeners) listener.onDebug(line);
      });
    }
    if ('url' in config) {
      const requestInit = { headers: config.headers ?? {} };
      return new StreamableHTTPClientTransport(new URL(config.url), { requestInit, fetch: patientFetch });
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
