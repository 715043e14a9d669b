import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import {
  type Fault,
  finishSense,
  isComplete,
  isOversized,
  type ModelOutcome,
  type ModelRequest,
  noUsage,
  parseTextInput,
  type Reply,
  replyFiles,
  replyText,
  type Usage,
} from '../../machines/index.ts';
import { withOneRequest } from '../http/bounded-fetch.ts';
import { ownCopy } from '../platform/own-copy.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import { type CacheMark, carriesMark, withoutCallMark } from './cache-marks.ts';
import { generate, stream } from './exchange.ts';
import { classifyFault } from './faults.ts';
import type { ModelEffectOptions } from './model-effect.ts';
import { costOf } from './pricing.ts';
import { inspected } from './reply/inspected-calls.ts';
import { ReplyReader } from './reply/read-reply.ts';
import { RequestTimers } from './request-timers.ts';
import type { Target } from './targets.ts';

/**
 * Runs the model effect (B-2): sends one LLM request, without internal retries, and returns its outcome. Provider
 * faults are outcomes (P-1); an exception from this function is a defect. A broken stream keeps received parts (C-5).
 */
export async function requestModel(
  options: ModelEffectOptions,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const target = options.targets[request.target];
  if (target === undefined) throw new Error(`no target at index ${request.target}`);
  const timers = new RequestTimers(options, signal);
  const { turn, attempt } = request;
  const isShown = !options.checks.replies;
  // Made when the first part arrives: a session that waits for it holds no buffers.
  const arrived: { reader: ReplyReader | null } = { reader: null };
  let provider = '';
  let fault: Fault | null = null;
  try {
    const model = await target.model().catch((error) => {
      fault = classifyFault(error, options.clock.now(), options.secrets);
      return null;
    });
    if (model !== null) {
      provider = model.provider;
      const exchange = options.settings().streaming === false ? generate : stream;
      const onPart = (part: LanguageModelV4StreamPart, at?: number) => {
        arrived.reader ??= new ReplyReader({ turn, attempt, takenIds: options.callIds });
        const { reader } = arrived;
        if (reader.size > options.replyBytes) return;
        const delta = reader.takePart(part);
        if (isShown && delta !== null) options.sight(delta, at);
        if (reader.size > options.replyBytes) {
          reader.cutOff();
          timers.cancel();
        }
      };
      const send = async () => {
        const preparing = options.prepareFiles(model, timers.signal);
        if (preparing !== null) await timers.orAborted(preparing);
        const offered = options.catalog.offered(request.offer);
        const { callOptions, marks } = buildCall(options, request, provider, offered, timers.signal);
        if (options.recordRequest !== null) {
          const sent = { tools: offered, marks };
          await timers.orAborted(options.recordRequest(request, provider, sent));
        }
        // A model may ignore its signal: after an abort, nothing goes out.
        timers.signal.throwIfAborted();
        timers.sent();
        await withOneRequest(() => exchange(model, callOptions, timers, onPart));
      };
      fault = await send().then(
        () => timers.expired,
        (error) => timers.expired ?? classifyFault(error, options.clock.now(), options.secrets),
      );
    }
  } finally {
    timers.clear();
  }
  const { reader } = arrived;
  const usage = reader?.usage ?? noUsage;
  if (fault === null && reader !== null && reader.errors.length > 0)
    fault = classifyFault(reader.errors[0], options.clock.now(), options.secrets);
  const reply = reader === null ? null : replyOf(reader, provider, options);
  const warn = (warnings: readonly string[]) => {
    for (const warning of warnings) options.sight({ type: 'model.warned', target: target.name, warning });
  };
  const whole = reply !== null && isComplete(reply);
  // Once the reply is complete, a failing connection cannot invalidate it (C-5).
  if (whole || (reply !== null && isOversized(reply))) fault = null;
  else fault ??= shortfallOf(reply);
  if (isShown || reply === null) {
    warn(reply?.warnings ?? []);
    return outcomeOf(options, request, target, usage, reply, fault, signal);
  }
  const checked = await options.checks.reply(reply, { turn, attempt }, signal);
  if (checked.kind === 'passed') {
    warn(reply.warnings);
    return outcomeOf(options, request, target, usage, checked.value, fault, signal);
  }
  // Only what it cost is kept (G-2): even a warning may quote what is withheld.
  const { kind, reason } = checked;
  const denial = { kind, message: reason, status: null, retryAfterMs: null };
  const spent = spentOn(options, request, target, usage, reply);
  return { reply: null, fault: denial, calls: [], textReport: null, ...spent, measured: null };
}

function replyOf(reader: ReplyReader, provider: string, options: ModelEffectOptions): Reply {
  const errors = reader.errors.map((error) => classifyFault(error, options.clock.now(), options.secrets).message);
  return withTextInputs(reader.reply(provider, errors), options.catalog);
}

/** Marks the calls whose input is a text, so that it goes back as one. */
function withTextInputs(reply: Reply, catalog: ModelEffectOptions['catalog']): Reply {
  const isText = (part: Reply['content'][number]) =>
    part.type === 'tool-call' && catalog.takesText(part.name) && parseTextInput(part.input).state === 'object';
  if (!reply.content.some(isText)) return reply;
  return { ...reply, content: reply.content.map((part) => (isText(part) ? { ...part, isText: true } : part)) } as Reply;
}

/**
 * Returns the fault for a stream that ended cleanly but left its reply incomplete. Unless the finish reason says why, the
 * connection failed.
 */
function shortfallOf(reply: Reply | null): Fault | null {
  const reason = reply?.finishReason ?? null;
  const sense = finishSense(reason);
  if (sense === 'truncated' || sense === 'filtered') return null;
  const ended = reason === null ? 'without a finish reason' : `with the finish reason ${reason.raw ?? reason.unified}`;
  const kind = sense === 'malformed' ? 'malformed_call' : 'network';
  return { kind, message: `The stream ended ${ended}.`, status: null, retryAfterMs: null };
}

function buildCall(
  { settings, prompts }: ModelEffectOptions,
  { notice, omit }: ModelRequest,
  provider: string,
  offered: readonly OfferedTool[],
  abortSignal: AbortSignal,
): { callOptions: LanguageModelV4CallOptions; marks: number } {
  const { settings: unmarked, own } = withoutCallMark(settings());
  const { promptCaching = 'auto', streaming: _, ...passed } = unmarked;
  const given = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined));
  const markedTools = (mark: CacheMark) =>
    offered.filter((tool) => tool.type === 'function' && carriesMark(tool, mark)).length;
  const { prompt, marks } = prompts.build({ provider, notice, omit, promptCaching, ownMark: own, markedTools });
  const tools: Partial<LanguageModelV4CallOptions> =
    offered.length > 0 ? { tools: offered.map(ownCopy), toolChoice: { type: 'auto' } } : {};
  // A middleware may change these: nothing of it is in another request (T-3).
  return { callOptions: { ...ownCopy(given), ...tools, prompt, abortSignal }, marks };
}

/** Returns what a request used. Where its provider counted nothing of a reply that came, its cost is that of an estimate. */
function spentOn(
  { pricing, guess }: ModelEffectOptions,
  { omit }: ModelRequest,
  target: Target,
  usage: Usage,
  reply: Reply,
): Pick<ModelOutcome, 'usage' | 'costUsd' | 'guessedTokens'> {
  const price = pricing[target.name];
  const isGuessed = usage.input + usage.output === 0 && reply.content.length + reply.openInputs.length > 0;
  if (!isGuessed) return { usage, costUsd: costOf(usage, price) };
  const guessed = guess(omit, reply);
  return { usage, costUsd: costOf(guessed, price), guessedTokens: guessed.input + guessed.output };
}

/**
 * Whether a reply came whole: not cut off, filtered or paused. Only the text of such a reply can be the report, so no other
 * is judged (F-4).
 */
function isWhole(reply: Reply | null): boolean {
  return (
    reply !== null &&
    isComplete(reply) &&
    !['truncated', 'filtered', 'paused'].includes(finishSense(reply.finishReason))
  );
}

async function outcomeOf(
  options: ModelEffectOptions,
  request: ModelRequest,
  target: Target,
  usage: Usage,
  reply: Reply | null,
  fault: Fault | null,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const calls = reply === null ? [] : await inspected(reply, options.catalog, signal);
  const text = reply === null ? '' : replyText(reply);
  const files = reply === null ? [] : replyFiles(reply);
  const isAnswer = fault === null && isWhole(reply) && (text.trim() !== '' || files.length > 0);
  const asksText = request.textMayReport && isAnswer && calls.every((call) => call.tool === 'provider');
  const textReport = asksText ? await options.judgeReply(text, files, signal) : null;
  if (reply === null) return { reply, fault, calls, textReport, usage: noUsage, costUsd: 0, measured: null };
  const measured = options.meter?.measure(request.omit, reply, usage) ?? null;
  return { reply, fault, calls, textReport, ...spentOn(options, request, target, usage, reply), measured };
}
