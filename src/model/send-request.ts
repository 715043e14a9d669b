import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';
import {
  degenerateFinish,
  type Fault,
  type ModelRequest,
  oversizedFinish,
  type ToolChoice,
} from '../../machines/index.ts';
import { withOneRequest } from '../http/bounded-fetch.ts';
import { ownCopy } from '../platform/own-copy.ts';
import type { Pass } from '../shared/gate.ts';
import type { OfferedTool } from '../vocabulary/offered-tool.ts';
import { type Exchanging, generate, stream } from './exchange.ts';
import { faultOf } from './fault-of.ts';
import { headersOf } from './faults.ts';
import type { ModelEffectOptions } from './model-effect.ts';
import { type CacheMark, carriesMark, withoutCallMark } from './prompt/cache-marks.ts';
import { ReplyReader } from './reply/read-reply.ts';
import { EndlessReply } from './reply/repetition.ts';
import { ThinkParts } from './reply/think-parts.ts';
import { RequestTimers } from './request-timers.ts';
import type { Target } from './targets.ts';

/** What came of a request: the provider's name, what arrived of its reply, and why not all did; null for nothing. */
export type Exchanged = { provider: string; reader: ReplyReader | null; fault: Fault | null };

/** Sends one LLM request, without internal retries (B-2). Never rejects for a provider's fault (P-1). */
export async function sendRequest(
  options: ModelEffectOptions,
  request: ModelRequest,
  target: Target,
  signal: AbortSignal,
  pass: Pass | null,
): Promise<Exchanged> {
  const exchanged: Exchanged = { provider: '', reader: null, fault: null };
  const timers = new RequestTimers(options, signal);
  const asFault = (error: unknown) => {
    pass?.refused(headersOf(error));
    return faultOf(options, error);
  };
  try {
    const model = await target.model().catch((error) => {
      exchanged.fault = asFault(error);
      return null;
    });
    if (model === null) return exchanged;
    exchanged.provider = model.provider;
    const parts = partReader(options, request, exchanged, timers);
    const isDone = (done: boolean) => {
      parts.end();
      if (done) exchanged.reader?.endByDone();
    };
    const exchanging = { onPart: parts.take.bind(parts), onAccepted: pass?.accepted.bind(pass) ?? (() => {}), isDone };
    exchanged.fault = await send(options, request, model, timers, exchanging)
      .finally(() => parts.end())
      .then(
        () => timers.expired,
        (error) => timers.expired ?? asFault(error),
      );
    return exchanged;
  } finally {
    timers.clear();
  }
}

/** Returns what reads each part: it cancels the request once the reply is too large, or repeats itself. */
function partReader(
  options: ModelEffectOptions,
  { turn, attempt }: ModelRequest,
  exchanged: Exchanged,
  timers: RequestTimers,
): ThinkParts {
  const isShown = !options.checks.replies;
  const endless = new EndlessReply();
  let isCut = false;
  const cutOff = (reader: ReplyReader, reason: typeof oversizedFinish | typeof degenerateFinish) => {
    isCut = true;
    reader.finishReason = reason;
    timers.cancel();
  };
  return new ThinkParts((part, at) => {
    // Made when the first part arrives: a session that waits for it holds no buffers.
    exchanged.reader ??= new ReplyReader({ turn, attempt, takenIds: options.callIds });
    const { reader } = exchanged;
    if (isCut) return;
    const delta = reader.takePart(part);
    if (isShown && delta !== null) options.sight(delta, at);
    if (delta !== null && endless.take(delta)) cutOff(reader, degenerateFinish);
    else if (reader.size > options.replyBytes) cutOff(reader, oversizedFinish);
  });
}

async function send(
  options: ModelEffectOptions,
  request: ModelRequest,
  model: LanguageModelV4,
  timers: RequestTimers,
  { onPart, onAccepted, isDone }: Exchanging & { isDone: (done: boolean) => void },
): Promise<void> {
  const exchange = options.settings().streaming === false ? generate : stream;
  const preparing = options.prepareFiles(model, timers.signal);
  if (preparing !== null) await timers.orAborted(preparing);
  const { provider } = model;
  const catchingUp = options.prompts.catchUp({ ...request, provider });
  if (catchingUp !== null) await timers.orAborted(catchingUp);
  const offered = options.catalog.offered(request.offer);
  const { callOptions, marks } = buildCall(options, request, model.provider, offered, timers.signal);
  if (options.recordRequest !== null)
    await timers.recorded(options.recordRequest(request, model.provider, { tools: offered, marks }));
  // A model may ignore its signal: after an abort, nothing goes out.
  timers.signal.throwIfAborted();
  timers.sent();
  await withOneRequest(async (sent) => {
    await exchange(model, callOptions, timers, { onPart, onAccepted });
    isDone(sent.done);
  });
}

function buildCall(
  { settings, prompts, toolChoice }: ModelEffectOptions,
  { notice, omit, omitText, permission }: ModelRequest,
  provider: string,
  offered: readonly OfferedTool[],
  abortSignal: AbortSignal,
): { callOptions: LanguageModelV4CallOptions; marks: number } {
  const { settings: unmarked, own } = withoutCallMark(settings());
  const { promptCaching = 'auto', streaming: _, ...passed } = unmarked;
  const given = Object.fromEntries(Object.entries(passed).filter(([, value]) => value !== undefined));
  const markedTools = (mark: CacheMark) =>
    offered.filter((tool) => tool.type === 'function' && carriesMark(tool, mark)).length;
  const { prompt, marks } = prompts.build({
    ...{ provider, notice, omit, omitText, promptCaching, ownMark: own, markedTools },
  });
  const tools: Partial<LanguageModelV4CallOptions> =
    offered.length > 0
      ? { tools: offered.map(ownCopy), toolChoice: choiceOf(permission === 'all' ? toolChoice() : null) }
      : {};
  // A middleware may change these: nothing of it is in another request (T-3).
  return { callOptions: { ...ownCopy(given), ...tools, prompt, abortSignal }, marks };
}

function choiceOf(choice: ToolChoice | null): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  if (typeof choice === 'object') return choice === null ? { type: 'auto' } : { type: 'tool', toolName: choice.tool };
  return { type: choice };
}
