import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report, run } from '../support/session.ts';
import { call, finish, modelOf, reported } from '../support/untyped-model.ts';

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

it('P-5: what a provider notes at the start, in a delta or only at the end of its reasoning goes back to it', async () => {
  for (const place of ['reasoning-start', 'reasoning-delta', 'reasoning-end']) {
    const thinking = [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'Let me see.' },
      { type: 'reasoning-end', id: '0' },
    ].map((part) => (part.type === place ? { ...part, providerMetadata: signature } : part));
    const model = modelOf([...thinking, call('look'), finish], [reported('Seen.'), finish]);
    const { doStream } = model;
    const sent: unknown[] = [];
    model.doStream = (options) => {
      const said = options.prompt.flatMap((message) => (message.role === 'assistant' ? [...message.content] : []));
      sent.push(...said.filter(({ type }) => type === 'reasoning'));
      return doStream(options);
    };
    const { result } = await run({
      agent: defineAgent({ name: 'one', models: [model], tools: { look: () => 'seen' } }),
    });
    expect([place, result.success]).toEqual([place, true]);
    expect([place, sent]).toEqual([place, [{ type: 'reasoning', text: 'Let me see.', providerOptions: signature }]]);
  }
});
