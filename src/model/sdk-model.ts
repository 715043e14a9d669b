import type { LanguageModel } from 'ai';
import type { Usage } from '../../machines/index.ts';

/**
 * A model as the AI SDK takes and calls it, by the types of the installed `ai`: beside an older one, npm may install a newer
 * `@ai-sdk/provider`, whose types differ from those that `ai` itself has.
 */
export type SdkModel = Extract<LanguageModel, { specificationVersion: 'v4' }>;

export type SdkCall = Parameters<SdkModel['doStream']>[0];
export type SdkPrompt = SdkCall['prompt'];
export type SdkReply = Awaited<ReturnType<SdkModel['doGenerate']>>;
export type SdkContent = SdkReply['content'][number];
type SdkStream = Awaited<ReturnType<SdkModel['doStream']>>['stream'];
export type SdkStreamPart = SdkStream extends ReadableStream<infer Part> ? Part : never;

/** A part of a whole reply as the parts of a stream, with this `id`. */
export function streamedPart(part: SdkContent, id: string): SdkStreamPart[] {
  // A malformed part must not cost the whole reply (P-4).
  if (part?.type !== 'text' && part?.type !== 'reasoning') return [part];
  const { type, text, providerMetadata } = part;
  return [
    { type: `${type}-start`, id, ...(providerMetadata !== undefined && { providerMetadata }) },
    { type: `${type}-delta`, id, delta: text },
    { type: `${type}-end`, id },
  ];
}

/** Parts that are all there, as a stream. */
export function streamOfParts(parts: Iterable<SdkStreamPart>): ReadableStream<SdkStreamPart> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
}

export function sdkUsage({ input, output, reasoning, cacheRead, cacheWrite }: Usage): SdkReply['usage'] {
  const noCache = Math.max(0, input - cacheRead - cacheWrite);
  return {
    inputTokens: { total: input, noCache, cacheRead, cacheWrite },
    outputTokens: { total: output, text: output - reasoning, reasoning },
  };
}
