import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import { type Agent, requireAgent } from '../agent/definition.ts';
import { check } from '../input/check.ts';
import { unexpected } from '../input/errors.ts';
import { onNode } from '../input/on-node.ts';
import { count } from '../input/shapes.ts';
import { lazily } from '../platform/lazily.ts';
import { commonOptions } from '../session/common-options.ts';
import { sessionInput } from '../session/input.ts';
import { metadataShape } from '../vocabulary/metadata.ts';
import { checkHttp, httpSchema } from './http-options.ts';
import type { ServedAgent, ServeMcpOptions } from './served-agent.ts';

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
  requireAgent(agent);
  sessionInput(agent, options?.budget ?? {}, 0);
  checkContext(agent, options?.context);
  const transport: unknown = options?.transport;
  const isKnown =
    transport === 'stdio' ||
    (typeof transport === 'object' &&
      transport !== null &&
      (('http' in transport && typeof transport.http === 'object' && transport.http !== null) || 'send' in transport));
  if (!isKnown) {
    throw unexpected(
      'invalid_options',
      'transport',
      transport,
      "'stdio', { http: { port, host } } or an MCP transport",
    );
  }
  check(optionsSchema(), options, '', 'invalid_options', 'options');
  if (transport !== 'stdio' && 'http' in transport) {
    check(byHttp(), transport, 'transport', 'invalid_options');
    checkHttp(httpSchema(), transport.http, 'transport.http');
  }
  const { serveAgent } = await onNode('`serveMcp`', () => import('./mcp.ts'));
  return serveAgent(agent, options);
}
