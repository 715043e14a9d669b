import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import type { LanguageModel } from 'ai';
import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, runSession } from '../../src/index.ts';

const apiKey = 'k';
const google = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 },
};
const openai = {
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
};
const anthropic = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } },
  ...{ content: [{ type: 'text', text: 'Hello.' }], stop_reason: 'end_turn', stop_sequence: null },
};

/** Runs a session with one reply, and returns the body of its request. */
async function sentTo(make: (url: string) => LanguageModel, reply: object, own: Partial<AgentDefinition>) {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (data) => {
      body += data;
    });
    request.on('end', () => {
      bodies.push(body);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const models = [make(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`)];
    const settings = { streaming: false, ...own.settings };
    const agent = defineAgent({ name: 'thinker', finish: 'text', ...own, models, settings });
    expect((await runSession(agent, { prompt: 'Think.', logger: false })).slugs).toEqual([]);
    expect(bodies).toHaveLength(1);
    return JSON.parse(bodies[0] ?? '');
  } finally {
    server.close();
  }
}

type Provider = { make: (baseURL: string) => LanguageModel; reply: object; low: object; high: object };

const providers: Record<string, Provider> = {
  OpenAI: {
    make: (baseURL) => createOpenAI({ baseURL, apiKey }).chat('gpt-5'),
    reply: openai,
    low: { reasoning_effort: 'low' },
    high: { reasoning_effort: 'high' },
  },
  Anthropic: {
    make: (baseURL) => createAnthropic({ baseURL, apiKey })('claude-opus-4-6'),
    reply: anthropic,
    low: { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } },
    high: { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
  },
  Google: {
    make: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey })('gemini-3-pro-preview'),
    reply: google,
    low: { generationConfig: { thinkingConfig: { thinkingLevel: 'low' } } },
    high: { generationConfig: { thinkingConfig: { thinkingLevel: 'high' } } },
  },
};

describe.each(Object.entries(providers))(
  '%s gets the reasoning effort on its own scale',
  (_, { make, reply, ...sent }) => {
    it.each(['low', 'high'] as const)('%s, from `settings`', async (reasoning) => {
      expect(await sentTo(make, reply, { settings: { reasoning } })).toMatchObject(sent[reasoning]);
    });

    it('and that of `prepareTurn` before it', async () => {
      const prepareTurn = () => ({ settings: { reasoning: 'high' as const } });
      expect(await sentTo(make, reply, { settings: { reasoning: 'low' }, prepareTurn })).toMatchObject(sent.high);
    });
  },
);
