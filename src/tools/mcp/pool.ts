import { z } from 'zod';
import { systemClock } from '../../host/clock.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { onNode } from '../../input/on-node.ts';
import { lazily } from '../../platform/lazily.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { McpServerConfig } from './config.ts';
import type { McpConnection } from './connection.ts';
import { checkServer } from './definition.ts';

const serversSchema = lazily(() => z.custom<object>(isRecord, { error: 'an object of servers by name' }));

/** MCP servers that sessions share. Each connects on first use and stays connected until the pool is closed. */
export class McpPool {
  /** The servers to pass to agents as `mcpServers`, all or some. */
  readonly servers: Record<string, SharedMcpServer>;
  private closed = false;
  private readonly connections = new Map<string, McpConnection>();

  constructor(configs: Record<string, McpServerConfig>) {
    check(serversSchema(), configs, 'mcpServers', 'invalid_server');
    for (const [name, config] of Object.entries(configs)) checkServer(name, config);
    this.servers = Object.fromEntries(
      Object.entries(configs).map(([name, config]) => [name, { name, shared: config, pool: this }]),
    );
  }

  connection(name: string, make: () => McpConnection): McpConnection {
    if (this.closed) throw new PawlError('invalid_options', `The pool of the MCP server "${name}" is closed.`);
    const connection = this.connections.get(name) ?? make();
    this.connections.set(name, connection);
    return connection;
  }

  /** Connects all servers now instead of on first use. Rejects with the first connection error. */
  async open(timeoutMs = 30_000): Promise<void> {
    const { McpConnection } = await onNode('An MCP server', () => import('./connection.ts'));
    const opening = Object.values(this.servers).map(({ name, shared }) =>
      this.connection(name, () => new McpConnection(name, shared, systemClock)).open(
        timeoutMs,
        new AbortController().signal,
        true,
      ),
    );
    await Promise.all(opening);
  }

  async close(): Promise<void> {
    this.closed = true;
    const connections = [...this.connections.values()];
    this.connections.clear();
    await Promise.all(connections.map((connection) => connection.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Creates a pool. Servers connect when they are needed. Throws `invalid_server` for an invalid definition. */
export function mcpPool(configs: Record<string, McpServerConfig>): McpPool {
  return new McpPool(configs);
}

/** A server for one session, or a server that several sessions share (`mcpPool`). */
export type McpServerDefinition = McpServerConfig | SharedMcpServer;

/** A server whose connection outlives the session. */
export type SharedMcpServer = { readonly name: string; readonly shared: McpServerConfig; readonly pool: McpPool };
