import {
  type Agent,
  type AgentDefinition,
  definitionSchema,
  type Limits,
  limitsSchema,
  nameRule,
} from './agent-definition.ts';
import { check } from './check.ts';
import { PawlError, shown } from './errors.ts';
import type { ModelSettings } from './model/request-model.ts';
import { knownProviders, parseModelString, Target, targetName } from './model/targets.ts';
import type { ReportFormat } from './report/format.ts';
import { type ReportDefinition, type ReportOf, reportFormat } from './report/registry.ts';
import { batchName, batchTool } from './tools/built-in/batch.ts';
import { finalReportName, finalReportTool } from './tools/built-in/final-report.ts';
import { progressReportName, progressReportTool } from './tools/built-in/progress.ts';
import { readResultName } from './tools/built-in/read-result.ts';
import { type CatalogTool, toolNamePattern } from './tools/catalog.ts';
import { localTool } from './tools/local.ts';
import { checkServer } from './tools/mcp-definition.ts';

/**
 * Checks a definition and makes an agent of it. Throws `PawlError` with one sentence that names the field, the value and
 * what is allowed; nothing runs before (B-1).
 */
export function defineAgent<R extends ReportDefinition = { format: 'text' }>(
  definition: AgentDefinition<R>,
): Agent<ReportOf<R>> {
  check(definitionSchema, definition, '', 'invalid_agent');
  const limits = check(limitsSchema, definition.limits ?? {}, 'limits', 'invalid_limit');
  for (const [index, model] of definition.models.entries()) checkModel(model, index, definition.providers ?? {});
  for (const [name, server] of Object.entries(definition.mcpServers ?? {})) checkServer(name, server);
  for (const [name, agent] of Object.entries(definition.agents ?? {})) checkSubAgent(name, agent);
  const format = reportFormat(definition.report ?? { format: 'text' });
  return Object.freeze({
    name: definition.name,
    definition: Object.freeze({ ...definition, settings: withoutCallMark(definition.settings ?? {}) }),
    limits: Object.freeze(limits),
    targets: targetsOf(definition),
    format,
    tools: toolsOf(definition, format, limits),
  });
}

function checkModel(model: unknown, index: number, providers: Record<string, unknown>): void {
  const field = `models.${index}`;
  if (typeof model === 'string') {
    const parsed = parseModelString(model);
    const names = [...new Set([...Object.keys(providers), ...knownProviders])];
    if (parsed === null || !names.includes(parsed.provider)) {
      throw new PawlError(
        'invalid_model',
        `${field} is ${shown(model)}: allowed is provider:model with one of the providers ${names.join(', ')}.`,
      );
    }
    return;
  }
  const isModel =
    typeof model === 'object' &&
    model !== null &&
    'specificationVersion' in model &&
    'modelId' in model &&
    'provider' in model &&
    typeof model.provider === 'string' &&
    ['v2', 'v3', 'v4'].includes(String(model.specificationVersion));
  if (!isModel) {
    throw new PawlError(
      'invalid_model',
      `${field} is ${shown(model)}: allowed are AI SDK language models and provider:model strings.`,
    );
  }
}

function checkSubAgent(name: string, agent: unknown): void {
  if (typeof agent === 'object' && agent !== null && 'targets' in agent && 'definition' in agent) return;
  throw new PawlError('invalid_agent', `agents.${name} is ${shown(agent)}: an agent made by defineAgent is allowed.`);
}

function toolsOf(definition: AgentDefinition, format: ReportFormat, limits: Limits): Map<string, CatalogTool> {
  const builtIns = [
    ...(definition.finish === 'text' ? [] : [finalReportTool(format, limits.toolTimeoutMs)]),
    ...(definition.builtIns?.progressReport === true ? [progressReportTool()] : []),
    ...(definition.builtIns?.batch === true ? [batchTool()] : []),
  ];
  const tools = new Map<string, CatalogTool>();
  for (const [name, tool] of Object.entries(definition.tools ?? {})) {
    checkName(`tools.${name}`, name);
    tools.set(name, localTool(name, tool));
  }
  for (const name of Object.keys(definition.agents ?? {})) {
    checkName(`agents.${name}`, name);
    if (!tools.has(name)) continue;
    throw new PawlError('duplicate_tool', `agents.${name} has the name of a tool: any other name is allowed.`);
  }
  for (const tool of builtIns) tools.set(tool.name, tool);
  return tools;
}

const builtInNames = [finalReportName, progressReportName, batchName, readResultName];

function checkName(field: string, name: string): void {
  if (!toolNamePattern.test(name)) {
    throw new PawlError('invalid_tool', `${field} has the name ${shown(name)}: ${nameRule}.`);
  }
  if (!builtInNames.includes(name)) return;
  throw new PawlError(
    'duplicate_tool',
    `${field} has the name ${shown(name)} of a built-in tool: any other name is allowed.`,
  );
}

/**
 * A cache mark on the call as a whole would mark the last block, which may be the notice (N-3): the prompt carries the
 * marks instead.
 */
function withoutCallMark(settings: ModelSettings): ModelSettings {
  const { anthropic } = settings.providerOptions ?? {};
  if (anthropic === undefined || !('cacheControl' in anthropic || 'cache_control' in anthropic)) return settings;
  const { cacheControl: _, cache_control: __, ...rest } = anthropic;
  return { ...settings, providerOptions: { ...settings.providerOptions, anthropic: rest } };
}

/** The targets, each under a name of its own. */
function targetsOf({ models, providers = {} }: AgentDefinition): Target[] {
  const taken = new Set<string>();
  return models.map((model) => {
    const name = targetName(model);
    let unique = name;
    for (let copy = 2; taken.has(unique); copy += 1) unique = `${name}#${copy}`;
    taken.add(unique);
    return new Target(unique, model, providers);
  });
}
