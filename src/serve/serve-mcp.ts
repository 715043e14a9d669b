import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import { check } from '../agent/check.ts';
import { checkContext } from '../agent/context.ts';
import { type Agent, isAgent } from '../agent/definition.ts';
import { count, milliseconds, texts } from '../agent/shapes.ts';
import { expected, PawlError } from '../errors.ts';
import type { EventListener } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { onNode } from '../platform/node.ts';
import { commonOptions } from '../session/common-options.ts';
import { sessionInput } from '../session/input.ts';
import type { SessionBudget } from '../session/options.ts';

/** Off the loopback address, `auth`, `hosts` and `origins` are required. */
export type HttpOptions = {
  /** Default: any free port. */
  port?: number;
  /** Default: 127.0.0.1. */
  host?: string;
  /** The token that clients must send: `Authorization: Bearer TOKEN`. */
  auth?: { bearer: string };
  /** The `Host` headers that are answered, such as `agents.example.com`. Default: the names of loopback. */
  hosts?: readonly string[];
  /** The origins of pages that are answered; clients that are no pages send none. Default: those of loopback. */
  origins?: readonly string[];
  /** Ms after which the session of a client that vanished during a call is aborted; default: 5,000. */
  disconnectGraceMs?: number;
};

export type ServeMcpOptions = {
  /**
   * `stdio`: this process's streams, for a client that starts it. `http`: streamable HTTP at `/mcp`, by default on a
   * free port of 127.0.0.1. Or a ready-made transport.
   */
  transport: 'stdio' | { http: HttpOptions } | Transport;
  /** As for a session. Default: pino at `warn` on stderr. */
  logger?: LoggerOption;
  /** The budget of each call. */
  budget?: SessionBudget;
  /** What every session is given, as for `startSession`. */
  context?: unknown;
  /** Sessions at once, for all clients together; a call beyond them gets an error; default: 16. */
  maxSessions?: number;
  /** Called with the events of all sessions. */
  onEvent?: EventListener;
  telemetry?: Telemetry;
};

export type ServedAgent = {
  /** The server's URL over HTTP; null over other transports. */
  readonly url: string | null;
  /** Resolves when either side has closed the server. */
  readonly closed: Promise<void>;
  /** Aborts all running sessions and closes the server. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const aToken = 'a token of at least 16 characters';
const aPort = 'an integer from 0 to 65535';
const httpSchema = z.strictObject({
  port: z.int({ error: aPort }).min(0, { error: aPort }).max(65_535, { error: aPort }).optional(),
  host: z.string({ error: 'a host name or address' }).optional(),
  auth: z.strictObject({ bearer: z.string({ error: aToken }).min(16, { error: aToken }) }).optional(),
  hosts: texts.optional(),
  origins: texts.optional(),
  disconnectGraceMs: milliseconds.optional(),
} satisfies Record<keyof HttpOptions, z.ZodType>);
const optionsSchema = z.strictObject({
  transport: z.unknown(),
  logger: commonOptions.logger,
  budget: z.unknown().optional(),
  context: z.unknown().optional(),
  maxSessions: count.optional(),
  onEvent: commonOptions.onEvent,
  telemetry: commonOptions.telemetry,
} satisfies Record<keyof ServeMcpOptions, z.ZodType>);

/**
 * Exposes an agent as an MCP server with one tool, named after the agent, whose input is `{ prompt }`. Each call runs a
 * session and forwards its progress. Cancelling a call aborts its session. A failed session returns `isError`.
 */
export async function serveMcp(agent: Agent, options: ServeMcpOptions): Promise<ServedAgent> {
  if (!isAgent(agent)) throw new PawlError('invalid_options', expected('agent', agent, 'an agent made by defineAgent'));
  sessionInput(agent, options?.budget ?? {}, 0);
  checkContext(agent, options?.context);
  const transport: unknown = options?.transport;
  const isKnown =
    transport === 'stdio' ||
    (typeof transport === 'object' &&
      transport !== null &&
      (('http' in transport && typeof transport.http === 'object' && transport.http !== null) || 'send' in transport));
  if (!isKnown) {
    throw new PawlError(
      'invalid_options',
      expected('transport', transport, "'stdio', { http: { port, host } } or an MCP transport"),
    );
  }
  check(optionsSchema, options, '', 'invalid_options');
  if (transport !== 'stdio' && 'http' in transport) checkHttp(transport.http);
  const { serve } = await onNode('`serveMcp`', () => import('./mcp.ts'));
  return serve(agent, options);
}

const loopback = ['127.0.0.1', '::1', 'localhost'];

/** Checks the options. Off loopback, refuses to start without a token and lists of hosts and origins. */
function checkHttp(given: unknown): void {
  const { host = '127.0.0.1', ...options } = check(httpSchema, given, 'transport.http', 'invalid_options');
  if (loopback.includes(host)) return;
  const lacking = (['auth', 'hosts', 'origins'] as const).filter((name) => options[name] === undefined);
  if (lacking.length === 0) return;
  throw new PawlError(
    'invalid_options',
    lacking.map((name) => `\`transport.http.${name}\` is required to serve on ${host}, which others can reach.`),
  );
}
