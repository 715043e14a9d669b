import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { z } from 'zod';
import type { Agent } from '../agent-definition.ts';
import { check } from '../check.ts';
import { PawlError, shown } from '../errors.ts';
import type { EventListener } from '../observe/events.ts';
import type { Logger } from '../observe/log.ts';
import { commonOptions } from '../option-schemas.ts';
import type { SessionBudget } from '../session.ts';
import { isAgent, sessionInput } from '../session-input.ts';

export type ServeMcpOptions = {
  /**
   * `stdio`: this process's own streams, for a client that starts it. `http`: streamable HTTP at `/mcp`; default a free port
   * of 127.0.0.1. Or a transport that is ready.
   */
  transport: 'stdio' | { http: { port?: number; host?: string } } | Transport;
  /** Default pino at level warn on stderr. */
  logger?: Logger;
  /** Of each call. */
  budget?: SessionBudget;
  /** Sees the events of all sessions. */
  onEvent?: EventListener;
};

export type ServedAgent = {
  /** Where it is, over HTTP; null over other transports. */
  readonly url: string | null;
  /** Resolves when it is closed, by whomever. */
  readonly closed: Promise<void>;
  /** Aborts what runs, and closes. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const aPort = 'an integer from 0 to 65535 is allowed';
const httpSchema = z.strictObject({
  port: z.int({ error: aPort }).min(0, { error: aPort }).max(65_535, { error: aPort }).optional(),
  host: z.string({ error: 'a host is allowed' }).optional(),
});
const optionsSchema = z.strictObject({
  transport: z.unknown(),
  logger: commonOptions.logger,
  budget: z.unknown().optional(),
  onEvent: commonOptions.onEvent,
} satisfies Record<keyof ServeMcpOptions, z.ZodType>);

/**
 * Exposes an agent as an MCP server with one tool, by the agent's name, whose input is `{ prompt }`: each call is a session, its
 * progress is told, and a cancelled call is an aborted session. A session that does not succeed is a result with `isError`.
 */
export async function serveMcp(agent: Agent, options: ServeMcpOptions): Promise<ServedAgent> {
  if (!isAgent(agent))
    throw new PawlError('invalid_options', `the agent is ${shown(agent)}: one made by defineAgent is allowed.`);
  sessionInput(agent, options?.budget ?? {}, 0);
  const transport: unknown = options?.transport;
  const isKnown =
    transport === 'stdio' ||
    (typeof transport === 'object' &&
      transport !== null &&
      (('http' in transport && typeof transport.http === 'object' && transport.http !== null) || 'send' in transport));
  if (!isKnown) {
    throw new PawlError(
      'invalid_options',
      `transport is ${shown(transport)}: 'stdio', { http: { port, host } } or a transport is allowed.`,
    );
  }
  check(optionsSchema, options, '', 'invalid_options');
  if (transport !== 'stdio' && 'http' in transport)
    check(httpSchema, transport.http, 'transport.http', 'invalid_options');
  const { serve } = await import('./mcp.ts');
  return serve(agent, options);
}
