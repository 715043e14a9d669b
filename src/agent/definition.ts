import type { ProviderV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import type { HttpPolicy } from '../http/http-policy.ts';
import { type PawlErrorCode, unexpected } from '../input/errors.ts';
import { aFunction, count, flag, oneOf, text, texts, valuesByName } from '../input/shapes.ts';
import type { ModelEntry, ModelReference, Target } from '../model/targets.ts';
import type { Slice } from '../observe/slices.ts';
import { aTelemetry } from '../observe/telemetry.ts';
import type { ReportFormat } from '../report/format.ts';
import type { ReportDefinition } from '../report/registry.ts';
import type { CheckAtOnce, SchemaFor } from '../schema/schema.ts';
import type { CatalogTool } from '../tools/catalog-tool.ts';
import type { LocalTool } from '../tools/local.ts';
import type { McpServerDefinition } from '../tools/mcp/pool.ts';
import type { ToolPolicy } from '../tools/policies.ts';
import type { CachedTool, ToolCache } from '../tools/running/cache.ts';
import { type BuiltIns, optionalBuiltIns } from '../vocabulary/built-ins.ts';
import type { Limits } from '../vocabulary/limits.ts';
import { type Price, priceSchema } from '../vocabulary/prices.ts';
import { settingsSchema } from '../vocabulary/settings.ts';
import { agentNamePattern, agentNameRule } from '../vocabulary/tool-names.ts';
import type { Compaction, CompactOptions } from './compaction.ts';
import type { CheckInput, CheckReply, CheckReport } from './guardrails.ts';
import type { PrepareTurn } from './turn-changes.ts';

/** A provider may be a function, such as that of `@ai-sdk/openai`. */
const isProvider = (value: unknown) =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') && 'languageModel' in value;

export const builtInsSchema: z.ZodType<BuiltIns, BuiltIns> = z.strictObject(
  Object.fromEntries(Object.keys(optionalBuiltIns).map((option) => [option, flag.optional()])),
);

const ofSession = 'it is an option of a session: pass it to startSession or runSession';
/** Options that people look for here. */
const optionsElsewhere = {
  ...Object.fromEntries(
    [
      'prompt',
      'messages',
      'budget',
      'sharedBudget',
      'signal',
      'logger',
      'onEvent',
      'journal',
      'sessionId',
      'context',
    ].map((name) => [name, ofSession]),
  ),
  toolChoice: 'it is for one turn: return it from prepareTurn',
  temperature: 'it belongs into settings',
  maxTurns: 'it belongs into limits',
  maxRetries: 'it belongs into limits',
};

/** An agent definition; unknown options are rejected. Models, tools, servers and sub-agents are checked separately. */
export const definitionSchema = z.strictObject({
  /** 1 to 64 characters in one line, with no space at either end. */
  name: z.string({ error: agentNameRule }).regex(agentNamePattern, { error: agentNameRule }),
  /** The system prompt: a string, or a function that returns it when a session starts. */
  instructions: z
    .union([z.string(), z.custom<InstructionsFunction>((value) => typeof value === 'function')], {
      error: 'a string or a function',
    })
    .optional(),
  /** The schema of the `context` that each session is given; it must check at once, as zod does. */
  contextSchema: z.custom<SchemaFor<unknown>>().optional(),
  /**
   * Targets in order of preference: AI SDK language models, or `provider:model` strings; or `{ model, contextWindow, limits,
   * gate }` for one with a context window of its own (T-6), or with limits that all sessions of the process keep (P-7).
   */
  models: z
    .array(z.custom<ModelReference | ModelEntry>(), { error: 'an array of models' })
    .min(1, { error: 'an array with at least one model' }),
  /** Providers for `provider:model` strings, in addition to the installed AI SDK providers. */
  providers: z
    .record(z.string(), z.custom<ProviderV4>(isProvider, { error: 'an AI SDK provider, with `languageModel`' }))
    .optional(),
  /** AI SDK tools, or plain functions, by name. */
  tools: z.record(z.string(), z.custom<LocalTool>()).optional(),
  /** MCP servers by name; their tools become `name__tool`. */
  mcpServers: z.record(z.string(), z.custom<McpServerDefinition>()).optional(),
  /** How many calls run at once in all sessions of the process, by the name that tools have in `queue`. */
  queues: valuesByName(count, 'an object of numbers').optional(),
  /** Agents as tools, by tool name; each call is a session with its own bound (B-7). */
  agents: z.record(z.string(), z.custom<Agent>()).optional(),
  /** Agents that may take the conversation over, by name, within the same bound (T-8); or `{ agent, input, onHandoff }`. */
  handoffs: z.record(z.string(), z.custom<Agent | Handoff>()).optional(),
  /** Checks what a session is given, before anything is sent (G-1). */
  checkInput: aFunction.optional(),
  /** Checks each reply before it is shown or its calls run (G-2). Checked replies do not stream. */
  checkReply: aFunction.optional(),
  /** Checks each report that its format accepted (G-3). */
  checkReport: aFunction.optional(),
  /** Called before each turn, to set its tools, instructions, models and settings (T-7). */
  prepareTurn: z.custom<PrepareTurn>((value) => typeof value === 'function', { error: 'a function' }).optional(),
  /** Whether, and how, its reports are used again where it is a sub-agent (C-9c). The input of `key` is `{ prompt }`. */
  cache: z.custom<ToolCache>().optional(),
  /** The agent's purpose, for agents that use it as a tool or hand over to it. */
  description: text.optional(),
  /** Every policy must allow a call. */
  toolPolicies: z
    .array(z.custom<ToolPolicy>((value) => typeof value === 'function', { error: 'a function' }))
    .optional(),
  /** The final report; default: `{ format: 'text' }`. */
  report: z.strictObject({ format: z.unknown().optional(), schema: z.unknown().optional() }).optional(),
  limits: z.custom<Partial<Limits>>().optional(),
  settings: settingsSchema.optional(),
  /**
   * `report`: a session ends with the final_report tool. `text`: any plain-text reply is the report (F-4). Default:
   * `report`.
   */
  finish: oneOf('report', 'text').optional(),
  /** Built-in tools to offer in addition to final_report. */
  builtIns: builtInsSchema.optional(),
  /** How Pawl downloads files whose URL the model's provider cannot read; default: public addresses, up to 32 MiB. */
  downloads: z.custom<HttpPolicy>().optional(),
  /** Custom state, folded over the events. */
  slices: valuesByName(z.custom<Slice>(isSlice, { error: 'a slice: { initial, reduce }' })).optional(),
  /** Texts that never reach a log, an event, a report or the inspector, in addition to what the definition holds (S-5). */
  secrets: texts.optional(),
  /** Watches each session that is given none of its own, such as `openTelemetry()` of `pawl/otel`; default: none. */
  telemetry: aTelemetry.optional(),
  /** How a long conversation is compacted before a turn (T-9); default: it never is. */
  compact: z.custom<CompactOptions>().optional(),
  /** Prices by target name (`provider:model`). */
  pricing: valuesByName(priceSchema).optional(),
});
definitionSchema.register(z.globalRegistry, { elsewhere: optionsElsewhere });

/** Bivariant, so that a function that knows the type of its context fits too. */
type InstructionsFunction<Context = unknown> = {
  call(input: { prompt: string | null; context: Context }): string | Promise<string>;
}['call'];

/** An agent as the user defines it. */
export type AgentDefinition<R extends ReportDefinition = ReportDefinition, Context = unknown> = Omit<
  z.input<typeof definitionSchema>,
  | 'report'
  | 'models'
  | 'instructions'
  | 'toolPolicies'
  | 'prepareTurn'
  | 'contextSchema'
  | 'checkInput'
  | 'checkReply'
  | 'checkReport'
  | 'compact'
> & {
  models: readonly (ModelReference | ModelEntry)[];
  report?: R;
  instructions?: string | InstructionsFunction<Context>;
  toolPolicies?: readonly ToolPolicy<Context>[];
  prepareTurn?: PrepareTurn<Context>;
  checkInput?: CheckInput<Context>;
  checkReply?: CheckReply<Context>;
  checkReport?: CheckReport<Context>;
  contextSchema?: SchemaFor<Context>;
  compact?: CompactOptions<Context>;
};

/**
 * A validated definition for starting sessions. `Report` is the content of an accepted report, `Context` what each
 * session is given for its tools, policies and instructions.
 */
export interface Agent<Report = unknown, Context = unknown> {
  readonly name: string;
  readonly definition: AgentDefinition;
  readonly limits: Readonly<Limits>;
  /** The models in order of preference; each is resolved once for all sessions of the agent. */
  readonly targets: readonly Target[];
  /** How its long conversations are compacted; null for one that never does. */
  readonly compaction: Compaction | null;
  readonly format: ReportFormat;
  readonly tools: ReadonlyMap<string, CatalogTool>;
  /** The sub-agents, the MCP servers and the prices: its own, and those of the agents that it may hand over to. */
  readonly agents: Readonly<Record<string, Agent>>;
  readonly mcpServers: Readonly<Record<string, McpServerDefinition>>;
  readonly pricing: Readonly<Record<string, Price>>;
  /** The agents that speak in its sessions: itself first, then those that may take the conversation over. */
  readonly voices: readonly Voice[];
  /** The tools that a session has named to be shown, those of MCP servers among them; null for all. */
  readonly shown: ReadonlySet<string> | null;
  /** Checks a session's context; null for an agent without `contextSchema`. */
  readonly checkContext: CheckAtOnce | null;
  /** Its reports as a sub-agent, which are used again; null for an agent without `cache`. */
  readonly reports: CachedTool | null;
  /** For the type checker only; never set. */
  readonly reportType?: Report;
  readonly contextType?: Context;
}

/** What `onHandoff` receives in addition to its input. */
export type HandoffContext = {
  toolCallId: string;
  /** Aborts on the tool's timeout and when the session is aborted. */
  abortSignal?: AbortSignal;
  /** What the session was given as its `context`. */
  context?: unknown;
};

/** An agent that may take the conversation over, and how (T-8). */
export type Handoff<Input = unknown> = {
  agent: Agent;
  /** The schema of what the model must state with the call, such as a reason or a priority. Default: an optional reason. */
  input?: SchemaFor<Input>;
  /**
   * Runs once the input is checked, as a tool does. What it returns is the result of the call, which the other agent reads;
   * if it throws, the conversation stays where it is.
   */
  onHandoff?: { call(input: Input, context: HandoffContext): unknown }['call'];
};

export function isAgent(value: unknown): value is Agent {
  return isObject(value) && 'targets' in value && 'definition' in value;
}

const madeByDefineAgent = 'an agent made by defineAgent';
export const anAgent = z.custom<Agent>(isAgent, { error: madeByDefineAgent });

/** Throws a `PawlError` for a field that holds no agent. */
export function requireAgent(
  agent: unknown,
  field = 'agent',
  code: PawlErrorCode = 'invalid_options',
): asserts agent is Agent {
  if (!isAgent(agent)) throw unexpected(code, field, agent, madeByDefineAgent);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function isSlice(value: unknown): boolean {
  return isObject(value) && 'initial' in value && 'reduce' in value && typeof value.reduce === 'function';
}

/** One agent's own part in a session whose conversation may be handed over (T-8). */
export type Voice = {
  /** What it is called in `handoffs`; null for the agent that sessions begin with. */
  name: string | null;
  definition: AgentDefinition;
  /** Checks a session's context for it; null without `contextSchema`. */
  checkContext: Agent['checkContext'];
  /** The names of its tools, those that hand over among them, and of its sub-agents. */
  tools: ReadonlySet<string>;
  /** Its targets in order of preference: their names for itself, and in the session. */
  targets: ReadonlyMap<string, string>;
};
