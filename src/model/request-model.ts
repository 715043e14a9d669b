import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import {
  type CallFacts,
  callFacts,
  type Fault,
  isComplete,
  type ModelOutcome,
  type ModelRequest,
  noUsage,
  providerResults,
  type Reply,
  type ReplyCall,
  type ReportVerdict,
  replyCalls,
  replyText,
  type Usage,
} from '../../machines/index.ts';
import { estimateTokens } from '../context/tokens.ts';
import type { Sighting } from '../observe/events.ts';
import { generate, stream } from './exchange.ts';
import { classifyFault } from './faults.ts';
import { costOf, type Price } from './pricing.ts';
import type { PromptBuilder } from './prompt.ts';
import { ReplyReader } from './read-reply.ts';
import { RequestTimers } from './request-timers.ts';
import type { Target } from './targets.ts';

/** What is passed to every request as it is; `promptCaching` and `streaming` are ours. */
export type ModelSettings = Pick<
  LanguageModelV4CallOptions,
  | 'temperature'
  | 'maxOutputTokens'
  | 'topP'
  | 'topK'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'stopSequences'
  | 'seed'
  | 'reasoning'
  | 'providerOptions'
  | 'headers'
> & {
  /** `auto` marks what a provider should cache where it needs marks (N-3); default `auto`. */
  promptCaching?: 'auto' | 'off';
  /** false asks for whole responses, for models and gateways that cannot stream; default true. */
  streaming?: boolean;
};

export type OfferedTool = LanguageModelV4FunctionTool | LanguageModelV4ProviderTool;

export type ModelEffectOptions = {
  targets: readonly Target[];
  /** Prices by target name. */
  pricing: Record<string, Price>;
  settings: ModelSettings;
  /** For the whole request, and between two parts of its stream; in ms. */
  timeoutMs: number;
  idleTimeoutMs: number;
  prompts: PromptBuilder;
  instructions: () => string | null;
  callIds: ReadonlySet<string>;
  catalog: {
    offered(offer: ModelRequest['offer']): readonly OfferedTool[];
    /** What is to be known of a call before it is disposed of; `within` is the index of the batch around it. */
    inspect(call: ReplyCall, within: number | null, signal: AbortSignal): Promise<CallFacts>;
    /** The calls inside a batch; of any other call, none. */
    inside(call: CallFacts): ReplyCall[];
  };
  validator: { ofText(text: string, signal: AbortSignal): Promise<ReportVerdict> };
  /** Whether the size of the conversation matters to anybody (T-6). */
  measuresContext: boolean;
  sight: (sighting: Sighting) => void;
  wantsDeltas: () => boolean;
  now: () => number;
  secrets: readonly string[];
};

/**
 * The model effect (B-2): one LLM request, without any retry below it, and what came of it. Faults of the provider are
 * outcomes (P-1); what this function throws is a defect. A stream that breaks keeps what had arrived (C-5).
 */
export async function requestModel(
  options: ModelEffectOptions,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const target = options.targets[request.target];
  if (target === undefined) throw new Error(`there is no target ${request.target}`);
  const timers = new RequestTimers(options, signal);
  const reader = new ReplyReader();
  let provider = '';
  let began = false;
  let fault: Fault | null = null;
  try {
    const model = await target.model().catch((error) => {
      fault = classifyFault(error, options.now(), options.secrets);
      return null;
    });
    if (model !== null) {
      provider = model.provider;
      const callOptions = buildCall(options, request, provider, timers.signal);
      const exchange = options.settings.streaming === false ? generate : stream;
      fault = await exchange(model, callOptions, timers, (part) => {
        began = true;
        take(reader, part, options, request);
      }).then(
        () => timers.expired,
        (error) => timers.expired ?? classifyFault(error, options.now(), options.secrets),
      );
    }
  } finally {
    timers.clear();
  }
  if (fault === null && reader.errors.length > 0)
    fault = classifyFault(reader.errors[0], options.now(), options.secrets);
  const reply = began ? replyOf(reader, provider, options, request) : null;
  for (const warning of reply?.warnings ?? []) options.sight({ type: 'model.warned', target: target.name, warning });
  const whole = reply !== null && isComplete(reply);
  // Once the reply is whole, what becomes of the connection takes nothing back (C-5).
  if (whole) fault = null;
  else fault ??= brokenOff(reply);
  return outcomeOf(options, request, target, reader, reply, fault, signal);
}

function take(
  reader: ReplyReader,
  part: LanguageModelV4StreamPart,
  { wantsDeltas, sight }: ModelEffectOptions,
  { turn, attempt }: ModelRequest,
): void {
  const delta = reader.take(part);
  if (delta !== null && wantsDeltas()) sight({ type: 'model.delta', turn, attempt, ...delta });
}

function replyOf(reader: ReplyReader, provider: string, options: ModelEffectOptions, request: ModelRequest): Reply {
  const errors = reader.errors.map((error) => classifyFault(error, options.now(), options.secrets).message);
  return reader.reply(provider, errors, { taken: options.callIds, turn: request.turn, attempt: request.attempt });
}

/** A stream that ended cleanly without saying that its reply is whole: the way to the provider failed. */
function brokenOff(reply: Reply | null): Fault {
  const reason =
    reply?.finishReason == null ? 'without a finish' : `with the finish reason ${reply.finishReason.unified}`;
  return { kind: 'network', message: `The stream ended ${reason}.`, status: null, retryAfterMs: null };
}

function buildCall(
  { settings, prompts, instructions, catalog }: ModelEffectOptions,
  { offer, notice, omitTokens }: ModelRequest,
  provider: string,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const { promptCaching = 'auto', streaming: _, ...passed } = settings;
  const offered = catalog.offered(offer);
  const prompt = prompts.build({ provider, instructions: instructions(), notice, omitTokens, promptCaching });
  return {
    ...passed,
    ...(offered.length > 0 && { tools: [...offered], toolChoice: { type: 'auto' } }),
    prompt,
    abortSignal,
  };
}

async function outcomeOf(
  options: ModelEffectOptions,
  request: ModelRequest,
  target: Target,
  reader: ReplyReader,
  reply: Reply | null,
  fault: Fault | null,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const calls = reply === null ? [] : await inspected(reply, options.catalog, signal);
  const text = reply === null ? '' : replyText(reply);
  const asksText =
    request.textMayReport && fault === null && text.trim() !== '' && calls.every((call) => call.tool === 'provider');
  const usage = reply === null ? noUsage : reader.usage;
  return {
    reply,
    fault,
    calls,
    textReport: asksText ? await options.validator.ofText(text, signal) : null,
    usage,
    costUsd: reply === null ? 0 : costOf(usage, options.pricing[target.name]),
    contextTokens: reply === null || !options.measuresContext ? 0 : contextTokens(usage, reply, options.prompts),
    omittedTokens: reply === null ? 0 : options.prompts.omittedTokens,
  };
}

async function inspected(
  reply: Reply,
  catalog: ModelEffectOptions['catalog'],
  signal: AbortSignal,
): Promise<CallFacts[]> {
  const results = providerResults(reply);
  const calls = await Promise.all(
    replyCalls(reply).map(async (call): Promise<CallFacts> => {
      if (!call.providerExecuted) return catalog.inspect(call, null, signal);
      const result = results.get(call.callId);
      return providedFacts(call, result === undefined ? 'missing' : result.isError ? 'failure' : 'success');
    }),
  );
  const inside = calls.flatMap((call, index) =>
    catalog.inside(call).map((inner) => catalog.inspect(inner, index, signal)),
  );
  return inside.length === 0 ? calls : [...calls, ...(await Promise.all(inside))];
}

/** As the provider counted, or as estimated where it did not. */
function contextTokens(usage: Usage, reply: Reply, prompts: PromptBuilder): number {
  const counted = usage.input + usage.output;
  if (counted > 0) return counted;
  return prompts.estimateTokens() - prompts.omittedTokens + estimateTokens(JSON.stringify(reply.content));
}

function providedFacts({ callId, name }: ReplyCall, provided: CallFacts['provided']): CallFacts {
  return { ...callFacts(callId, name, 'provider'), wholeInput: true, provided };
}
