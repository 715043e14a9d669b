import { z } from 'zod';
import { check } from '../input/check.ts';
import { flag, longestMs, oneOf, text } from '../input/shapes.ts';
import {
  type SdkCall,
  type SdkContent,
  type SdkModel,
  type SdkPrompt,
  type SdkReply,
  type SdkStreamPart,
  sdkUsage,
  streamedPart,
  streamOfParts,
} from '../model/sdk-model.ts';

/** A scripted reply. Every field is optional; `{}` is an empty reply. */
export type RehearsedReply = {
  text?: string;
  reasoning?: string;
  /** Tool calls. A string `input` is sent verbatim, even if malformed. */
  calls?: readonly { name: string; input?: unknown; id?: string }[];
  /** Default: `tool-calls` with calls, otherwise `stop`. */
  finishReason?: SdkReply['finishReason']['unified'];
  usage?: { input?: number; output?: number; reasoning?: number; cacheRead?: number; cacheWrite?: number };
  /** Thrown instead of a reply, before anything is sent. */
  throws?: unknown;
  /** Sent as an error part after the content, in place of the finish part. */
  breaks?: unknown;
  /** Ends the stream without its finish part. */
  cut?: boolean;
  /** Ms before the reply begins. */
  delayMs?: number;
  /** Leaves the request unanswered until it is aborted. */
  hangs?: boolean;
};

/** The request passed to a script function. */
export type RehearsalRequest = {
  /** The number of earlier requests. */
  index: number;
  prompt: SdkPrompt;
  /** Names of the offered tools. */
  tools: string[];
  /** The system notice in the request, if any. */
  notice: string | null;
  options: SdkCall;
};

export type RehearsalScript =
  | readonly RehearsedReply[]
  | ((request: RehearsalRequest) => RehearsedReply | PromiseLike<RehearsedReply>);

export type RehearsalModel = SdkModel & {
  /** The requests so far, in order. */
  readonly requests: RehearsalRequest[];
};

/** The shape of a tool call in a reply. */
export const callSchema = z.strictObject({ name: text, input: z.unknown().optional(), id: text.optional() });

/** NaN and Infinity, too: a provider may report them. */
const tokens = z.custom<number>((value) => typeof value === 'number', { error: 'a number of tokens' }).optional();
const delay = `a number of ms from 0 to ${longestMs}`;
export const replySchema = z.strictObject(
  {
    text: text.optional(),
    reasoning: text.optional(),
    calls: z.array(callSchema, { error: 'an array of calls' }).optional(),
    finishReason: oneOf('stop', 'length', 'content-filter', 'tool-calls', 'error', 'other').optional(),
    usage: z
      .strictObject({ input: tokens, output: tokens, reasoning: tokens, cacheRead: tokens, cacheWrite: tokens })
      .optional(),
    throws: z.unknown().optional(),
    breaks: z.unknown().optional(),
    cut: flag.optional(),
    delayMs: z.number({ error: delay }).min(0, { error: delay }).max(longestMs, { error: delay }).optional(),
    hangs: flag.optional(),
  } satisfies Record<keyof RehearsedReply, z.ZodType>,
  { error: 'a reply, such as { text } or { calls }' },
);
const repliesSchema = z.array(replySchema, { error: 'an array of replies, or a function that returns one' });
const optionsSchema = z.strictObject({ provider: text.default('rehearsal'), modelId: text.default('script') });

/**
 * Creates a language model that replies from a script, whose last reply repeats, or from a function of the request. It
 * records its requests and misbehaves on command. Throws `invalid_options`.
 */
export function rehearsalModel(
  script: RehearsalScript,
  options: { provider?: string; modelId?: string } = {},
): RehearsalModel {
  const { provider, modelId } = check(optionsSchema, options, 'options', 'invalid_options');
  if (typeof script !== 'function') check<unknown>(repliesSchema, script, 'script', 'invalid_options');
  const requests: RehearsalRequest[] = [];
  const reply = async (options: SdkCall): Promise<[RehearsedReply, SdkContent[]]> => {
    const request = {
      index: requests.length,
      prompt: options.prompt,
      tools: (options.tools ?? []).map((tool) => tool.name),
      notice: noticeIn(options.prompt),
      options,
    };
    requests.push(request);
    let scripted: RehearsedReply;
    if (typeof script === 'function') {
      scripted = await script(request);
      check<unknown>(replySchema, scripted, 'reply', 'invalid_options');
    } else {
      scripted = script[Math.min(request.index, script.length - 1)] ?? {};
    }
    await begun(scripted, options.abortSignal);
    return [scripted, contentOf(scripted, request.index + 1)];
  };
  return {
    specificationVersion: 'v4',
    provider,
    modelId,
    supportedUrls: {},
    requests,
    async doGenerate(options) {
      const [rehearsed, content] = await reply(options);
      if (rehearsed.breaks !== undefined) throw rehearsed.breaks;
      if (rehearsed.cut === true) throw new Error('terminated: the response was cut off');
      return { content, finishReason: finishReasonOf(rehearsed), usage: usageOf(rehearsed), warnings: [] };
    },
    async doStream(options) {
      const [rehearsed, content] = await reply(options);
      const parts = partsOf(rehearsed, content);
      return { stream: streamOfParts(parts) };
    },
  };
}

async function begun(rehearsed: RehearsedReply, signal: AbortSignal | undefined): Promise<void> {
  if (rehearsed.hangs === true || rehearsed.delayMs !== undefined)
    await pause(rehearsed.hangs === true ? undefined : rehearsed.delayMs, signal);
  if (rehearsed.throws !== undefined) throw rehearsed.throws;
}

/** Waits for `delayMs`, or forever without it; rejects when `signal` aborts. */
function pause(delayMs: number | undefined, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    const timeout = delayMs === undefined ? undefined : setTimeout(end, delayMs);
    const abort = () => {
      clearTimeout(timeout);
      reject(signal?.reason);
    };
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  });
}

function contentOf({ text, reasoning, calls = [] }: RehearsedReply, request: number): SdkContent[] {
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ name, input = {}, id }, index) => ({
      type: 'tool-call' as const,
      toolCallId: id ?? `call-${request}-${index}`,
      toolName: name,
      input: typeof input === 'string' ? input : JSON.stringify(input),
    })),
  ];
}

function partsOf(rehearsed: RehearsedReply, content: readonly SdkContent[]): SdkStreamPart[] {
  const parts: SdkStreamPart[] = [{ type: 'stream-start', warnings: [] }];
  for (const [index, part] of content.entries()) {
    if (part.type === 'tool-call') {
      const { toolCallId: id, toolName, input } = part;
      parts.push({ type: 'tool-input-start', id, toolName }, { type: 'tool-input-delta', id, delta: input });
      parts.push({ type: 'tool-input-end', id });
    }
    parts.push(...streamedPart(part, String(index)));
  }
  if (rehearsed.breaks !== undefined) parts.push({ type: 'error', error: rehearsed.breaks });
  else if (rehearsed.cut !== true) {
    parts.push({ type: 'finish', finishReason: finishReasonOf(rehearsed), usage: usageOf(rehearsed) });
  }
  return parts;
}

function finishReasonOf({ finishReason, calls = [] }: RehearsedReply): SdkReply['finishReason'] {
  const unified = finishReason ?? (calls.length > 0 ? 'tool-calls' : 'stop');
  return { unified, raw: unified };
}

function usageOf({ usage = {} }: RehearsedReply): SdkReply['usage'] {
  const { input = 10, output = 5, reasoning = 0, cacheRead = 0, cacheWrite = 0 } = usage;
  return sdkUsage({ input, output, reasoning, cacheRead, cacheWrite });
}

function noticeIn(prompt: SdkPrompt): string | null {
  const last = prompt.at(-1);
  if (last?.role !== 'user') return null;
  const text = last.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('');
  return text.startsWith('system notice: ') ? text : null;
}
