import {
  cutHere,
  type Fault,
  finishSense,
  isComplete,
  isPaused,
  type ModelOutcome,
  type ModelRequest,
  noUsage,
  parseTextInput,
  providerResults,
  type Reply,
  type ReplyCall,
  replyCalls,
  replyFiles,
  replyText,
  type Usage,
} from '../../machines/index.ts';
import type { Pass } from '../shared/gate.ts';
import { faultOf } from './fault-of.ts';
import type { ModelEffectOptions } from './model-effect.ts';
import { costOf } from './pricing.ts';
import { isCallMarkup } from './reply/call-markup.ts';
import { inspected } from './reply/inspected-calls.ts';
import { type Exchanged, sendRequest } from './send-request.ts';
import type { Target } from './targets.ts';

/**
 * Runs the model effect (B-2): sends one LLM request and returns its outcome. Provider faults are outcomes (P-1); an
 * exception from this function is a defect. `pass` learns how the target took the request (P-7). A broken stream keeps received parts (C-5).
 */
export async function requestModel(
  options: ModelEffectOptions,
  request: ModelRequest,
  signal: AbortSignal,
  pass: Pass | null = null,
): Promise<ModelOutcome> {
  const target = options.targets[request.target];
  if (target === undefined) throw new Error(`no target at index ${request.target}`);
  const exchanged = await sendRequest(options, request, target, signal, pass);
  const usage = exchanged.reader?.usage ?? noUsage;
  const stated = exchanged.reader?.costUsd ?? null;
  const { reply, fault } = verdictOf(options, exchanged);
  if (reply === null) return { ...nothingCame, fault };
  const { turn, attempt } = request;
  const checked = options.checks.replies
    ? await options.checks.reply(reply, { turn, attempt }, signal)
    : { kind: 'passed' as const, value: reply };
  if (checked.kind === 'passed') {
    for (const warning of reply.warnings) options.sight({ type: 'model.warned', target: target.name, warning });
    return outcomeOf(options, request, target, { usage, stated }, checked.value, fault, signal);
  }
  // Only what it cost is kept (G-2): even a warning may quote what is withheld.
  const denial = { kind: checked.kind, message: checked.reason, status: null, retryAfterMs: null };
  return { ...nothingCame, fault: denial, ...spentOn(options, request, target, { usage, stated }, reply) };
}

/** The outcome of a request without a reply, but for its fault. */
const nothingCame = {
  reply: null,
  calls: [],
  textReport: null,
  usage: noUsage,
  costUsd: 0,
  measured: null,
};

/** Returns the reply that came, whole or not, and what is wrong with it. */
function verdictOf(
  options: ModelEffectOptions,
  { provider, reader, fault }: Exchanged,
): { reply: Reply | null; fault: Fault | null } {
  const asFault = (error: unknown) => faultOf(options, error);
  if (reader === null) return { reply: null, fault: fault ?? shortfallOf(null) };
  const errors = reader.errors.map(asFault);
  const messages = errors.map(({ message }) => message);
  const reply = withMarks(reader.reply(provider, messages), options.catalog);
  // Once the reply is complete, a failing connection cannot invalidate it (C-5).
  if (isComplete(reply) || cutHere(reply) !== null) return { reply, fault: null };
  return { reply, fault: fault ?? errors[0] ?? shortfallOf(reply) };
}

/** Marks the calls whose input is a text, so that it goes back as one, and those that wait for their provider's result. */
function withMarks(reply: Reply, catalog: ModelEffectOptions['catalog']): Reply {
  const calls = replyCalls(reply);
  if (calls.length === 0) return reply;
  const results = providerResults(reply);
  // After a pause or calls to our tools, the provider continues its own calls.
  const goesOn = isPaused(reply) || calls.some((call) => !call.providerExecuted);
  const marksOf = (call: ReplyCall): Partial<ReplyCall> => {
    const isText = catalog.takesText(call.name) && parseTextInput(call.input).state === 'object';
    const awaits = call.providerExecuted && !results.has(call.callId) && (goesOn || catalog.isDeferred(call.name));
    return { ...(isText && { isText: true }), ...(awaits && { isAwaited: true }) };
  };
  const content = reply.content.map((part) => (part.type === 'tool-call' ? { ...part, ...marksOf(part) } : part));
  return { ...reply, content };
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

/** What a provider says that a request used, and what it cost; null if it does not say. */
type Stated = { usage: Usage; stated: number | null };

/** Returns what a request used. Where its provider counted nothing of a reply that came, its cost is that of an estimate. */
function spentOn(
  { pricing, meter }: ModelEffectOptions,
  request: ModelRequest,
  target: Target,
  { usage, stated }: Stated,
  reply: Reply,
): Pick<ModelOutcome, 'usage' | 'costUsd' | 'guessedTokens'> {
  const price = pricing[target.name];
  const isGuessed = usage.input + usage.output === 0 && reply.content.length + reply.openInputs.length > 0;
  if (!isGuessed || stated !== null) return { usage, costUsd: stated ?? costOf(usage, price) };
  const guessed = meter.guess(request, reply);
  return { usage, costUsd: costOf(guessed, price), guessedTokens: guessed.input + guessed.output };
}

/**
 * Whether a reply came whole: not cut off, filtered or paused. Only the text of such a reply can be the report, so no other
 * is judged (F-4).
 */
function isWhole(reply: Reply): boolean {
  return isComplete(reply) && !['truncated', 'filtered', 'paused'].includes(finishSense(reply.finishReason));
}

/** Whether a text is the markup of a call, where tools are offered (F-4). */
function isCallAsText({ catalog }: ModelEffectOptions, text: string): boolean {
  const tools = catalog.offered('all').map(({ name }) => name);
  return tools.length > 0 && isCallMarkup(text, tools);
}

async function outcomeOf(
  options: ModelEffectOptions,
  request: ModelRequest,
  target: Target,
  used: Stated,
  reply: Reply,
  fault: Fault | null,
  signal: AbortSignal,
): Promise<ModelOutcome> {
  const calls = await inspected(reply, options.catalog, signal);
  const text = replyText(reply);
  const files = replyFiles(reply);
  const isAnswer = fault === null && isWhole(reply) && (text.trim() !== '' || files.length > 0);
  const asksText = request.textMayReport && isAnswer && calls.every((call) => call.tool === 'provider');
  const callAsText = text.trim() !== '' && isCallAsText(options, text);
  const textReport = asksText && !callAsText ? await options.judgeReply(text, files, signal) : null;
  const measured = options.meter.measure(request, reply, used.usage);
  const spoken = { reply, fault, calls, textReport, ...(callAsText && { callAsText }) };
  return { ...spoken, ...spentOn(options, request, target, used, reply), measured };
}
