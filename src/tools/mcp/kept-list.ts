import { isDeepStrictEqual } from 'node:util';
import type { Client } from '@modelcontextprotocol/client';
import { type Clock, sleep } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { noTimeout } from './connector.ts';
import { listTools, type McpTool } from './list.ts';
import { inform, type McpListener } from './listener.ts';

/** Timeout to list tools again, in ms. */
const listTimeoutMs = 30_000;
/** Pause between two refreshes of a list that keeps changing, in ms. */
const listPauseMs = 100;
/** Pauses before a subscription that ended is opened again, in ms. */
const [firstPauseMs, longestPauseMs] = [1_000, 60_000];

export type KeptListOptions = {
  clock: Clock;
  listeners: Iterable<McpListener>;
  /** Takes credentials out of what the server gave. */
  clean: <T>(value: T) => T;
  /** Aborts when the connection is closed. */
  closed: () => AbortSignal;
  /** The client that is in use. */
  current: () => Client | null;
  /** Called when the server ended a subscription, or refuses it. */
  suspect: (client: Client, error: Error) => void;
};

/** The tool list of a server, read again when the server says that it changed, or that it holds no longer (`ttlMs`). */
export class KeptList {
  tools: readonly McpTool[] = [];
  private readonly options: KeptListOptions;
  /** Epoch ms. */
  private holdsUntil = Number.POSITIVE_INFINITY;
  private refreshing = false;
  private stale = false;

  constructor(options: KeptListOptions) {
    this.options = options;
  }

  /** Whether the server's own time for the list has passed. */
  get hasExpired(): boolean {
    return this.options.clock.now() >= this.holdsUntil;
  }

  /** Reads the list, and tells the listeners if it has changed. */
  async read(client: Client, signal: AbortSignal): Promise<void> {
    const { clock, listeners, clean } = this.options;
    const { leftOut, ttlMs, ...listed } = await listTools(client, { ...noTimeout, signal });
    const tools = clean(listed.tools);
    signal.throwIfAborted();
    this.holdsUntil = ttlMs === null ? Number.POSITIVE_INFINITY : clock.now() + ttlMs;
    for (const reason of leftOut) for (const listener of listeners) listener.onLeftOut(reason);
    if (isDeepStrictEqual(tools, this.tools)) return;
    this.tools = tools;
    for (const listener of listeners) listener.onTools();
  }

  /** Reads the list again. If it keeps changing, this is spaced out, with once more after the last change. */
  async refresh(client: Client): Promise<void> {
    const { clock, listeners, closed, current } = this.options;
    if (this.refreshing) {
      this.stale = true;
      return;
    }
    this.refreshing = true;
    try {
      do {
        this.stale = false;
        // A client that came meanwhile may have been told of a change, too.
        const reading = current() ?? client;
        const limits = { clock, timeoutMs: listTimeoutMs, signal: closed() };
        const read = (signal: AbortSignal) => this.read(reading, signal);
        // A change in the middle of a list may end it with an error.
        await inTime(limits, `no answer within ${listTimeoutMs} ms`, read).catch((error) => inform(listeners, error));
        await sleep(clock, listPauseMs, closed());
      } while (this.stale && current() !== null);
    } finally {
      this.refreshing = false;
    }
  }

  /** Hears of changes: by notifications, for which a server of revision 2026-07-28 needs a subscription. */
  async watch(client: Client): Promise<void> {
    const { clock, closed, current, suspect } = this.options;
    const isOpen = () => current() === client && !closed().aborted;
    if (client.getProtocolEra() !== 'modern' || client.getServerCapabilities()?.tools?.listChanged !== true) return;
    for (let pauseMs = firstPauseMs; isOpen(); pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
      try {
        const subscription = await client.listen({ toolsListChanged: true }, { ...noTimeout, signal: closed() });
        // The list may have changed while nobody listened.
        if (pauseMs > firstPauseMs) void this.refresh(client);
        if ((await subscription.closed) === 'local') return;
      } catch (error) {
        if (isOpen()) suspect(client, error instanceof Error ? error : new Error(String(error)));
      }
      if (isOpen()) await sleep(clock, pauseMs, closed());
    }
  }
}
