import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from '@ai-sdk/provider';
import { z } from 'zod';
import { check } from '../../input/check.ts';
import { PawlError, reasonOf } from '../../input/errors.ts';
import { flag, nonBlank } from '../../input/shapes.ts';
import { type SdkCall, type SdkModel, type SdkStreamPart, streamOfParts } from '../../model/sdk-model.ts';
import type { RecordedExchange, RecordingHead, ThrownError } from './exchange.ts';
import { differenceOf, outlineOfCall } from './outline.ts';
import { errorOf } from './thrown.ts';

export type RecordedModelOptions = {
  /** False answers a request that differs from the recorded one, too, with what comes next; default: true. */
  strict?: boolean;
  /** Answers the requests after the last recorded one; default: nobody, and they fail. */
  afterwards?: SdkModel;
};

export type RecordedModel = SdkModel & {
  /** Where the first request that differs does so, in words; null so far. */
  readonly difference: string | null;
  /** How many recorded requests have not come yet. */
  readonly left: number;
};

export const answeringShape = {
  strict: flag.default(true),
  afterwards: z
    .custom<SdkModel>((value) => Object(value).specificationVersion === 'v4', { error: 'a language model' })
    .optional(),
} satisfies Record<keyof RecordedModelOptions, z.ZodType>;
const optionsSchema = z.strictObject(answeringShape);

/** Returns a model that answers as `recordingModel` wrote it down in a file. Throws `invalid_options` or `invalid_journal`. */
export function recordedModel(file: string, options: RecordedModelOptions = {}): RecordedModel {
  check(z.object({ file: nonBlank }), { file }, '', 'invalid_options');
  const checked = check(optionsSchema, options, 'options', 'invalid_options');
  return answeringModel(readRecording(file), checked);
}

type Recording = { provider: string; modelId: string; exchanges: readonly RecordedExchange[] };

/** Makes a model that answers each request with the recorded one that is the same, or with the next. */
export function answeringModel(
  { provider, modelId, exchanges }: Recording,
  { strict, afterwards }: z.infer<typeof optionsSchema>,
): RecordedModel {
  const open = [...exchanges];
  let difference: string | null = null;
  let count = 0;
  const answerTo = (call: SdkCall): RecordedExchange | SdkModel => {
    const outline = outlineOfCall(call);
    count += 1;
    const same = open.findIndex(({ request }) => differenceOf(request, outline) === null);
    const [exchange] = open.splice(Math.max(0, same), 1);
    if (exchange === undefined) {
      if (afterwards !== undefined) return afterwards;
      throw refusal(`The recording has ${exchanges.length} requests, and this is request ${count}.`);
    }
    if (same === -1) {
      difference ??= `Request ${count} is not the one that was recorded: ${differenceOf(exchange.request, outline)}.`;
      if (strict) throw refusal(difference);
    }
    return exchange;
  };
  return {
    ...{ specificationVersion: 'v4', provider, modelId, supportedUrls: {} },
    get difference() {
      return difference;
    },
    get left() {
      return open.length;
    },
    async doGenerate(call) {
      const answer = answerTo(call);
      if ('doGenerate' in answer) return answer.doGenerate(call);
      const { parts, thrown } = answer;
      if (thrown !== null) throw errorOf(thrown);
      return wholeOf(parts);
    },
    async doStream(call) {
      const answer = answerTo(call);
      if ('doStream' in answer) return answer.doStream(call);
      const { parts, thrown } = answer;
      if (thrown !== null && parts.length === 0) throw errorOf(thrown);
      return { stream: streamOf(parts, thrown) };
    },
  };
}

/** No other attempt would do better, so the target is out, and the session says why. */
function refusal(message: string): InvalidArgumentError {
  return new InvalidArgumentError({ argument: 'prompt', message });
}

function streamOf(parts: readonly SdkStreamPart[], thrown: ThrownError | null): ReadableStream<SdkStreamPart> {
  const last: SdkStreamPart[] = thrown === null ? [] : [{ type: 'error', error: errorOf(thrown) }];
  return streamOfParts([...parts.map(revivedPart), ...last]);
}

/** The parts of a stream, as a whole response. */
function wholeOf(parts: readonly SdkStreamPart[]): Awaited<ReturnType<SdkModel['doGenerate']>> {
  const texts = new Map<string, { type: 'text' | 'reasoning'; text: string }>();
  const content: object[] = [];
  let end: Extract<SdkStreamPart, { type: 'finish' }> | null = null;
  for (const part of parts) {
    if (part.type === 'text-start' || part.type === 'reasoning-start') {
      const text = { type: part.type === 'text-start' ? ('text' as const) : ('reasoning' as const), text: '' };
      texts.set(part.id, text);
      content.push(text);
    } else if (part.type === 'text-delta' || part.type === 'reasoning-delta') {
      const text = texts.get(part.id);
      if (text !== undefined) text.text += part.delta;
    } else if (part.type === 'finish') end = part;
    else if (['tool-call', 'tool-result', 'file', 'source'].includes(part.type)) content.push(part);
  }
  if (end === null) throw new Error('The recorded response has no end.');
  const { finishReason, usage } = end;
  return { content: content as never, finishReason, usage, warnings: [] };
}

/** An error is no JSON, and neither is a date. */
function revivedPart(part: SdkStreamPart): SdkStreamPart {
  if (part.type === 'error' && typeof Object(part.error).thrown === 'object')
    return { ...part, error: errorOf(Object(part.error).thrown) };
  if (part.type !== 'response-metadata') return part;
  const { timestamp: _, ...rest } = part;
  return rest;
}

function readRecording(file: string): Recording {
  const invalid = (why: string, cause?: unknown) =>
    new PawlError('invalid_journal', `The recording ${file} cannot be used: ${why}.`, { cause });
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid(reasonOf(error), error);
  }
  const lines = text.split('\n').filter((line) => line !== '');
  try {
    const [head, ...exchanges] = lines.map((line) => JSON.parse(line, bytes)) as [
      RecordingHead?,
      ...RecordedExchange[],
    ];
    if (head?.pawl !== 'recording' || head.version !== 1) throw new Error('it is no recording of a model');
    return { provider: head.provider, modelId: head.modelId, exchanges };
  } catch (error) {
    throw invalid(reasonOf(error), error);
  }
}

/** Brings bytes back. */
function bytes(_: string, value: unknown): unknown {
  const isBytes = typeof value === 'object' && value !== null && Object.keys(value).join() === 'bytes';
  const text: unknown = isBytes ? Reflect.get(value, 'bytes') : null;
  return typeof text === 'string' ? new Uint8Array(Buffer.from(text, 'base64')) : value;
}
