import { PawlError } from '../errors.ts';
import type { McpConnection } from './mcp.ts';
import { checkServer, type McpServerConfig, type SharedMcpServer } from './mcp-definition.ts';

/** MCP servers that many sessions share: each is connected at its first use, and stays until the pool is closed. */
export class McpPool {
  /** To be given to agents as their `mcpServers`, all or some. */
  readonly servers: Record<string, SharedMcpServer>;
  private closed = false;
  private readonly connections = new Map<string, McpConnection>();

  constructor(configs: Record<string, McpServerConfig>) {
    for (const [name, config] of Object.entries(configs)) checkServer(name, config);
    this.servers = Object.fromEntries(
      Object.entries(configs).map(([name, config]) => [name, { name, shared: config, pool: this }]),
    );
  }

  connection(name: string, make: () => McpConnection): McpConnection {
    if (this.closed)
      throw new PawlError(
        'invalid_options',
        `the pool of the MCP server ${name} is closed: a pool that is open is needed.`,
      );
    const connection = this.connections.get(name) ?? make();
    this.connections.set(name, connection);
    return connection;
  }

  /** Connects all of them now, rather than at their first use; rejects with the first that does not come up. */
  async open(timeoutMs = 30_000): Promise<void> {
    const { McpConnection } = await import('./mcp.ts');
    const opening = Object.values(this.servers).map(({ name, shared }) =>
      this.connection(name, () => new McpConnection(name, shared)).open(timeoutMs, new AbortController().signal, true),
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

/** Makes a pool. Throws `invalid_server` for a server that cannot be; nothing is connected before it is needed. */
export function mcpPool(configs: Record<string, McpServerConfig>): McpPool {
  return new McpPool(configs);
}
