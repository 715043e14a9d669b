import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { APICallError, generateText, jsonSchema, type LanguageModel, streamText, type ToolSet, tool } from 'ai';
import OpenAI from 'openai';
import { afterEach, describe, expect, it } from 'vitest';
import { type ModelServer, type ScriptedResponse, startModelServer } from '../../src/testing/index.ts';

const servers: ModelServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function serve(script: ScriptedResponse[]): Promise<ModelServer> {
  const server = await startModelServer(script);
  servers.push(server);
  return server;
}

type Wire = 'openai-responses' | 'gemini';
const models: Record<Wire, (baseURL: string) => LanguageModel> = {
  'openai-responses': (baseURL) => createOpenAI({ baseURL, apiKey: 'none' }).responses('gpt-5'),
  gemini: (baseURL) => createGoogleGenerativeAI({ baseURL, apiKey: 'none' })('gemini-3-pro'),
};
const tools: ToolSet = { look: tool({ inputSchema: jsonSchema<object>({ type: 'object', properties: { at: {} } }) }) };

/** What the SDK reads of a reply. */
async function read(wire: Wire, isStreamed: boolean, response: ScriptedResponse) {
  const { url, requests } = await serve([response]);
  const asked = { model: models[wire](url), prompt: 'Go.', tools, maxRetries: 0 };
  let error: unknown = null;
  const given = isStreamed
    ? streamText({ ...asked, onError: (event) => (error = event.error) })
    : await generateText(asked);
  const [text, reasoning, calls, finishReason, usage] = await Promise.all([
    given.text,
    given.reasoningText,
    given.toolCalls,
    given.finishReason,
    given.usage,
  ]).catch((rejection) => {
    throw error ?? rejection;
  });
  if (error !== null) throw error;
  expect(requests.map((one) => [one.wire, one.streams])).toEqual([[wire, isStreamed]]);
  return {
    ...{ text, reasoning, finishReason, tokens: [usage.inputTokens, usage.outputTokens] },
    calls: calls.map(({ toolName, input, invalid = false }) => ({ toolName, input, invalid })),
  };
}

const none = { text: '', reasoning: undefined, finishReason: 'stop', calls: [], tokens: [10, 5] };
const call = { toolName: 'look', input: { at: 'the sea' }, invalid: false };

describe.each<[Wire, boolean]>([
  ['openai-responses', true],
  ['openai-responses', false],
  ['gemini', true],
  ['gemini', false],
])('startModelServer on the wire %s, streamed: %s', (wire, isStreamed) => {
  it.each<[string, ScriptedResponse, object]>([
    ['a text', { text: 'Hello there.' }, { text: 'Hello there.' }],
    ['nothing', {}, {}],
    ['reasoning and a text', { reasoning: 'I think.', text: 'So.' }, { reasoning: 'I think.', text: 'So.' }],
    [
      'two calls',
      { calls: [call, call].map(({ toolName: name, input }) => ({ name, input })) },
      { calls: [call, call], finishReason: 'tool-calls' },
    ],
    ['a text that is too long', { text: 'Once', finishReason: 'length' }, { text: 'Once', finishReason: 'length' }],
    [
      'what a filter stopped',
      { text: 'I', finishReason: 'content-filter' },
      { text: 'I', finishReason: 'content-filter' },
    ],
    ['tokens', { text: 'a', usage: { input: 7, output: 3 } }, { text: 'a', tokens: [7, 3] }],
  ])('an SDK reads %s', async (_, response, expected) => {
    expect(await read(wire, isStreamed, response)).toEqual({ ...none, ...expected });
  });

  it('a call whose input is no JSON', async () => {
    const given = await read(wire, isStreamed, { calls: [{ name: 'look', input: '{"at": "the' }] });
    // Gemini sends objects, and says of what it could not write that it is malformed.
    if (wire === 'gemini') expect(given).toEqual({ ...none, finishReason: 'error' });
    else expect(given.calls).toEqual([{ toolName: 'look', input: expect.anything(), invalid: true }]);
  });

  it('an error has the shape of its API', async () => {
    const busy = { status: 429, error: { type: 'rate_limit_error', message: 'Slow down.' } };
    const error = await read(wire, isStreamed, busy).catch((one) => one);
    expect(APICallError.isInstance(error) && [error.statusCode, error.message]).toEqual([429, 'Slow down.']);
  });
});

describe('startModelServer, within a stream', () => {
  it.each<Wire>(['openai-responses', 'gemini'])('%s: pieces, an error, and an end that is cut off', async (wire) => {
    const { url } = await serve([
      { text: 'abcdef', pieceLength: 2 },
      { text: 'abcdef', pieceLength: 2, errorEvent: { afterEvents: 6, type: 'server_error', message: 'Overloaded' } },
    ]);
    const parts = async () => {
      const found: string[] = [];
      const { fullStream } = streamText({ model: models[wire](url), prompt: 'Go.', maxRetries: 0, onError: () => {} });
      for await (const part of fullStream) {
        if (part.type === 'text-delta') found.push(part.text);
        if (part.type === 'error') found.push('error');
      }
      return found;
    };
    expect(await parts()).toEqual(['ab', 'cd', 'ef']);
    if (wire === 'openai-responses') expect((await parts()).at(-1)).toBe('error');
  });

  it('the official client reads a response, streamed or not, and continues from it', async () => {
    const { url, requests } = await serve([{ text: 'Seen.', calls: [{ name: 'look', input: { at: 'a' } }] }]);
    const client = new OpenAI({ baseURL: url, apiKey: 'none' });
    const whole = await client.responses.create({ model: 'gpt-5', input: 'Go.' });
    const streamed = await client.responses
      .stream({ model: 'gpt-5', input: 'Go.', previous_response_id: whole.id })
      .finalResponse();
    for (const one of [whole, streamed]) {
      expect([one.status, one.output_text, one.output.map(({ type }) => type)]).toEqual([
        'completed',
        'Seen.',
        ['message', 'function_call'],
      ]);
    }
    expect(requests.map(({ streams, body }) => [streams, body.previous_response_id ?? null])).toEqual([
      [false, null],
      [true, 'resp_0'],
    ]);
  });
});
