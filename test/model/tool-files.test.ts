import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModel } from 'ai';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { carriesToolFiles } from '../../src/model/prompt/tool-files.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { assistant, base, builder, call, result, tool, user } from '../support/prompts.ts';
import { counters, report, run, tokensOf } from '../support/session.ts';

const picture = 'A'.repeat(1_200_000);
const content = (value: object[]) => ({ type: 'content', value }) as never;
const png = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: picture } };

describe('T-6b: a picture in a tool result goes out as a picture', () => {
  const chats: [string, (baseURL: string) => LanguageModel][] = [
    ['openai-compatible', (baseURL) => createOpenAICompatible({ name: 'any', baseURL, apiKey: 'k' })('vision')],
    ['openai.chat', (baseURL) => createOpenAI({ baseURL, apiKey: 'k' }).chat('vision')],
  ];
  it.each(chats)('%s: in one user message after the answers, in each later request', async (_name, model) => {
    const calls = [
      { name: 'shot', input: {}, id: 'c1' },
      { name: 'look', input: {}, id: 'c2' },
    ];
    await using server = await startModelServer([{ calls }, { calls: [{ name: 'look', input: {} }] }, report()]);
    const agent = defineAgent({
      name: 'seeing',
      models: [model(server.url)],
      limits: { contextWindow: 32_000 },
      tools: {
        shot: {
          inputSchema: { type: 'object' },
          execute: () => 'taken',
          toModelOutput: () => content([{ type: 'text', text: 'Here:' }, png]),
        } as never,
        look: () => 'seen',
      },
    });
    const { result: ended } = await run({ agent, requests: server.requests });
    expect(ended.counters).toEqual(
      counters({
        ...{ turns: 3, attempts: 3, tokens: tokensOf(3), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 4, answered: 4, executed: 3, succeeded: 3, acknowledged: 1 },
      }),
    );
    const [, second, third] = server.requests.map(({ body }) => body.messages);
    const last = second?.slice(-3);
    expect(last).toMatchObject([
      { role: 'tool', tool_call_id: 'c1', content: 'Here:\n[image/png: file 1 of the message after the results]' },
      { role: 'tool', tool_call_id: 'c2', content: 'seen' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'File 1, of the result of call c1 (shot):' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } },
        ],
      },
    ]);
    expect(third?.slice(0, second?.length)).toEqual(second);
  });
});

describe('T-6b: which tool messages carry files', () => {
  it.each([
    ['anthropic.messages', true],
    ['vertex.anthropic.messages', true],
    ['google.generative-ai', true],
    ['google.vertex.chat', true],
    ['amazon-bedrock', true],
    ['openai.responses', true],
    ['azure.responses', true],
    ['gateway', true],
    ['openai.chat', false],
    ['azure.chat', false],
    ['xai.responses', false],
    ['mistral.chat', false],
    ['groq.chat', false],
    ['deepseek.chat', false],
    ['anthropical', false],
    ['scripted.chat', false],
  ])('%s: %s', (provider, carries) => expect(carriesToolFiles(provider)).toBe(carries));

  it('a result without files stays as it is, a file of text is text, and one left out is neither', () => {
    const options = { providerOptions: { one: { mark: true } } };
    const texts = result('a', content([{ type: 'text', text: 'a', ...options }]));
    const note = result('b', content([{ type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'b' } }]));
    const shot = result('c', content([png]));
    const own = builder([user('Go.'), assistant([call('a'), call('b'), call('c')]), tool(texts, note, shot)]);
    expect(own.build({ ...base, omit: ['c'] }).prompt.slice(2)).toEqual([
      tool(texts, result('b', { type: 'text', value: 'b' }), result('c', { type: 'text', value: 'stub of c' })),
    ]);
    expect(own.build({ ...base, provider: 'anthropic.messages' }).prompt.slice(2)).toEqual([tool(texts, note, shot)]);
  });
});
