import { keyVariable, type ModelReference } from '../model/targets.ts';
import { environmentVariable } from '../platform/node.ts';
import { collect, secretHeaders, secretsOfConfig } from '../secrets/credentials.ts';
import { longestFirst, longSecrets } from '../secrets/spellings.ts';
import { secretsOfTool } from '../secrets/tool-secrets.ts';
import type { AgentDefinition } from './definition.ts';

const configured = new Set<string>();

/** Returns the secrets of all agents that this process has run, for an inspector, which sees every session. */
export function configuredSecrets(): string[] {
  return longestFirst(configured);
}

/**
 * Returns the credentials in a definition and those of its sub-agents, which are redacted wherever they appear (S-5).
 * `ofTree` holds those of the sessions above.
 */
export function secretsOf(definition: AgentDefinition, ofTree: readonly string[] = []): string[] {
  const { settings, models, secrets = [], tools = {}, mcpServers = {}, agents = {}, handoffs = {} } = definition;
  const found = [...ofTree, ...secrets, ...secretHeaders(settings?.headers ?? {}), ...models.flatMap(keyOf)];
  for (const agent of [...Object.values(agents), ...Object.values(handoffs)])
    found.push(...secretsOf(agent.definition));
  collect(settings?.providerOptions ?? {}, found);
  for (const tool of Object.values(tools)) found.push(...secretsOfTool(tool));
  for (const server of Object.values(mcpServers)) {
    const config = 'shared' in server ? server.shared : server;
    found.push(...secretsOfConfig(config));
  }
  const all = longSecrets(found);
  for (const secret of all) configured.add(secret);
  return all;
}

/** Returns the key of a `provider:model` string, which its provider reads from the environment. */
function keyOf(model: ModelReference): string[] {
  const key = typeof model === 'string' ? environmentVariable(keyVariable(model) ?? '') : undefined;
  return key === undefined ? [] : [key];
}
