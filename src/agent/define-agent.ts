import { z } from 'zod';
import { policyShape } from '../http/http-policy.ts';
import { check } from '../input/check.ts';
import { fieldName, PawlError, Problems, unexpected } from '../input/errors.ts';
import { aFunction, count, hasMethods, nonBlank } from '../input/shapes.ts';
import {
  isEntry,
  knownProviders,
  modelIn,
  parseModelString,
  Target,
  type TargetTraits,
  targetName,
} from '../model/targets.ts';
import type { ReportFormat } from '../report/format.ts';
import { type ReportDefinition, type ReportOf, reportFormat } from '../report/registry.ts';
import { textFormat } from '../report/text.ts';
import { checkAtOnce } from '../schema/schema.ts';
import { shortestSecret } from '../secrets/spellings.ts';
import type { GateStore } from '../shared/gate-store.ts';
import { gateLimitsSchema } from '../shared/pace.ts';
import { openQueue } from '../shared/queues.ts';
import { finalReportTool } from '../tools/built-in/final-report.ts';
import { builtInsOf } from '../tools/built-in/list.ts';
import type { CatalogTool } from '../tools/catalog-tool.ts';
import { handoffName } from '../tools/handoff-tool.ts';
import { localTool } from '../tools/local.ts';
import { checkServer } from '../tools/mcp/definition.ts';
import { CachedTool } from '../tools/running/cache.ts';
import { builtInNames } from '../vocabulary/built-ins.ts';
import { limitsSchema } from '../vocabulary/limits.ts';
import { nameRule, toolNamePattern } from '../vocabulary/tool-names.ts';
import { checkSummaries, compactionOf } from './compaction.ts';
import { type Agent, type AgentDefinition, definitionSchema, requireAgent } from './definition.ts';
import { joined } from './handoffs.ts';

const downloadsSchema = z.strictObject(policyShape);

/** An agent whose definition keeps its types, for agents that are derived from it. */
export type DefinedAgent<R extends ReportDefinition, Context> = Omit<Agent<ReportOf<R>, Context>, 'definition'> & {
  readonly definition: AgentDefinition<R, Context>;
};

/**
 * Validates a definition and creates an agent. Throws one `PawlError` that gives each problem's field and its required
 * and actual values. Nothing runs first (B-1).
 */
export function defineAgent<R extends ReportDefinition = { format: 'text' }, Context = unknown>(
  definition: AgentDefinition<R, Context>,
): DefinedAgent<NoInfer<R>, Context> {
  const problems = new Problems();
  problems.collect(() => check(definitionSchema, definition, '', 'invalid_agent', 'definition'));
  const given = entriesOf(definition);
  const limits = problems.collect(() =>
    check(limitsSchema, definition?.limits === undefined ? {} : definition.limits, 'limits', 'invalid_limit'),
  );
  problems.collect(() =>
    check(
      downloadsSchema,
      definition?.downloads === undefined ? {} : definition.downloads,
      'downloads',
      'invalid_agent',
    ),
  );
  for (const [index, model] of given.models.entries()) {
    problems.collect(() => checkModel(model, fieldName('models', [index]), Object.keys(definition.providers ?? {})));
  }
  problems.collect(() => checkSecrets(definition?.secrets));
  for (const [name, server] of given.servers) problems.collect(() => checkServer(name, server));
  for (const [name, agent] of given.agents) problems.collect(() => checkSubAgent(name, agent, given.tools));
  for (const [name] of given.handoffs)
    problems.collect(() => checkName(fieldName('handoffs', [name]), handoffName(name)));
  const format = problems.collect(() => reportFormat(definition?.report ?? { format: 'text' })) ?? textFormat;
  const tools = given.tools.flatMap(([name, tool]) => problems.collect(() => checkedTool(name, tool)) ?? []);
  const finish = problems.collect(() => finishOf(definition));
  const { cache } = definition ?? {};
  const reports =
    cache && problems.collect(() => new CachedTool(['agent', definition.name], cache, 'cache', 'invalid_agent'));
  const contextSchema = definition?.contextSchema;
  const checkContext =
    contextSchema === undefined ? undefined : problems.collect(() => checkAtOnce(contextSchema, 'contextSchema'));
  const compaction = problems.collect(() =>
    compactionOf(definition, (model, field) => {
      checkModel(model, field, Object.keys(definition.providers ?? {}));
      return traitsOf(model, targetName(modelIn(model)), field);
    }),
  );
  problems.collect(() => limits && checkSummaries(compaction ?? null, limits));
  for (const { name, queue } of tools) problems.collect(() => checkQueue(name, queue, definition?.queues));
  problems.throwIfAny();
  for (const [name, most] of Object.entries(definition.queues ?? {})) openQueue(name, most);
  const checkedLimits = Object.freeze(limits ?? limitsSchema.parse({}));
  const alone = {
    name: definition.name,
    definition: Object.freeze({ ...definition, ...(finish !== undefined && { finish }) }),
    limits: checkedLimits,
    targets: targetsOf(definition),
    format,
    compaction: compaction ?? null,
    shown: null,
    checkContext: checkContext ?? null,
    reports: reports ?? null,
    tools: toolsOf({ ...definition, ...(finish !== undefined && { finish }) }, tools, format),
  };
  return Object.freeze(joined(alone)) as unknown as DefinedAgent<R, Context>;
}

/** Refuses a secret so short that it occurs in many other words. Ignores an empty one, such as an unset key. */
function checkSecrets(secrets: unknown): void {
  const isShort = (secret: unknown) => typeof secret === 'string' && secret !== '' && secret.length < shortestSecret;
  const short = Array.isArray(secrets) ? secrets.findIndex(isShort) : -1;
  if (short === -1) return;
  // The message must not show the secret.
  throw new PawlError('invalid_agent', `\`secrets[${short}]\` must have at least ${shortestSecret} characters.`);
}

/** Files cannot be a tool's input, so an agent that reports files finishes by a plain reply. */
function finishOf(definition: AgentDefinition): AgentDefinition['finish'] {
  if (definition?.report?.format !== 'files') return definition?.finish;
  if (definition.finish !== 'report') return 'text';
  throw new PawlError(
    'invalid_agent',
    '`finish` must be text, since a report of files is a plain reply; got "report".',
  );
}

/** Returns the entries to check one by one, even if the definition is invalid. */
function entriesOf(definition: AgentDefinition) {
  const entries = <T>(value: Record<string, T> | undefined) =>
    typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return {
    models: Array.isArray(definition?.models) ? definition.models : [],
    servers: entries<unknown>(definition?.mcpServers),
    agents: entries<unknown>(definition?.agents),
    handoffs: entries<unknown>(definition?.handoffs),
    tools: entries(definition?.tools),
  };
}

function checkModel(entry: unknown, at: string, providers: readonly string[]): void {
  const says = isEntry(entry);
  if (says) check(entrySchema, entry, at, 'invalid_model');
  const model = says ? entry.model : entry;
  const field = says ? `${at}.model` : at;
  if (typeof model === 'string') {
    const parsed = parseModelString(model);
    const names = [...new Set([...providers, ...knownProviders])];
    if (parsed !== null && names.includes(parsed.provider)) return;
    const what = `\`provider:model\`, such as "openai:gpt-5", with one of the providers ${names.join(', ')}`;
    throw unexpected('invalid_model', field, model, what);
  }
  const isModel =
    typeof model === 'object' &&
    model !== null &&
    'specificationVersion' in model &&
    'modelId' in model &&
    'provider' in model &&
    typeof model.provider === 'string' &&
    ['v2', 'v3', 'v4'].includes(String(model.specificationVersion));
  if (isModel) return;
  throw unexpected('invalid_model', field, model, 'an AI SDK language model or a `provider:model` string');
}

function checkSubAgent(name: string, agent: unknown, tools: readonly (readonly [string, unknown])[]): void {
  const field = fieldName('agents', [name]);
  requireAgent(agent, field, 'invalid_agent');
  checkName(field, name);
  if (!tools.some(([tool]) => tool === name)) return;
  throw new PawlError('duplicate_tool', `\`${field}\` must not have the name of a tool; got "${name}".`);
}

function checkedTool(name: string, tool: Parameters<typeof localTool>[1]): CatalogTool {
  checkName(fieldName('tools', [name]), name);
  return localTool(name, tool);
}

function checkQueue(tool: string, queue: string | undefined, queues: AgentDefinition['queues']): void {
  if (queue === undefined || Object.hasOwn(queues ?? {}, queue)) return;
  const known = Object.keys(queues ?? {}).join(', ') || 'none';
  throw unexpected(
    'invalid_tool',
    `${fieldName('tools', [tool])}.queue`,
    queue,
    `one of the agent's queues (${known})`,
  );
}

function checkName(field: string, name: string): void {
  if (!toolNamePattern.test(name)) {
    throw unexpected('invalid_tool', `the name of ${field}`, name, nameRule);
  }
  if (!builtInNames.includes(name)) return;
  throw new PawlError('duplicate_tool', `\`${field}\` must have another name; a built-in tool is named "${name}".`);
}

function toolsOf(
  definition: AgentDefinition,
  own: readonly CatalogTool[],
  format: ReportFormat,
): Map<string, CatalogTool> {
  const { finish, compact } = definition;
  const builtIns = { readHistory: compact !== undefined, ...definition.builtIns };
  const tools = [...own, ...(finish === 'text' ? [] : [finalReportTool(format)]), ...builtInsOf(builtIns)];
  return new Map(tools.map((tool) => [tool.name, tool]));
}

const windowError = 'an integer of at least 1, or a function that returns one';
const gateError = 'a name, or { name, journal } with a journal that keeps gates';
const keepsGates = z.custom<{ readonly gates: GateStore }>((value) => hasMethods(Object(value).gates, 'read', 'write'));
const entrySchema = z.strictObject({
  model: z.unknown(),
  contextWindow: z.union([count, aFunction], { error: windowError }).optional(),
  limits: gateLimitsSchema.optional(),
  gate: z.union([nonBlank, z.strictObject({ name: nonBlank, journal: keepsGates })], { error: gateError }).optional(),
});

/** Returns what an entry of `models` says of its target. */
function traitsOf(entry: unknown, target: string, field: string): Partial<TargetTraits> {
  if (!isEntry(entry)) return {};
  const { contextWindow, limits, gate } = entry;
  const tokens = typeof contextWindow === 'function' ? contextWindow(target) : (contextWindow ?? null);
  if (tokens !== null && !(Number.isInteger(tokens) && tokens >= 1))
    throw unexpected('invalid_model', `${field}.contextWindow`, tokens, windowError);
  const { name = null, journal } = typeof gate === 'object' ? gate : { name: gate };
  return {
    contextWindow: tokens,
    gate: name,
    gateStore: journal?.gates ?? null,
    limits: gateLimitsSchema.parse(limits ?? {}),
  };
}

/** The targets, each under a unique name. */
function targetsOf({ models, providers = {} }: AgentDefinition): Target[] {
  const taken = new Set<string>();
  return models.map((entry, index) => {
    const model = modelIn(entry);
    const name = targetName(model);
    let unique = name;
    for (let copy = 2; taken.has(unique); copy += 1) unique = `${name}#${copy}`;
    taken.add(unique);
    return new Target(unique, model, providers, traitsOf(entry, unique, fieldName('models', [index])));
  });
}
