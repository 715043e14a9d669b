import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report, run } from '../support/session.ts';

const signature = { maker: { signature: 'signed' } };

it('C-6 P-5: an answer carries what the provider noted of its call, but only back to that provider', async () => {
  const seen: [string, unknown][] = [];
  const modelOf = (provider: string, replies: Parameters<typeof rehearsalModel>[0]) => {
    const model = rehearsalModel(replies);
    const doStream: typeof model.doStream = async (options) => {
      const answer = options.prompt.flatMap((message) => (message.role === 'tool' ? message.content : []))[0];
      if (answer !== undefined) seen.push([provider, answer.providerOptions]);
      const { stream, ...rest } = await model.doStream(options);
      const signed = new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
        transform: (part, out) =>
          out.enqueue(part.type === 'tool-call' ? { ...part, providerMetadata: signature } : part),
      });
      return { ...rest, stream: stream.pipeThrough(signed) };
    };
    return { ...model, provider, modelId: provider, doStream };
  };
  const maker = modelOf('maker', [{ calls: [{ name: 'look' }] }, {}]);
  const other = modelOf('other', [report()]);
  const { result } = await run({
    agent: defineAgent({ name: 'two', models: [maker, other], tools: { look: () => 'seen' } }),
  });
  expect(result.success).toBe(true);
  expect(seen).toEqual([
    ['maker', signature],
    ['other', undefined],
  ]);
});
