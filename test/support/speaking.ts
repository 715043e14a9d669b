import type { LanguageModelV4CallOptions, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from './session.ts';

/** A model that says each text once the gate is open, but the first at once, and then reports. */
export function speaking(texts: readonly string[], gate: Promise<void>) {
  const model = rehearsalModel([report()]);
  async function* spoken(stream: ReadableStream<LanguageModelV4StreamPart>) {
    for (const delta of texts) {
      yield { type: 'text-delta' as const, id: '1', delta };
      await gate;
    }
    yield* stream;
  }
  return {
    ...model,
    async doStream(options: LanguageModelV4CallOptions) {
      const { stream } = await model.doStream(options);
      return { stream: ReadableStream.from(spoken(stream)) };
    },
  };
}
