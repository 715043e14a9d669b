import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import { check } from '../agent/check.ts';
import { checkContext } from '../agent/context.ts';
import { type Agent, isAgent } from '../agent/definition.ts';
import { count, metadataShape } from '../agent/shapes.ts';
import { expected, PawlError } from '../errors.ts';
import type { Metadata } from '../journal/journal.ts';
import type { EventListener } from '../observe/events.ts';
import type { LoggerOption } from '../observe/log/logger.ts';
import type { Telemetry } from '../observe/telemetry.ts';
import { onNode } from '../platform/node.ts';
import { lazily } from '../schema/lazily.ts';
import { commonOptions } from '../session/common-options.ts';
import { sessionInput } from '../session/input.ts';
import type { SessionBudget } from '../session/options.ts';
import { checkHttp, type HttpOptions, httpSchema } from './http-options.ts';

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
  metadata?: Metadata;
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

const optionsSchema = lazily(() =>
  z.strictObject({
    transport: z.unknown(),
    logger: commonOptions.logger,
    budget: z.unknown().optional(),
    context: z.unknown().optional(),
    metadata: metadataShape.optional(),
    maxSessions: count.optional(),
    onEvent: commonOptions.onEvent,
    telemetry: commonOptions.telemetry,
  } satisfies Record<keyof ServeMcpOptions, z.ZodType>),
);

const byHttp = lazily(() => z.strictObject({ http: z.unknown() }));

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
  check(optionsSchema(), options, '', 'invalid_options', 'options');
  if (transport !== 'stdio' && 'http' in transport) {
    check(byHttp(), transport, 'transport', 'invalid_options');
    checkHttp(httpSchema(), transport.http, 'transport.http');
  }
  const { serve } = await onNode('`serveMcp`', () => import('./mcp.ts'));
  return serve(agent, options);
}
