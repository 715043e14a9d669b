import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolResult,
  CallToolResultSchema,
  McpError,
  type Progress,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type Clock, sleep } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { messageOf, messageWithCause } from '../../input/errors.ts';
import { wholeWordsOf } from '../../platform/text.ts';
import { secretsOfServer } from '../../secrets/credentials.ts';
import { redact } from '../../secrets/redact.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { ToolRun } from '../catalog-tool.ts';
import type { McpServerConfig } from './config.ts';
import { listTools, type McpTool } from './list.ts';
import { inform, type McpListener } from './listener.ts';
import { posted } from './posted-call.ts';
import { McpResult } from './result.ts';
import { clientWith, endClient, transportOf } from './transport.ts';

const [firstBackoffMs, longestBackoffMs] = [100, 5_000];
const mostFailures = 4;
/** Effectively disables the SDK's timeout, since each request has its own signal. */
const longestMs = 2_147_483_647;
const noTimeout = { timeout: longestMs };
const pingTimeoutMs = 2_000;
/** Timeout to reconnect and list tools, in ms. */
const restartTimeoutMs = 30_000;
/** Pause between two refreshes of a list that keeps changing, in ms. */
const listPauseMs = 100;
/** The most of a server's progress that is shown, in bytes. */
const mostProgressBytes = 1_000;

/** A connection to one MCP server. If it is lost, the next call reconnects, with backoff. */
export class McpConnection {
  readonly name: string;
  tools: readonly McpTool[] = [];
  private readonly config: McpServerConfig;
  private readonly clock: Clock;
  private readonly listeners = new Set<McpListener>();
  private client: Client | null = null;
  private connecting: Promise<Client> | null = null;
  private giveUp = new AbortController();
  /** Clients that were lost and are being ended. */
  private readonly ending = new Set<Promise<void>>();
  private refreshing = false;
  private stale = false;
  private failures = 0;
  private closed = false;
  private connectTimeoutMs = restartTimeoutMs;

  constructor(name: string, config: McpServerConfig, clock: Clock) {
    this.name = name;
    this.config = config;
    this.clock = clock;
  }

  listen(listener: McpListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The last line that the server process wrote to stderr, which often explains why it exited. */
  private lastWords = '';

  /**
   * Connects and lists the tools, or rejects after `timeoutMs`. With `shared`, the attempt continues after that, since
   * other sessions may wait longer for it.
   */
  async open(timeoutMs: number, signal: AbortSignal, shared = false): Promise<void> {
    const limits = { clock: this.clock, timeoutMs, signal };
    try {
      this.connectTimeoutMs = shared ? Math.max(timeoutMs, restartTimeoutMs) : timeoutMs;
      await inTime(limits, `no answer within ${timeoutMs} ms`, () => this.connected(this.connectTimeoutMs));
    } catch (error) {
      if (!shared) this.abandon();
      const words = wholeWordsOf(redact(this.lastWords, secretsOfServer(this.config)), 500);
      throw new Error(`${messageWithCause(error)}${words === '' ? '' : ` (stderr: ${words})`}`, { cause: error });
    }
  }

  /** Calls a tool. If the server is gone, restarts it at most a few times, within the call's timeout. */
  async call(tool: string, input: Record<string, unknown>, run: ToolRun): Promise<McpResult> {
    const client = await this.alive(run.signal);
    try {
      return await this.request(client, tool, input, run);
    } catch (error) {
      if (run.signal.aborted || error instanceof ToolError) throw error;
      if (isInvalid(error)) throw new ToolError(`The server ${this.name} returned an invalid result.`);
      if (error instanceof StreamableHTTPError && error.code !== undefined && error.code >= 400) {
        return await this.refused(client, error, tool, input, run);
      }
      // Servers reuse the error code of a closed connection. The connection is gone only if its transport is.
      if (error instanceof McpError && client.transport !== undefined) throw new ToolError(error.message);
      this.lose(client, messageOf(error));
      throw new ToolError(`Lost the server ${this.name} during the call; it may have run.`);
    }
  }

  async close(): Promise<void> {
    this.closed = true;
    const told = [...this.listeners];
    this.listeners.clear();
    this.abandon();
    // A connection attempt that was abandoned ends by itself.
    await this.connecting?.catch((error) => inform(told, error));
    const { client } = this;
    this.client = null;
    if (client !== null) await this.end(client, told);
    await Promise.all(this.ending);
  }

  private end(client: Client, told: readonly McpListener[] = [...this.listeners]): Promise<void> {
    return endClient(client, this.clock, (error) => inform(told, error));
  }

  private async request(
    client: Client,
    tool: string,
    input: Record<string, unknown>,
    run: ToolRun,
  ): Promise<McpResult> {
    const onprogress = ({ progress, total, message }: Progress) => {
      const value = [`${progress}${total === undefined ? '' : ` of ${total}`}`, message].join(' ').trim();
      run.progress({ type: 'text', value }, mostProgressBytes);
    };
    const params = { name: tool, arguments: input };
    const send = (signal: AbortSignal) =>
      client.request({ method: 'tools/call', params }, CallToolResultSchema, { ...noTimeout, signal, onprogress });
    const returned = await posted(send, run.signal, (why) => {
      this.suspect(client, new Error(why));
      return new ToolError(`The server ${this.name} gave no answer to the call, which may have run: ${why}.`);
    });
    const result = this.read(returned);
    if (returned.isError === true) throw result.asError();
    return result;
  }

  /** Reads a result. One that cannot be read, such as one nested too deeply, is no fault of the connection. */
  private read(returned: CallToolResult): McpResult {
    try {
      return new McpResult(returned);
    } catch (error) {
      throw new ToolError(`The result of the server ${this.name} cannot be read: ${messageOf(error)}`);
    }
  }

  /** Handles an HTTP error, which affects this call only. A 404 means that a restarted server lost its sessions. */
  private async refused(
    client: Client,
    error: StreamableHTTPError,
    tool: string,
    input: Record<string, unknown>,
    run: ToolRun,
  ): Promise<McpResult> {
    const what = /^40[13]$/.test(String(error.code)) ? 'the credentials, so the call was not run' : 'the call';
    if (error.code !== 404) throw new ToolError(`The server ${this.name} refused ${what}: ${error.message}`);
    this.lose(client, 'the server lost its session');
    return await this.request(await this.alive(run.signal), tool, input, run);
  }

  /** Aborts a connection attempt in progress. */
  private abandon(): void {
    this.giveUp.abort(new Error('closed before it answered'));
    this.giveUp = new AbortController();
  }

  private async alive(signal: AbortSignal): Promise<Client> {
    for (;;) {
      try {
        const timeoutMs = Math.max(restartTimeoutMs, this.connectTimeoutMs);
        const limits = { clock: this.clock, timeoutMs: null, signal };
        return await inTime(limits, `${this.name} did not connect in time`, () => this.connected(timeoutMs));
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
      await sleep(this.clock, backoffMs, signal);
      signal.throwIfAborted();
    }
    if (this.closed) throw new Error('already closed');
    const client = this.newClient();
    try {
      await this.inTime(timeoutMs, async (until) => {
        await client.connect(this.transport(), { ...noTimeout, signal: until });
        await this.list(client, until);
      });
    } catch (error) {
      this.failures += 1;
      await this.end(client);
      throw error;
    }
    this.failures = 0;
    this.client = client;
    client.onclose = () => this.lose(client, 'the connection was closed');
    client.onerror = (error) => this.suspect(client, error);
    return client;
  }

  /** Fetches the tool list and notifies the listeners if it has changed. */
  private async list(client: Client, signal: AbortSignal): Promise<void> {
    const { tools, leftOut } = await listTools(client, { ...noTimeout, signal });
    signal.throwIfAborted();
    for (const reason of leftOut) for (const listener of this.listeners) listener.onLeftOut(reason);
    if (isDeepStrictEqual(tools, this.tools)) return;
    this.tools = tools;
    for (const listener of this.listeners) listener.onTools();
  }

  /** Refreshes the tool list. If it keeps changing, refreshes are spaced out, with one more after the last change. */
  private async refresh(client: Client): Promise<void> {
    if (this.refreshing) {
      this.stale = true;
      return;
    }
    this.refreshing = true;
    try {
      do {
        this.stale = false;
        await this.inTime(restartTimeoutMs, (signal) => this.list(client, signal));
        await sleep(this.clock, listPauseMs, this.giveUp.signal);
      } while (this.stale && this.client === client);
    } catch (error) {
      inform(this.listeners, error);
    } finally {
      this.refreshing = false;
    }
  }

  private newClient(): Client {
    const client = clientWith(this.config.handlers);
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void this.refresh(client));
    return client;
  }

  private transport(): Transport {
    return transportOf(this.config, (line) => {
      if (line.trim() !== '') this.lastWords = line;
      for (const listener of this.listeners) listener.onDebug(line);
    });
  }

  /** Runs a task until it takes longer than `timeoutMs`, or the connection is closed. */
  private inTime<T>(timeoutMs: number, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limits = { clock: this.clock, timeoutMs, signal: this.giveUp.signal };
    return inTime(limits, `no answer within ${timeoutMs} ms`, task);
  }

  /** Handles an error outside a call: pings the server, and treats it as lost if it does not answer. */
  private suspect(client: Client, error: Error): void {
    inform(this.listeners, error);
    if (this.client !== client || !('url' in this.config)) return;
    this.inTime(pingTimeoutMs, (signal) => client.ping({ ...noTimeout, signal })).catch((reason) =>
      this.lose(client, messageOf(reason)),
    );
  }

  private lose(client: Client, message: string): void {
    if (this.client !== client) return;
    this.client = null;
    this.failures = Math.max(1, this.failures);
    for (const listener of this.listeners) listener.onLost(message);
    // Pending requests then get an error.
    const ending = this.end(client).finally(() => this.ending.delete(ending));
    this.ending.add(ending);
  }
}

/** Whether the server answered, but with a message that violates the protocol. */
function isInvalid(error: unknown): boolean {
  return error instanceof Error && 'issues' in error;
}
