import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
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
