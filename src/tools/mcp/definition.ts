import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type {
  CreateMessageRequest,
  CreateMessageResult,
  ElicitRequest,
  ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { check } from '../../agent/check.ts';
import { aFunction, flag, hasMethods, headersOf, texts } from '../../agent/shapes.ts';
import { expected, PawlError } from '../../errors.ts';
import { lazily } from '../../schema/lazily.ts';
import type { McpPool } from './pool.ts';

/** Options common to all kinds of MCP server. */
export type McpServerOptions = {
  /** Whether a session continues without the server if it is unavailable; default: false. */
  optional?: boolean;
  /** Names of the server's tools to offer; default: all. */
  allow?: readonly string[];
  /** Names of the server's tools to leave out. */
  deny?: readonly string[];
  /** Tools that need approval: all, or the named ones; default: none. */
  needsApproval?: boolean | readonly string[];
  /** Tools whose interrupted calls run again after a crash (D-4): all, or the named ones; default: none. */
  idempotent?: boolean | readonly string[];
  /** Handle the server's elicitation and sampling requests, which are otherwise declined. */
  handlers?: {
    elicit?: (request: ElicitRequest['params']) => ElicitResult | Promise<ElicitResult>;
    sample?: (request: CreateMessageRequest['params']) => CreateMessageResult | Promise<CreateMessageResult>;
  };
};

/**
 * An MCP server: a stdio process (`env` extends a few harmless variables of this process), a streamable HTTP
 * endpoint, or a ready-made transport. A function creates a new transport after the connection is lost.
 */
export type McpServerConfig = McpServerOptions &
  (
    | { command: string; args?: readonly string[]; env?: Record<string, string>; cwd?: string }
    | { url: string; headers?: Record<string, string> }
    | { transport: Transport | (() => Transport) }
  );

/** A server for one session, or a server that several sessions share (`mcpPool`). */
export type McpServerDefinition = McpServerConfig | SharedMcpServer;

/** A server whose connection outlives the session. */
export type SharedMcpServer = { readonly name: string; readonly shared: McpServerConfig; readonly pool: McpPool };

const kinds = lazily(() => {
  const toolNames = z.array(z.string(), { error: 'an array of tool names' });
  const someTools = z.union([z.boolean(), toolNames], { error: 'a boolean or an array of tool names' }).optional();
  const common = {
    optional: flag.optional(),
    allow: toolNames.optional(),
    deny: toolNames.optional(),
    needsApproval: someTools,
    idempotent: someTools,
    handlers: z.strictObject({ elicit: aFunction.optional(), sample: aFunction.optional() }).optional(),
  };
  const strings = z.record(z.string(), z.string(), { error: 'an object of strings' });
  return {
    command: z.strictObject({
      ...common,
      command: z.string({ error: 'a command' }).min(1, { error: 'a command' }),
      args: texts.optional(),
      env: strings.optional(),
      cwd: z.string({ error: 'a directory' }).optional(),
    }),
    url: z.strictObject({
      ...common,
      url: z.url({ protocol: /^https?$/, error: 'an http or https URL' }),
      headers: headersOf(z.string({ error: 'a string' })).optional(),
    }),
    transport: z.strictObject({
      ...common,
      transport: z.custom<unknown>(isTransport, { error: 'an MCP transport, or a function that makes one' }),
    }),
  };
});

function isTransport(value: unknown): boolean {
  return typeof value === 'function' || hasMethods(value, 'start', 'send', 'close');
}

/** Throws `invalid_server` if a server definition is invalid. */
export function checkServer(name: string, server: unknown): void {
  const field = `mcpServers.${name}`;
  // Its tools are named `server__tool`: two servers must not mean the same name.
  if (!/^(?!.*(?:__|_$))[A-Za-z0-9_-]{1,32}$/.test(name)) {
    const what = '1 to 32 characters from A-Z, a-z, 0-9, _ and -, with no __ in it and no _ at its end';
    throw new PawlError('invalid_server', expected(`the name of ${field}`, name, what));
  }
  const config = typeof server === 'object' && server !== null && 'shared' in server ? server.shared : server;
  const given = typeof config === 'object' && config !== null ? Object.keys(config) : [];
  const kind = (['command', 'url', 'transport'] as const).filter((key) => given.includes(key));
  const [only] = kind;
  if (only === undefined || kind.length > 1) {
    throw new PawlError(
      'invalid_server',
      expected(field, config, 'an object with exactly one of `command`, `url` and `transport`'),
    );
  }
  check<unknown>(kinds()[only], config, field, 'invalid_server');
}
