import type { ProviderV4 } from '@ai-sdk/provider';
import { z } from 'zod';
import type { Price } from './model/pricing.ts';
import type { ModelSettings } from './model/request-model.ts';
import type { ModelReference, Target } from './model/targets.ts';
import type { Slice } from './observe/slices.ts';
import type { ReportFormat } from './report/format.ts';
import type { ReportDefinition } from './report/registry.ts';
import { type CatalogTool, toolNamePattern } from './tools/catalog.ts';
import type { LocalTool } from './tools/local.ts';
import type { McpServerDefinition } from './tools/mcp-definition.ts';
import type { ToolPolicy } from './tools/policies.ts';

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
  /** Ms until the instructions are made and all MCP servers are connected; default 30,000. */
  prepareTimeoutMs: number;
  /** Sessions below each other, the first included (B-7); default 3. */
  maxDepth: number;
  /**
   * Requests that a session and all sub-agents below it may send (B-7), where it has sub-agents. Default null: four times
   * `maxTurns x maxRetries`.
   */
  maxTreeRequests: number | null;
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
  /** MCP servers by name; their tools become `name__tool`. */
  mcpServers?: Record<string, McpServerDefinition>;
  /** Agents as tools, by the name that they are called by; each call is a session of its own (B-7). */
  agents?: Record<string, Agent>;
  /** What this agent is for, as an agent that has it as a tool is told. */
  description?: string;
  /** All of them must allow a call. */
  toolPolicies?: readonly ToolPolicy[];
  /** The same as `builtIns.readResult`. */
  resultStore?: boolean;
  /** What the final report is; default `{ format: 'text' }`. */
  report?: R;
  limits?: Partial<Limits>;
  /** Passed to every request. */
  settings?: ModelSettings;
  /** `report`: a session ends by the final_report tool. `text`: any plain-text reply is the report (F-4). Default `report`. */
  finish?: 'report' | 'text';
  /** Built-in tools beside final_report. */
  builtIns?: {
    /** The model may say how it is getting on; default false. */
    progressReport?: boolean;
    /** Several calls in one; default false. */
    batch?: boolean;
    /** Results that are too large are kept, and read in pages; default false. */
    readResult?: boolean;
  };
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
/** The longest that a timer can wait. */
const longestMs = 2_147_483_647;
const allowedMs = `an integer from 1 to ${longestMs} (ms) is allowed`;
const timeout = z.int({ error: allowedMs }).min(1, { error: allowedMs }).max(longestMs, { error: allowedMs });
export const limitsSchema = z.strictObject({
  maxTurns: count.default(10),
  maxRetries: count.default(3),
  maxToolCallsPerTurn: count.default(20),
  maxConcurrentTools: count.default(8),
  toolTimeoutMs: timeout.default(60_000),
  modelTimeoutMs: timeout.default(600_000),
  modelIdleTimeoutMs: timeout.default(120_000),
  approvalTimeoutMs: timeout.nullable().default(null),
  toolResultBytes: z
    .int({ error: 'an integer of at least 256 is allowed' })
    .min(256, { error: 'an integer of at least 256 is allowed' })
    .default(65_536),
  contextWindow: count.nullable().default(null),
  prepareTimeoutMs: timeout.default(30_000),
  maxDepth: count.default(3),
  maxTreeRequests: count.nullable().default(null),
});

export const nameRule = 'allowed are 1 to 64 characters of A-Z a-z 0-9 _ -';
const dollars = z
  .number({ error: 'a number of at least 0 is allowed' })
  .min(0, { error: 'a number of at least 0 is allowed' });
const anyFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', {
  error: 'a function is allowed',
});
const flag = z.boolean({ error: 'a boolean is allowed' }).optional();
export const definitionSchema = z.strictObject({
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
  builtIns: z.strictObject({ progressReport: flag, batch: flag, readResult: flag }).optional(),
  mcpServers: z.record(z.string(), z.unknown()).optional(),
  agents: z.record(z.string(), z.unknown()).optional(),
  description: z.string({ error: 'a string is allowed' }).optional(),
  toolPolicies: z.array(anyFunction, { error: 'an array of functions is allowed' }).optional(),
  resultStore: flag,
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
