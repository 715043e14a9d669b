import { keyVariable, type ModelReference, modelIn } from '../model/targets.ts';
import { environmentVariable } from '../platform/node.ts';
import { collect, secretHeaders, secretsOfConfig } from '../secrets/credentials.ts';
import { longestFirst, longSecrets } from '../secrets/spellings.ts';
import { secretsOfTool } from '../secrets/tool-secrets.ts';
import type { AgentDefinition } from './definition.ts';
import { handedAgent } from './handoff.ts';

/** Never forgotten: an inspector may show a session long after its agent is gone. */
const noted = new Set<string>();

/** Notes the secrets of a session that begins, or is followed, in this process. */
export function noteSecrets(secrets: readonly string[]): void {
  for (const secret of secrets) noted.add(secret);
}

/** Returns the secrets of all sessions that this process has begun or followed, for an inspector, which sees every session. */
export function notedSecrets(): string[] {
  return longestFirst(noted);
}

/**
 * Returns the credentials in a definition and those of its sub-agents, which are redacted wherever they appear (S-5).
 * `ofTree` holds those of the sessions above.
 */
export function secretsOf(definition: AgentDefinition, ofTree: readonly string[] = []): string[] {
  const {
    settings,
    models,
    secrets = [],
    tools = {},
    mcpServers = {},
    agents = {},
    handoffs = {},
    compact,
  } = definition;
  const found = [
    ...ofTree,
    ...secrets,
    ...secretHeaders(settings?.headers ?? {}),
    ...[...models.map(modelIn), ...(compact?.model === undefined ? [] : [modelIn(compact.model)])].flatMap(keyOf),
  ];
  for (const agent of [...Object.values(agents), ...Object.values(handoffs).map(handedAgent)])
    found.push(...secretsOf(agent.definition));
  collect(settings?.providerOptions ?? {}, found);
  for (const tool of Object.values(tools)) found.push(...secretsOfTool(tool));
  for (const server of Object.values(mcpServers)) {
    const config = 'shared' in server ? server.shared : server;
    found.push(...secretsOfConfig(config));
  }
  return longSecrets(found);
}

/** Returns the key of a `provider:model` string, which its provider reads from the environment. */
function keyOf(model: ModelReference): string[] {
  const key = typeof model === 'string' ? environmentVariable(keyVariable(model) ?? '') : undefined;
  return key === undefined ? [] : [key];
}
