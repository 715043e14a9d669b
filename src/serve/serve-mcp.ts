import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import { type Agent, requireAgent } from '../agent/definition.ts';
import { check } from '../input/check.ts';
import { PawlError, unexpected } from '../input/errors.ts';
import { onNode } from '../input/on-node.ts';
import { count, flag, texts } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import { lazily } from '../platform/lazily.ts';
import { commonOptions } from '../session/common-options.ts';
import { sessionInput } from '../session/input.ts';
import { metadataShape } from '../vocabulary/metadata.ts';
import { toolNameOf } from '../vocabulary/tool-names.ts';
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
    journal: aJournal.optional(),
    tasks: z.union([flag, texts], { error: 'a boolean, or the names of agents' }).optional(),
    onEvent: commonOptions.onEvent,
    telemetry: commonOptions.telemetry,
  } satisfies Record<keyof ServeMcpOptions, z.ZodType>),
);

const byHttp = lazily(() => z.strictObject({ http: z.unknown() }));

/**
 * Exposes an agent, or several, as an MCP server with a tool for each, which has the agent's name and the input
 * `{ prompt }`. Each call runs a session and forwards its progress, or is a task (`tasks`). Cancelling a call aborts its
 * session. A failed session returns `isError`.
 */
export async function serveMcp(given: Agent | readonly Agent[], options: ServeMcpOptions): Promise<ServedAgent> {
  const agents = [given].flat() as readonly Agent[];
  if (agents.length === 0) throw unexpected('invalid_options', 'agents', given, 'an agent, or an array of them');
  for (const [index, agent] of agents.entries()) {
    requireAgent(agent, Array.isArray(given) ? `agents[${index}]` : 'agent');
    sessionInput(agent, options?.budget ?? {}, 0);
    checkContext(agent, options?.context);
  }
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
  checkNames(agents, options);
  const { serveAgents } = await onNode('`serveMcp`', () => import('./mcp.ts'));
  return serveAgents(agents, options);
}

/** Throws unless the agents have names of their own, and those of `tasks` are among them, with a journal. */
function checkNames(agents: readonly Agent[], { tasks = false, journal }: ServeMcpOptions): void {
  const names = agents.map(({ name }) => name);
  const tools = names.map(toolNameOf);
  const twice = tools.find((name, index) => tools.indexOf(name) !== index);
  if (twice !== undefined)
    throw new PawlError('invalid_options', `\`agents\` must have distinct names; got "${twice}" twice.`);
  if (tasks === false) {
    if (journal === undefined) return;
    throw unexpected('invalid_options', 'tasks', false, 'true, or names of agents: the journal holds tasks alone');
  }
  const unknown = tasks === true ? undefined : tasks.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw unexpected('invalid_options', 'tasks', tasks, `true, or names of the agents (${names.join(', ')})`);
  if (journal === undefined)
    throw unexpected('invalid_options', 'journal', journal, 'a journal, since `tasks` need one');
}
