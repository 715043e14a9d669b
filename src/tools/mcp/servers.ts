import { createHash } from 'node:crypto';
import { type Clock, systemClock } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import type { Sighting } from '../../observe/events.ts';
import { compileForeign } from '../../schema/foreign-schema.ts';
import type { CompiledSchema } from '../../schema/schema.ts';
import { type CatalogTool, functionTool, later } from '../catalog-tool.ts';
import { McpResult } from './calls/result.ts';
import type { McpServerConfig } from './config.ts';
import { McpConnection } from './connection.ts';
import type { McpTool } from './list.ts';
import type { McpServerDefinition } from './pool.ts';

export type McpServersOptions = {
  /** For the timeouts of servers that are not shared. */
  clock: Clock;
  sight: (sighting: Sighting) => void;
  debug: (server: string, line: string) => void;
  info: (server: string, line: string) => void;
  /** Called when a server's tools change after opening. */
  onChange: () => void;
};

type Server = {
  name: string;
  config: McpServerConfig;
  connection: McpConnection;
  own: boolean;
  stopListening: () => void;
};

/** The MCP servers of one session. */
export class McpServers {
  private readonly servers: readonly Server[];
  private readonly options: McpServersOptions;
  private readonly schemas = new Map<string, CompiledSchema | string>();
  private opened = false;

  constructor(definitions: Record<string, McpServerDefinition>, options: McpServersOptions) {
    this.options = options;
    this.servers = Object.entries(definitions).map(([name, definition]) => {
      const own = !('shared' in definition);
      const config = own ? definition : definition.shared;
      const connection = own
        ? new McpConnection(name, config, options.clock)
        : definition.pool.connection(definition.name, () => new McpConnection(definition.name, config, systemClock));
      const stopListening = connection.listen({
        onTools: () => this.changed(name, connection),
        onLost: (message) => options.sight({ type: 'server.lost', server: name, message }),
        onDebug: (line) => options.debug(name, line),
        onLeftOut: (reason) => options.info(name, reason),
      });
      return { name, config, connection, own, stopListening };
    });
  }

  /** Connects all servers in parallel. Returns null, or why a required server is missing (`tools_unavailable`). */
  async open(timeoutMs: number, signal: AbortSignal): Promise<string | null> {
    const opening = this.servers.map((server) => this.openOne(server, timeoutMs, signal));
    // The first missing server is reported without waiting for others.
    const failed = opening.map(async (one) => (await one) ?? new Promise<never>(() => undefined));
    const missing = await Promise.race([Promise.all(opening).then(() => null), ...failed]);
    this.opened = true;
    return missing;
  }

  /** Returns the tools under clean, stable names of at most 64 characters that are not in `taken`. */
  tools(taken: Set<string>): CatalogTool[] {
    return this.servers.flatMap((server) =>
      permitted(server).flatMap((tool) => {
        const compiled = this.compiled(tool);
        if (typeof compiled === 'string') {
          this.options.info(server.name, `skipped ${tool.name}: its input schema cannot be used: ${compiled}`);
          return [];
        }
        const name = toolName(server.name, tool.name, taken);
        taken.add(name);
        return [catalogTool(name, server, tool, compiled)];
      }),
    );
  }

  /** Closes the servers that are not shared. */
  async close(): Promise<void> {
    await Promise.all(
      this.servers.map(({ connection, own, stopListening }) => {
        if (own) return connection.close();
        stopListening();
        return undefined;
      }),
    );
  }

  /** Returns a tool's input schema, made once per distinct schema, or why it cannot be used. */
  private compiled({ inputSchema }: McpTool): CompiledSchema | string {
    const text = JSON.stringify(inputSchema);
    let compiled = this.schemas.get(text);
    if (compiled === undefined) {
      try {
        compiled = compileForeign({ ...inputSchema });
      } catch (error) {
        compiled = messageOf(error);
      }
      this.schemas.set(text, compiled);
    }
    return compiled;
  }

  private async openOne(server: Server, timeoutMs: number, signal: AbortSignal): Promise<string | null> {
    const { name, config, connection } = server;
    const { sight, info } = this.options;
    try {
      await connection.open(timeoutMs, signal, !server.own);
      for (const unknown of unmatched(server))
        info(name, `the options for server ${name} list ${unknown}, but it has no such tool`);
      sight({ type: 'server.connected', server: name, tools: permitted(server).map((tool) => tool.name) });
      return null;
    } catch (error) {
      const message = messageOf(error);
      if (config.optional !== true) return `the MCP server ${name} is unavailable: ${message}`;
      sight({ type: 'server.unavailable', server: name, message });
      info(name, `the optional MCP server ${name} is unavailable: ${message}`);
      return null;
    }
  }

  private changed(name: string, connection: McpConnection): void {
    if (!this.opened) return;
    const tools = connection.tools.map((tool) => tool.name);
    this.options.sight({ type: 'server.toolsChanged', server: name, tools });
    this.options.onChange();
  }
}

function permitted({ config, connection }: Server): McpTool[] {
  const { allow, deny = [] } = config;
  return connection.tools.filter(({ name }) => (allow?.includes(name) ?? true) && !deny.includes(name));
}

/** Returns the names in the options that match none of the server's tools. */
function unmatched({ config, connection }: Server): string[] {
  const { allow = [], deny = [], needsApproval, idempotent, timeoutMs } = config;
  const named = [
    ...allow,
    ...deny,
    ...(typeof timeoutMs === 'object' ? Object.keys(timeoutMs) : []),
    ...[needsApproval, idempotent].flatMap((names) => (Array.isArray(names) ? names : [])),
  ];
  return named.filter((name) => !connection.tools.some((tool) => tool.name === name));
}

/** Returns `server__tool`. If that name is invalid or taken, it is changed and ends in a hash of the original. */
export function toolName(server: string, tool: string, taken: ReadonlySet<string>): string {
  const whole = `${server}__${tool}`;
  const clean = whole.replace(/[^A-Za-z0-9_-]/g, '_');
  if (clean === whole && clean.length <= 64 && !taken.has(clean)) return clean;
  for (let copy = 1; ; copy += 1) {
    const digest = createHash('sha256')
      .update(`${server}\n${tool}${copy === 1 ? '' : `\n${copy}`}`)
      .digest('hex');
    const name = `${clean.slice(0, 55)}_${digest.slice(0, 8)}`;
    if (!taken.has(name)) return name;
  }
}

function catalogTool(
  name: string,
  { name: server, config, connection }: Server,
  tool: McpTool,
  schema: CompiledSchema,
): CatalogTool {
  const { needsApproval = false, idempotent = false, timeoutMs } = config;
  const ownTimeout = typeof timeoutMs === 'object' ? timeoutMs[tool.name] : timeoutMs;
  const isNamed = (some: boolean | readonly string[]) => (typeof some === 'boolean' ? some : some.includes(tool.name));
  const approval = isNamed(needsApproval);
  return {
    ...(isNamed(idempotent) && { afterCrash: 'repeat' }),
    ...(ownTimeout !== undefined && { timeoutMs: ownTimeout }),
    name,
    server,
    kind: 'real',
    offered: later(
      Promise.resolve(schema.jsonSchema).then((jsonSchema) => functionTool(name, tool.description, jsonSchema)),
    ),
    validate: (input) => schema.validate(input),
    needsApproval: () => approval,
    execute: (input, run) => connection.call(tool.name, Object(input), run),
    cancelTask: (taskId) => connection.tasks.cancel(taskId),
    toModelOutput: async (value) =>
      value instanceof McpResult ? value.output() : { type: 'text', value: String(value) },
  };
}
