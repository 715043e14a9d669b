import { type SdkModel, type SdkStreamPart, streamedPart, streamOfParts } from '../../model/sdk-model.ts';
import type { AgentStep } from './steps.ts';

/** The session of an agent as the model that the SDK's loop asks: each reply is the session's next step. */
export function sessionModel(name: string, next: (signal: AbortSignal | undefined) => Promise<AgentStep>): SdkModel {
  return {
    specificationVersion: 'v4',
    provider: 'pawl',
    modelId: name,
    // The session's own models say what they take.
    supportedUrls: { '*/*': [/.*/] },
    doGenerate: async ({ abortSignal }) => {
      const { error, ...reply } = await next(abortSignal);
      if (error !== null) throw error;
      return { ...reply, warnings: [] };
    },
    doStream: async ({ abortSignal }) => {
      const step = await next(abortSignal);
      return { stream: streamOfParts(partsOf(step)) };
    },
  };
}

function* partsOf({ content, error, ...finish }: AgentStep): Generator<SdkStreamPart> {
  yield { type: 'stream-start', warnings: [] };
  for (const [index, part] of content.entries()) yield* streamedPart(part, String(index));
  if (error !== null) yield { type: 'error', error };
  yield { type: 'finish', ...finish };
}
