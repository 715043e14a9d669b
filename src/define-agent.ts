import type { ProviderV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import { PawlError, type PawlErrorCode, shown } from './errors.ts';
import type { Price } from './model/pricing.ts';
import type { ModelSettings } from './model/request-model.ts';
import { knownProviders, type ModelReference, parseModelString, Target, targetName } from './model/targets.ts';
import type { Slice } from './observe/slices.ts';
import type { ReportFormat } from './report/format.ts';
import { type ReportDefinition, type ReportOf, reportFormat } from './report/registry.ts';
import { finalReportName, finalReportTool } from './tools/built-in/final-report.ts';
import { progressReportName, progressReportTool } from './tools/built-in/progress.ts';
import { type CatalogTool, toolNamePattern } from './tools/catalog.ts';
import { type LocalTool, localTool } from './tools/local.ts';

/** The limits of a session of the agent; each is checked when the agent is defined (B-1). */
export type Limits = {
  /** Turns of a session; default 10. */
  maxTurns: number;
  /** All attempts of a turn, the first included; default 3. */
  maxRetries: number;
  /** Calls of real tools that one reply may bring; default 20. */
  maxToolCallsPerTurn: number;
  /** Tools that run side by side; default 8. */
  maxConcurrentTools: number;
  /** Ms that a tool may take; default 60,000. */
  toolTimeoutMs: number;
  /** Ms that a request may take until its reply is whole; default 600,000. */
  modelTimeoutMs: number;
  /** Ms between two parts of a streamed reply; default 120,000. */
  modelIdleTimeoutMs: number;
  /** Ms that an approval is waited for; null waits until somebody decides; default null. */
  approvalTimeoutMs: number | null;
  /** Bytes of a tool result that the conversation keeps; default 65,536. */
  toolResultBytes: number;
  /** Tokens that a request and its reply may take together; null turns the context guard off; default null. */
  contextWindow: number | null;
};

/** An agent as it is defined. Whatever is not named here is refused. */
export type AgentDefinition<R extends ReportDefinition = ReportDefinition> = {
  /** 1 to 64 of `A-Z a-z 0-9 _ -`. */
  name: string;
  /** The system prompt: a text, or a function that makes it when a session starts. */
  instructions?: string | ((input: { prompt: string | null }) => string | Promise<string>);
  /** Targets in order of preference: AI SDK language models, or `provider:model` strings. */
  models: readonly ModelReference[];
  /** Providers for `provider:model` strings, beside those of the AI SDK that are installed. */
  providers?: Record<string, ProviderV4>;
  /** AI SDK tools, or plain functions, by name. */
  tools?: Record<string, LocalTool>;
  /** What the final report is; default `{ format: 'text' }`. */
  report?: R;
  limits?: Partial<Limits>;
  /** Passed to every request. */
  settings?: ModelSettings;
  /** `report`: a session ends by the final_report tool. `text`: any plain-text reply is the report (F-4). Default `report`. */
  finish?: 'report' | 'text';
  /** Built-in tools beside final_report. */
  builtIns?: { /** Default false. */ progressReport?: boolean };
  slices?: Record<string, Slice>;
  /** US dollars for a million tokens, by target name (`provider:model`). */
  pricing?: Record<string, Price>;
};

/** A checked definition, to start sessions of. `Report` is the content of an accepted report. */
export type Agent<Report = unknown> = {
  readonly name: string;
  readonly definition: AgentDefinition;
  readonly limits: Readonly<Limits>;
  /** The models, in order of preference; each is looked up once, for all sessions of the agent. */
  readonly targets: readonly Target[];
  readonly format: ReportFormat;
  readonly tools: ReadonlyMap<string, CatalogTool>;
  /** For the type checker alone: it is never set. */
  readonly reportType?: Report;
};

const positive = 'an integer of at least 1 is allowed';
const count = z.int({ error: positive }).min(1, { error: positive });
const limitsSchema = z.strictObject({
  maxTurns: count.default(10),
  maxRetries: count.default(3),
  maxToolCallsPerTurn: count.default(20),
  maxConcurrentTools: count.default(8),
  toolTimeoutMs: count.default(60_000),
  modelTimeoutMs: count.default(600_000),
  modelIdleTimeoutMs: count.default(120_000),
  approvalTimeoutMs: count.nullable().default(null),
  toolResultBytes: z
    .int({ error: 'an integer of at least 256 is allowed' })
    .min(256, { error: 'an integer of at least 256 is allowed' })
    .default(65_536),
  contextWindow: count.nullable().default(null),
});

const nameRule = 'allowed are 1 to 64 characters of A-Z a-z 0-9 _ -';
const dollars = z
  .number({ error: 'a number of at least 0 is allowed' })
  .min(0, { error: 'a number of at least 0 is allowed' });
const anyFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', {
  error: 'a function is allowed',
});
const definitionSchema = z.strictObject({
  name: z.string({ error: nameRule }).regex(toolNamePattern, { error: nameRule }),
  instructions: z.union([z.string(), anyFunction], { error: 'a string or a function is allowed' }).optional(),
  models: z.array(z.unknown()).min(1, { error: 'at least one model is needed' }),
  providers: z.record(z.string(), z.unknown()).optional(),
  tools: z.record(z.string(), z.unknown()).optional(),
  report: z.strictObject({ format: z.unknown(), schema: z.unknown().optional() }).optional(),
  limits: z.unknown().optional(),
  settings: z
    .strictObject({
      temperature: z.number().optional(),
      maxOutputTokens: count.optional(),
      topP: z.number().optional(),
      topK: z.number().optional(),
      presencePenalty: z.number().optional(),
      frequencyPenalty: z.number().optional(),
      stopSequences: z.array(z.string()).optional(),
      seed: z.int().optional(),
      reasoning: z.enum(['provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']).optional(),
      providerOptions: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
      headers: z.record(z.string(), z.string().optional()).optional(),
      promptCaching: z.enum(['auto', 'off'], { error: "'auto' or 'off' is allowed" }).optional(),
      streaming: z.boolean().optional(),
    })
    .optional(),
  finish: z.enum(['report', 'text'], { error: "'report' or 'text' is allowed" }).optional(),
  builtIns: z.strictObject({ progressReport: z.boolean({ error: 'a boolean is allowed' }).optional() }).optional(),
  slices: z.record(z.string(), z.object({ initial: z.unknown(), reduce: anyFunction })).optional(),
  pricing: z
    .record(
      z.string(),
      z.strictObject({
        input: dollars,
        output: dollars,
        cacheRead: dollars.optional(),
        cacheWrite: dollars.optional(),
      }),
    )
    .optional(),
});

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
  const format = reportFormat(definition.report ?? { format: 'text' });
  return Object.freeze({
    name: definition.name,
    definition: Object.freeze({ ...definition, settings: withoutCallMark(definition.settings ?? {}) }),
    limits: Object.freeze(limits),
    targets: targetsOf(definition),
    format,
    tools: toolsOf(definition, format),
  });
}

/** Parses at the border; the first issue becomes the error. */
export function check<T>(schema: z.ZodType<T>, value: unknown, field: string, code: PawlErrorCode): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [field, ...(issue?.path ?? []).map(String)].filter((part) => part !== '');
  if (issue?.code === 'unrecognized_keys') {
    const unknown = [...path, issue.keys[0]].join('.');
    throw new PawlError(code, `${unknown} is not known: allowed are ${knownKeys(schema, issue.path).join(', ')}.`);
  }
  throw new PawlError(
    code,
    `${path.join('.') || 'the value'} is ${shown(valueAt(value, issue?.path ?? []))}: ${issue?.message}.`,
  );
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const inner = path.reduce<unknown>(
    (current, key) => (current instanceof z.ZodObject ? unwrapped(current.shape[String(key)]) : current),
    schema,
  );
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  return schema instanceof z.ZodOptional ? schema.unwrap() : schema;
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
    ['v2', 'v3', 'v4'].includes(String(model.specificationVersion));
  if (!isModel) {
    throw new PawlError(
      'invalid_model',
      `${field} is ${shown(model)}: allowed are AI SDK language models and provider:model strings.`,
    );
  }
}

function toolsOf(definition: AgentDefinition, format: ReportFormat): Map<string, CatalogTool> {
  const builtIns = [
    ...(definition.finish === 'text' ? [] : [finalReportTool(format)]),
    ...(definition.builtIns?.progressReport === true ? [progressReportTool()] : []),
  ];
  const tools = new Map<string, CatalogTool>();
  for (const [name, tool] of Object.entries(definition.tools ?? {})) {
    if (!toolNamePattern.test(name)) {
      throw new PawlError('invalid_tool', `tools.${name} has the name ${shown(name)}: ${nameRule}.`);
    }
    if (name === finalReportName || name === progressReportName) {
      throw new PawlError(
        'duplicate_tool',
        `tools.${name} has the name ${shown(name)} of a built-in tool: any other name is allowed.`,
      );
    }
    tools.set(name, localTool(name, tool));
  }
  for (const tool of builtIns) tools.set(tool.name, tool);
  return tools;
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
