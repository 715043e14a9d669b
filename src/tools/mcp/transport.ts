import {
  type AuthProvider,
  type Client,
  type JSONRPCMessage,
  type OAuthClientProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import type { Clock } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { withBoundedLines } from '../../http/bounded-fetch.ts';
import { patientFetch } from '../../http/patient-fetch.ts';
import { watching } from './calls/posted-call.ts';
import type { McpServerConfig } from './config.ts';
import { longestMessage, StdioTransport } from './stdio.ts';

/** A connection over HTTP, where each notification is a request of its own, which a later one may overtake. */
class HttpTransport extends StreamableHTTPClientTransport {
  private readonly telling = new Set<Promise<void>>();

  override send(...[message, options]: Parameters<StreamableHTTPClientTransport['send']>): Promise<void> {
    const sending = super.send(message, options);
    if (!isNotification(message)) return sending;
    const told = sending.catch(() => undefined).then(() => void this.telling.delete(told));
    this.telling.add(told);
    return sending;
  }

  /** Resolves when the notifications sent so far have arrived, or failed. */
  async told(): Promise<void> {
    await Promise.all(this.telling);
  }
}

/** A client and the transport that it speaks over, which it closes only once it is connected. */
export type Connected = { readonly client: Client; readonly transport: Transport };

function isNotification(message: JSONRPCMessage | JSONRPCMessage[]): boolean {
  return !Array.isArray(message) && 'method' in message && !('id' in message);
}

/** Returns a new transport to a server, or the ready-made one. */
export function transportOf(
  config: McpServerConfig,
  onLine: (line: string) => void,
  onSecret: (name: string, value: string) => void,
): Transport {
  if ('command' in config) return new StdioTransport(config, onLine);
  if ('url' in config) return new HttpTransport(new URL(config.url), httpOptions(config, onSecret));
  return typeof config.transport === 'function' ? config.transport() : config.transport;
}

/** Returns the transport that streamable HTTP replaced. */
export function sseTransport(config: McpServerConfig, onSecret: (name: string, value: string) => void): Transport {
  if (!('url' in config)) throw new Error('not a URL');
  return new SSEClientTransport(new URL(config.url), httpOptions(config, onSecret));
}

function httpOptions(
  { headers = {}, auth }: Extract<McpServerConfig, { url: string }>,
  onSecret: (name: string, value: string) => void,
) {
  const isMade = typeof headers === 'function';
  const requestInit = { headers: isMade ? {} : headers };
  const authProvider: AuthProvider | OAuthClientProvider | undefined =
    typeof auth === 'function' ? { token: async () => await auth() } : auth;
  const send = isMade ? withHeaders(serverFetch, headers, onSecret) : serverFetch;
  return {
    requestInit,
    fetch: watching(showing(send, onSecret)),
    ...(authProvider !== undefined && { authProvider }),
  };
}

/** Returns a `fetch` that asks for its headers at each request. */
function withHeaders(
  send: typeof fetch,
  made: () => Record<string, string> | Promise<Record<string, string>>,
  onSecret: (name: string, value: string) => void,
): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(await made())) {
      headers.set(name, value);
      onSecret(name, value);
    }
    return send(input, { ...init, headers });
  };
}

/** Returns a `fetch` that tells the token of each request. */
function showing(send: typeof fetch, onSecret: (name: string, value: string) => void): typeof fetch {
  return (input, init) => {
    const token = new Headers(init?.headers).get('authorization');
    if (token !== null) onSecret('authorization', token);
    return send(input, init);
  };
}

/** A message of a server is as long as over stdio at most. */
const serverFetch: typeof fetch = async (input, init) =>
  withBoundedLines(await patientFetch(input, init), longestMessage);

/** Timeout for each closing step, in ms: a hung server must not block the end of a session. */
const closeTimeoutMs = 3_000;
/** Timeout for notifications that are still on their way, in ms. */
const tellTimeoutMs = 1_000;

/**
 * Ends a client. An HTTP server is told that its session is over, after what it was told before has arrived, such as the
 * cancellation of a call (D-2). `onError` gets what fails.
 */
export async function endClient(
  { client, transport }: Connected,
  clock: Clock,
  onError: (error: unknown) => void,
): Promise<void> {
  const inStep = (timeoutMs: number, step: () => Promise<void>) =>
    inTime({ clock, timeoutMs }, `closing took more than ${timeoutMs} ms`, step).catch(onError);
  const isAttached = client.transport !== undefined;
  const steps = [() => (isAttached ? client.close() : transport.close())];
  if (transport instanceof HttpTransport && isAttached) {
    await inStep(tellTimeoutMs, () => transport.told());
    steps.unshift(() => transport.terminateSession());
  }
  for (const step of steps) await inStep(closeTimeoutMs, step);
}
