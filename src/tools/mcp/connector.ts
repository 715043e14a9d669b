import { Client, ProtocolError, SdkError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { packageVersion } from '../../platform/version.ts';
import type { McpServerConfig } from './config.ts';
import { StdioTransport } from './stdio.ts';
import { type Connected, sseTransport, transportOf } from './transport.ts';

/** Effectively disables the SDK's timeout, since each request has its own signal. */
export const noTimeout = { timeout: 2_147_483_647 };

/** Ms that a server has to answer what it may not know, before it is spoken to as an older one. */
const longestProbeMs = 10_000;

export type ConnectOptions = {
  timeoutMs: number;
  signal: AbortSignal;
  /** Gets each line that a server process writes to stderr. */
  onLine: (line: string) => void;
  /** Gets each credential that a request sends and the configuration does not hold. */
  onSecret: (secret: string) => void;
  /** Called with each client before it connects. */
  prepare: (client: Client) => void;
  /** Ends a client that could not be connected. */
  end: (connected: Connected) => Promise<void>;
};

/** How a server is connected: as those of today expect it, or as an older one may need it. */
type Way = 'newest' | 'unasked' | 'sse';

/**
 * Connects clients to one server. They ask for revision 2026-07-28 (`server/discover`), and speak an earlier one to servers
 * that don't know it. One that the question ended, or that does not answer it, is connected again without it; a URL that
 * takes no such request is asked for the event stream of HTTP with SSE. What worked is tried first the next time.
 */
export class Connector {
  private readonly config: McpServerConfig;
  private way: Way = 'newest';

  constructor(config: McpServerConfig) {
    this.config = config;
  }

  async connect(options: ConnectOptions): Promise<Connected> {
    const { way } = this;
    this.way = 'newest';
    const first = await this.attempt(way, options);
    if ('client' in first) {
      this.way = way;
      return first;
    }
    if (first.next === null || way !== 'newest' || options.signal.aborted) throw first.error;
    const second = await this.attempt(first.next, options);
    // What the older way met says less than what the newest did.
    if (!('client' in second)) throw first.error;
    this.way = first.next;
    return second;
  }

  /** Connects in one way; on failure, returns the error and the way that may work instead. */
  private async attempt(
    way: Way,
    { timeoutMs, signal, onLine, onSecret, prepare, end }: ConnectOptions,
  ): Promise<Connected | { error: unknown; next: Way | null }> {
    const { config } = this;
    const client = clientWith(config.handlers, Math.min(longestProbeMs, timeoutMs / 2));
    const transport = way === 'sse' ? sseTransport(config, onSecret) : transportOf(config, onLine, onSecret);
    prepare(client);
    // A client that waits for its first answer knows no signal.
    const giveUp = () => void transport.close();
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const prior = way === 'newest' ? {} : { prior: { kind: 'legacy' as const } };
      await client.connect(transport, { ...noTimeout, signal, ...prior });
      signal.throwIfAborted();
      return { client, transport };
    } catch (error) {
      const hasExited = transport instanceof StdioTransport && transport.hasExited;
      await end({ client, transport });
      const isReadyMade = 'transport' in config && typeof config.transport !== 'function';
      if (hasExited || (isSilent(error) && !isReadyMade)) return { error, next: 'unasked' };
      return { error, next: takesNoRequests(error) ? 'sse' : null };
    } finally {
      signal.removeEventListener('abort', giveUp);
    }
  }
}

function isSilent(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

function takesNoRequests(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 405].includes(error.status);
}

/** Returns a client that answers what a server asks with `handlers`. */
function clientWith({ elicit, sample }: NonNullable<McpServerConfig['handlers']> = {}, probeMs: number): Client {
  const capabilities = { ...(elicit && { elicitation: {} }), ...(sample && { sampling: {} }) };
  const versionNegotiation = { mode: 'auto' as const, probe: { timeoutMs: probeMs } };
  const client = new Client({ name: 'pawl', version: packageVersion }, { capabilities, versionNegotiation });
  if (elicit) client.setRequestHandler('elicitation/create', ({ params }) => elicit(params));
  if (sample) client.setRequestHandler('sampling/createMessage', ({ params }) => sample(params));
  return client;
}

/** What a client knows of a connection that is gone, or could not be opened. */
const withoutConnection: readonly SdkErrorCode[] = [
  SdkErrorCode.NotConnected,
  SdkErrorCode.ConnectionClosed,
  SdkErrorCode.SendFailed,
  SdkErrorCode.RequestTimeout,
];

/** Whether the server answered: with an error, or with what violates the protocol. */
export function isAnswer(error: unknown): error is ProtocolError | SdkError {
  return error instanceof ProtocolError || (error instanceof SdkError && !withoutConnection.includes(error.code));
}
