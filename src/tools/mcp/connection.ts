import { type CallToolResult, type Client, SdkHttpError } from '@modelcontextprotocol/client';
import { type Clock, sleep } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { messageOf, messageWithCause } from '../../input/errors.ts';
import { wholeWordsOf } from '../../platform/text.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { ToolRun } from '../catalog-tool.ts';
import { Asking } from './calls/asking.ts';
import { sentCall } from './calls/call.ts';
import { RemoteTasks } from './calls/remote-task.ts';
import { type McpResult, readMcpResult } from './calls/result.ts';
import { isAnswer, saidWith } from './calls/sdk-errors.ts';
import { taskIn } from './calls/task-results.ts';
import type { McpServerConfig } from './config.ts';
import { Connector, noTimeout } from './connector.ts';
import { KeptList } from './kept-list.ts';
import type { McpTool } from './list.ts';
import { cleaned, inform, type McpListener } from './listener.ts';
import { SentSecrets } from './sent-secrets.ts';
import { type Connected, endClient } from './transport.ts';

const [firstBackoffMs, longestBackoffMs] = [100, 5_000];
const mostFailures = 4;
const pingTimeoutMs = 2_000;
/** How long a connection that is given up may take to end, in ms. */
const longestEndMs = 10_000;
/** Timeout to reconnect and list tools, in ms. */
const restartTimeoutMs = 30_000;

/** A connection to one MCP server. If it is lost, the next call reconnects, with backoff. */
export class McpConnection {
  readonly name: string;
  private readonly config: McpServerConfig;
  private readonly clock: Clock;
  private readonly listeners = new Set<McpListener>();
  private readonly connector: Connector;
  private readonly list: KeptList;
  private current: Connected | null = null;
  private connecting: Promise<Connected> | null = null;
  private giveUp = new AbortController();
  /** Clients that were lost and are being ended. */
  private readonly ending = new Set<Promise<void>>();
  private readonly sent: SentSecrets;
  readonly tasks: RemoteTasks;
  private readonly asking: Asking;
  private failures = 0;
  private closed = false;
  private connectTimeoutMs = restartTimeoutMs;

  constructor(name: string, config: McpServerConfig, clock: Clock) {
    this.name = name;
    this.config = config;
    this.clock = clock;
    this.connector = new Connector(config);
    this.sent = new SentSecrets(config);
    this.asking = new Asking(config.handlers, (text) => this.sent.removedFrom(text));
    this.tasks = new RemoteTasks({
      ...{ clock, server: name, handlers: config.handlers },
      ask: (params) => this.asking.answer(params),
      told: (error) => inform(this.listeners, error),
      alive: (signal) => this.alive(signal),
      lose: (connected, message) => this.lose(connected, message),
      said: (text) => this.sent.removedFrom(text),
    });
    this.list = new KeptList({
      clock,
      listeners: this.listeners,
      clean: (value) => this.sent.without(value),
      closed: () => this.giveUp.signal,
      current: () => this.current?.client ?? null,
      suspect: (client, error) => this.suspect(client, error),
    });
  }

  get tools(): readonly McpTool[] {
    return this.list.tools;
  }

  listen(listener: McpListener): () => void {
    const told = cleaned(listener, (text) => this.sent.removedFrom(text));
    this.listeners.add(told);
    return () => this.listeners.delete(told);
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
      await inTime(limits, `no answer within ${timeoutMs} ms`, async () => {
        const isNew = this.current === null;
        const { client } = await this.connected(this.connectTimeoutMs);
        if (!isNew && this.list.hasExpired) await this.list.refresh(client);
      });
    } catch (error) {
      if (!shared) this.abandon();
      const words = wholeWordsOf(this.sent.removedFrom(this.lastWords), 500);
      throw new Error(`${messageWithCause(error)}${words === '' ? '' : ` (stderr: ${words})`}`, { cause: error });
    }
  }

  /** Calls a tool. If the server is gone, restarts it at most a few times, within the call's timeout. */
  async call(tool: string, input: Record<string, unknown>, run: ToolRun): Promise<McpResult> {
    return this.asking.during(run, () => this.called(tool, input, run));
  }

  private async called(tool: string, input: Record<string, unknown>, run: ToolRun): Promise<McpResult> {
    const begunBefore = run.takeTask();
    if (begunBefore !== null) return this.read(await this.tasks.follow(begunBefore, run));
    const connected = await this.alive(run.signal);
    try {
      return await this.request(connected, tool, input, run);
    } catch (error) {
      if (run.signal.aborted || error instanceof ToolError) throw error;
      if (error instanceof SdkHttpError) return await this.refused(connected, error, tool, input, run);
      const { client } = connected;
      // The connection is gone only if its transport is.
      if (isAnswer(error) && client.transport !== undefined)
        throw new ToolError(this.sent.removedFrom(saidWith(error, this.name)));
      this.lose(connected, messageOf(error));
      throw new ToolError(`Lost the server ${this.name} during the call; it may have run.`);
    }
  }

  async close(): Promise<void> {
    await this.tasks.cancelled();
    this.closed = true;
    const told = [...this.listeners];
    this.listeners.clear();
    this.abandon();
    // A connection attempt that was abandoned ends by itself.
    await this.connecting?.catch((error) => inform(told, error));
    const { current } = this;
    this.current = null;
    if (current !== null) await this.end(current, told);
    await Promise.all(this.ending);
  }

  private end(connected: Connected, told: readonly McpListener[] = [...this.listeners]): Promise<void> {
    return endClient(connected, this.clock, (error) => inform(told, error));
  }

  private async request(
    connected: Connected,
    tool: string,
    input: Record<string, unknown>,
    run: ToolRun,
  ): Promise<McpResult> {
    const { client } = connected;
    const returned = await sentCall(client, this.tools, tool, input, run, {
      server: this.name,
      said: (text) => this.sent.removedFrom(text),
      suspect: (why) => this.suspect(client, new Error(why)),
    });
    const taskId = taskIn(this.name, returned);
    if (taskId === null) return this.read(returned);
    await run.follow(taskId);
    return this.read(await this.tasks.follow(taskId, run));
  }

  private read(returned: CallToolResult): McpResult {
    const result = readMcpResult(this.name, returned, this.sent.all);
    if (returned?.isError === true) throw result.asError();
    return result;
  }

  /** Handles an HTTP error, which affects this call only. A 404 means that a restarted server lost its sessions. */
  private async refused(
    connected: Connected,
    error: SdkHttpError,
    tool: string,
    input: Record<string, unknown>,
    run: ToolRun,
  ): Promise<McpResult> {
    const what = [401, 403].includes(error.status) ? 'the credentials, so the call was not run' : 'the call';
    const isLost = error.status === 404 && connected.client.getProtocolEra() !== 'modern';
    if (!isLost)
      throw new ToolError(`The server ${this.name} refused ${what}: ${this.sent.removedFrom(error.message)}`);
    this.lose(connected, 'the server lost its session');
    return await this.request(await this.alive(run.signal), tool, input, run);
  }

  /** Aborts a connection attempt in progress. */
  private abandon(): void {
    this.giveUp.abort(new Error('closed before it answered'));
    if (!this.closed) this.giveUp = new AbortController();
  }

  private async alive(signal: AbortSignal): Promise<Connected> {
    for (;;) {
      try {
        const timeoutMs = Math.max(restartTimeoutMs, this.connectTimeoutMs);
        const limits = { clock: this.clock, timeoutMs: null, signal };
        return await inTime(limits, `${this.name} did not connect in time`, () => this.connected(timeoutMs));
      } catch (error) {
        if (signal.aborted || this.closed || this.failures > mostFailures) {
          throw new ToolError(`The server ${this.name} is not available: ${this.sent.removedFrom(messageOf(error))}`);
        }
      }
    }
  }

  private connected(timeoutMs: number): Promise<Connected> {
    if (this.current !== null) return Promise.resolve(this.current);
    this.connecting ??= this.connect(timeoutMs).finally(() => {
      this.connecting = null;
    });
    return this.connecting;
  }

  private async connect(timeoutMs: number): Promise<Connected> {
    const { signal } = this.giveUp;
    if (this.failures > 0) {
      const backoffMs = Math.min(longestBackoffMs, firstBackoffMs * 2 ** (this.failures - 1));
      await sleep(this.clock, backoffMs, signal);
      signal.throwIfAborted();
    }
    if (this.closed) throw new Error('already closed');
    let opening: Promise<Connected> | null = null;
    const open = (until: AbortSignal) => {
      opening = this.opened(timeoutMs, until);
      return opening;
    };
    try {
      this.current = await this.inTime(timeoutMs, open);
    } catch (error) {
      this.failures += 1;
      // What was begun ends first; the error is the one that is thrown.
      await inTime({ clock: this.clock, timeoutMs: longestEndMs }, 'it does not end', () => opening).then(
        (late) => late && this.end(late),
        () => undefined,
      );
      throw error;
    }
    this.failures = 0;
    const { current } = this;
    current.client.onclose = () => this.lose(current, 'the connection was closed');
    current.client.onerror = (error) => this.suspect(current.client, error);
    void this.list.watch(current.client);
    return current;
  }

  /** Connects a client that has read the list. One that is given up is ended. */
  private async opened(timeoutMs: number, signal: AbortSignal): Promise<Connected> {
    const connected = await this.connector.connect({
      timeoutMs,
      signal,
      onLine: (line) => {
        if (line.trim() !== '') this.lastWords = line;
        for (const listener of this.listeners) listener.onDebug(line);
      },
      onSecret: (name, value) => this.sent.note(name, value),
      ask: (params) => this.asking.answer(params),
      prepare: (client) =>
        client.setNotificationHandler('notifications/tools/list_changed', () => void this.list.refresh(client)),
      end: (failed) => this.end(failed),
    });
    try {
      await this.list.read(connected.client, signal);
      return connected;
    } catch (error) {
      await this.end(connected);
      throw error;
    }
  }

  /** Runs a task until it takes longer than `timeoutMs`, or the connection is closed. */
  private inTime<T>(timeoutMs: number, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const limits = { clock: this.clock, timeoutMs, signal: this.giveUp.signal };
    return inTime(limits, `no answer within ${timeoutMs} ms`, task);
  }

  /** Handles an error outside a call: checks whether the server still answers, and treats it as lost if not. */
  private suspect(client: Client, error: Error): void {
    inform(this.listeners, error);
    const { current } = this;
    if (current?.client !== client || !('url' in this.config)) return;
    const asked = async (signal: AbortSignal) => {
      const options = { ...noTimeout, signal };
      await (client.getProtocolEra() === 'modern' ? client.discover(options) : client.ping(options));
    };
    this.inTime(pingTimeoutMs, asked).catch((reason) => this.lose(current, messageOf(reason)));
  }

  private lose(connected: Connected, message: string): void {
    if (this.current !== connected) return;
    this.current = null;
    this.failures = Math.max(1, this.failures);
    for (const listener of this.listeners) listener.onLost(message);
    // Pending requests then get an error.
    const ending = this.end(connected).finally(() => this.ending.delete(ending));
    this.ending.add(ending);
  }
}
