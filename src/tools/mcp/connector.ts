import {
  Client,
  type ElicitRequest,
  type ElicitResult,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { systemClock } from '../../host/clock.ts';
import { longestMs } from '../../input/shapes.ts';
import { packageVersion } from '../../platform/version.ts';
import { tasksExtension, withTasks } from './calls/task-results.ts';
import type { McpServerConfig } from './config.ts';
import { StdioTransport } from './stdio.ts';
import { type Connected, sseTransport, transportOf } from './transport.ts';

/** Effectively disables the SDK's timeout, since each request has its own signal. */
export const noTimeout = { timeout: longestMs };

/** Ms that a process has to answer what it may not know, before it is spoken to as an older one. */
const longestProbeMs = 3_000;

export type ConnectOptions = {
  timeoutMs: number;
  signal: AbortSignal;
  /** Gets each line that a server process writes to stderr. */
  onLine: (line: string) => void;
  /** Gets each header by which a request may send a credential that the configuration does not hold. */
  onSecret: (name: string, value: string) => void;
  /** Answers what the server asks the user. */
  ask: (params: ElicitRequest['params']) => Promise<ElicitResult>;
  /** Called with each client before it connects. */
  prepare: (client: Client) => void;
  /** Ends a client that could not be connected. */
  end: (connected: Connected) => Promise<void>;
};

/**
 * How a server is connected: as those of today expect it, or as another may need it: after a long start, without the question
 * for the newest revision, or over the event stream of HTTP with SSE.
 */
type Way = 'newest' | 'patient' | 'unasked' | 'sse';

/** What worked last, so that an agent's next session need not find out again. */
const known = new WeakMap<McpServerConfig, Way>();

/**
 * Connects clients to one server. They ask for revision 2026-07-28 (`server/discover`), and speak an earlier one to servers
 * that don't know it. A server that exits at this request, or never answers it, is
 * connected without it. A URL that refuses such requests is opened as the event stream of HTTP with SSE. What worked is
 * tried first the next time.
 */
export class Connector {
  private readonly config: McpServerConfig;

  constructor(config: McpServerConfig) {
    this.config = config;
  }

  async connect(options: ConnectOptions): Promise<Connected> {
    const before = known.get(this.config);
    known.delete(this.config);
    const first = await this.attempt(before ?? 'newest', options);
    if ('client' in first) return first;
    // A server that answered the newest request before was not ended by it.
    const isKnown = before !== undefined && (before !== 'newest' || first.next === 'unasked');
    if (first.next === null || isKnown || options.signal.aborted) throw first.error;
    const second = await this.attempt(first.next, options);
    // What the other way met says less than what the newest did.
    if (!('client' in second)) throw first.error;
    return second;
  }

  /** Connects in one way; on failure, returns the error and the way that may work instead. */
  private async attempt(
    way: Way,
    { timeoutMs, signal, onLine, onSecret, ask, prepare, end }: ConnectOptions,
  ): Promise<Connected | { error: unknown; next: Way | null }> {
    const { config } = this;
    // A server over HTTP that does not answer soon is busy: older ones refuse what they don't know.
    const longestMs = 'url' in config ? timeoutMs : longestProbeMs;
    const probeMs = way === 'patient' ? timeoutMs : Math.min(longestMs, timeoutMs / 2);
    const client = clientWith(config.handlers, ask, probeMs);
    const transport = way === 'sse' ? sseTransport(config, onSecret) : transportOf(config, onLine, onSecret);
    withTasks(transport);
    const isProcess = transport instanceof StdioTransport;
    prepare(client);
    // A client that waits for its first answer knows no signal.
    const giveUp = () => void (async () => transport.close())().catch(() => undefined);
    signal.addEventListener('abort', giveUp, { once: true });
    const startedAt = systemClock.now();
    const wasSilent = () => systemClock.now() - startedAt >= probeMs;
    try {
      const prior = ['newest', 'patient'].includes(way) ? {} : { prior: { kind: 'legacy' as const } };
      await client.connect(transport, { ...noTimeout, signal, ...prior });
      signal.throwIfAborted();
      // The SDK speaks to a silent process as to an older one.
      const found = way === 'newest' && isProcess && wasSilent() && client.getProtocolEra() === 'legacy';
      known.set(config, found ? 'unasked' : way);
      return { client, transport };
    } catch (error) {
      const isReadyMade = 'transport' in config && typeof config.transport !== 'function';
      const hasExited = isProcess && transport.hasExited;
      await end({ client, transport });
      // A transport of the old package tells of a refusal by an error of its own.
      const isOld = 'transport' in config && isUnclear(error);
      if (hasExited || ((isSilent(error) || isOld) && !isReadyMade)) return { error, next: 'unasked' };
      if (isProcess) return { error, next: wasSilent() ? 'patient' : null };
      return { error, next: takesNoRequests(error) ? 'sse' : null };
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }
}

function isSilent(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

function isUnclear(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.EraNegotiationFailed;
}

function takesNoRequests(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status);
}

/** Returns a client that answers what a server asks with `handlers`. */
function clientWith(
  { elicit, sample }: NonNullable<McpServerConfig['handlers']> = {},
  ask: ConnectOptions['ask'],
  probeMs: number,
): Client {
  const extensions = { [tasksExtension]: {} };
  const capabilities = { extensions, ...(elicit && { elicitation: {} }), ...(sample && { sampling: {} }) };
  const versionNegotiation = { mode: 'auto' as const, probe: { timeoutMs: probeMs } };
  const client = new Client({ name: 'pawl', version: packageVersion }, { capabilities, versionNegotiation });
  if (elicit) client.setRequestHandler('elicitation/create', ({ params }) => ask(params));
  if (sample) client.setRequestHandler('sampling/createMessage', ({ params }) => sample(params));
  return client;
}
