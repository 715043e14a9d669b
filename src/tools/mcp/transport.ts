import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  type JSONRPCMessage,
} from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { withBoundedLines } from '../../http/bounded-fetch.ts';
import { patientFetch } from '../../http/patient-fetch.ts';
import { packageVersion } from '../../platform/version.ts';
import type { McpServerConfig } from './config.ts';
import { watching } from './posted-call.ts';
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

function isNotification(message: JSONRPCMessage | JSONRPCMessage[]): boolean {
  return !Array.isArray(message) && 'method' in message && !('id' in message);
}

/** Returns a client that answers what a server asks with `handlers`. */
export function clientWith({ elicit, sample }: NonNullable<McpServerConfig['handlers']> = {}): Client {
  const capabilities = { ...(elicit && { elicitation: {} }), ...(sample && { sampling: {} }) };
  const client = new Client({ name: 'pawl', version: packageVersion }, { capabilities });
  if (elicit) client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
  if (sample) client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => sample(params));
  return client;
}

/** Returns a new transport to a server, or the ready-made one. `onLine` gets the lines that a process writes to stderr. */
export function transportOf(config: McpServerConfig, onLine: (line: string) => void): Transport {
  if ('command' in config) return new StdioTransport(config, onLine);
  if ('url' in config) {
    const { url, headers = {} } = config;
    const requestInit = { headers: typeof headers === 'function' ? {} : headers };
    const send = typeof headers === 'function' ? withHeaders(serverFetch, headers) : serverFetch;
    return new HttpTransport(new URL(url), { requestInit, fetch: watching(send) });
  }
  return typeof config.transport === 'function' ? config.transport() : config.transport;
}

/** Returns a `fetch` that asks for its headers at each request. */
function withHeaders(
  send: typeof fetch,
  made: () => Record<string, string> | Promise<Record<string, string>>,
): typeof fetch {
  return async (input, init) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(await made())) headers.set(name, value);
    return send(input, { ...init, headers });
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
export async function endClient(client: Client, clock: Clock, onError: (error: unknown) => void): Promise<void> {
  const { transport } = client;
  const inStep = (timeoutMs: number, step: () => Promise<void>) =>
    inTime({ clock, timeoutMs }, `closing took more than ${timeoutMs} ms`, step).catch(onError);
  const steps = [() => client.close()];
  if (transport instanceof HttpTransport) {
    await inStep(tellTimeoutMs, () => transport.told());
    steps.unshift(() => transport.terminateSession());
  }
  for (const step of steps) await inStep(closeTimeoutMs, step);
}
