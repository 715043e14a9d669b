import type { LanguageModel } from 'ai';

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
