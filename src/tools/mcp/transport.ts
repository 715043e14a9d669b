import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Clock } from '../../host/clock.ts';
import { inTime } from '../../host/deadline.ts';
import { patientFetch } from '../../model/patient-fetch.ts';
import type { McpServerConfig } from './definition.ts';
import { StdioTransport } from './stdio.ts';

/** Returns a new transport to a server, or the ready-made one. `onLine` gets the lines that a process writes to stderr. */
export function transportOf(config: McpServerConfig, onLine: (line: string) => void): Transport {
  if ('command' in config) return new StdioTransport(config, onLine);
  if ('url' in config) {
    const requestInit = { headers: config.headers ?? {} };
    return new StreamableHTTPClientTransport(new URL(config.url), { requestInit, fetch: patientFetch });
  }
  return typeof config.transport === 'function' ? config.transport() : config.transport;
}

/** Timeout for each closing step, in ms: a hung server must not block the end of a session. */
const closeTimeoutMs = 3_000;

/** Ends a client. An HTTP server is told that its session is over. `onError` gets what fails. */
export async function ended(client: Client, clock: Clock, onError: (error: unknown) => void): Promise<void> {
  const { transport } = client;
  const steps = [() => client.close()];
  if (transport instanceof StreamableHTTPClientTransport) steps.unshift(() => transport.terminateSession());
  const limits = { clock, timeoutMs: closeTimeoutMs };
  for (const step of steps) await inTime(limits, `closing took more than ${closeTimeoutMs} ms`, step).catch(onError);
}
