import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type {
  CreateMessageRequest,
  CreateMessageResult,
  ElicitRequest,
  ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { check } from '../check.ts';
import { PawlError, shown } from '../errors.ts';
import type { McpPool } from './mcp-pool.ts';

/** What holds of a server however it is reached. */
export type McpServerOptions = {
  /** A session goes on without the server where it does not come up; default false. */
  optional?: boolean;
  /** Names of the server's tools that are used; default all. */
  allow?: readonly string[];
  /** Names of the server's tools that are not. */
  deny?: readonly string[];
  /** Which of its tools somebody has to approve: all, or those named; default none. */
  needsApproval?: boolean | readonly string[];
  /** Answers what the server asks of the user, or of a model; without them both are declined. */
  handlers?: {
    elicit?: (request: ElicitRequest['params']) => ElicitResult | Promise<ElicitResult>;
    sample?: (request: CreateMessageRequest['params']) => CreateMessageResult | Promise<CreateMessageResult>;
  };
};

/**
 * An MCP server: a process that speaks over stdio (`env` is added to a few harmless variables of this process), a
 * streamable HTTP endpoint, or a transport that is ready (a function makes one anew after it was lost).
 */
export type McpServerConfig = McpServerOptions &
  (
    | { command: string; args?: readonly string[]; env?: Record<string, string>; cwd?: string }
    | { url: string; headers?: Record<string, string> }
    | { transport: Transport | (() => Transport) }
  );

/** A server of the session's own, or one that many sessions share (`mcpPool`). */
export type McpServerDefinition = McpServerConfig | SharedMcpServer;

/** A connection that lives longer than a session. */
export type SharedMcpServer = { readonly name: string; readonly shared: McpServerConfig; readonly pool: McpPool };

const handler = z.custom<unknown>((value) => typeof value === 'function', { error: 'a function is allowed' });
const common = {
  optional: z.boolean({ error: 'a boolean is allowed' }).optional(),
  allow: z.array(z.string(), { error: 'an array of tool names is allowed' }).optional(),
  deny: z.array(z.string(), { error: 'an array of tool names is allowed' }).optional(),
  needsApproval: z
    .union([z.boolean(), z.array(z.string())], { error: 'a boolean or an array of tool names is allowed' })
    .optional(),
  handlers: z.strictObject({ elicit: handler.optional(), sample: handler.optional() }).optional(),
};
const texts = z.record(z.string(), z.string(), { error: 'an object of strings is allowed' });
const kinds = {
  command: z.strictObject({
    ...common,
    command: z.string().min(1, { error: 'a command is needed' }),
    args: z.array(z.string(), { error: 'an array of strings is allowed' }).optional(),
    env: texts.optional(),
    cwd: z.string({ error: 'a directory is allowed' }).optional(),
  }),
  url: z.strictObject({
    ...common,
    url: z.url({ protocol: /^https?$/, error: 'an http or https URL is allowed' }),
    headers: texts.optional(),
  }),
  transport: z.strictObject({ ...common, transport: z.unknown() }),
};

/** Refuses a server that cannot be (`invalid_server`). */
export function checkServer(name: string, server: unknown): void {
  const field = `mcpServers.${name}`;
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(name)) {
    throw new PawlError(
      'invalid_server',
      `${field} has the name ${shown(name)}: allowed are 1 to 32 of A-Z a-z 0-9 _ -.`,
    );
  }
  const config = typeof server === 'object' && server !== null && 'shared' in server ? server.shared : server;
  const given = typeof config === 'object' && config !== null ? Object.keys(config) : [];
  const kind = (['command', 'url', 'transport'] as const).filter((key) => given.includes(key));
  const [only] = kind;
  if (only === undefined || kind.length > 1) {
    throw new PawlError(
      'invalid_server',
      `${field} is ${shown(config)}: exactly one of command, url and transport is needed.`,
    );
  }
  check<unknown>(kinds[only], config, field, 'invalid_server');
}
