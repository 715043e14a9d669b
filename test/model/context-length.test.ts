import { APICallError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { learntWindow } from '../../machines/contract/context.ts';
import { classifyFault } from '../../src/model/faults.ts';

const refused = (statusCode: number, body: object | string) =>
  classifyFault(
    new APICallError({
      ...{ message: 'Bad Request', url: 'http://model.test', requestBodyValues: {}, statusCode },
      responseBody: typeof body === 'string' ? body : JSON.stringify(body),
    }),
    0,
  );
const said = (message: string, more: object = {}) => ({ error: { message, ...more } });

describe('P-1: a request that is too long, in the words of its provider', () => {
  it.each([
    [
      'OpenAI',
      said(
        "This model's maximum context length is 128000 tokens. However, you requested 130,500 tokens (126404 in the messages, 4096 in the completion).",
        { type: 'invalid_request_error', code: 'context_length_exceeded' },
      ),
      { limit: 128_000, asked: 130_500 },
    ],
    [
      'OpenAI Responses',
      said('Your input exceeds the context window of this model. Please adjust your input and try again.', {
        code: 'context_length_exceeded',
      }),
      { limit: null, asked: null },
    ],
    [
      'Anthropic',
      said('prompt is too long: 208310 tokens > 200000 maximum', { type: 'invalid_request_error' }),
      { limit: 200_000, asked: 208_310 },
    ],
    [
      'Anthropic, with the reply',
      said('input length and `max_tokens` exceed context limit: 199759 + 8192 > 200000, decrease input length'),
      { limit: 200_000, asked: null },
    ],
    [
      'Anthropic, in bytes',
      { type: 'error', error: { type: 'request_too_large', message: 'Request exceeds the maximum size' } },
      { limit: null, asked: null },
    ],
    [
      'Gemini',
      said('The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).', {
        status: 'INVALID_ARGUMENT',
      }),
      { limit: 1_048_576, asked: 1_250_000 },
    ],
    [
      'Mistral',
      {
        object: 'error',
        message: 'Prompt contains 40123 tokens, too large for model with 32768 maximum context length',
        code: '3051',
      },
      { limit: 32_768, asked: 40_123 },
    ],
    [
      'vLLM',
      {
        object: 'error',
        message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens in total.",
        code: 400,
      },
      { limit: 4_096, asked: 5_000 },
    ],
    [
      'vLLM, the prompt alone',
      said('The decoder prompt (length 5000) is longer than the maximum model length of 4096.'),
      { limit: 4_096, asked: 5_000 },
    ],
    ['Ollama', { error: 'the input length exceeds the context length' }, { limit: null, asked: null }],
    [
      'llama.cpp',
      said('the request exceeds the available context size, try increasing it', {
        type: 'exceed_context_size_error',
        n_prompt_tokens: 5000,
        n_ctx: 4096,
      }),
      { limit: 4_096, asked: 5_000 },
    ],
    [
      'llama.cpp, newer',
      said('request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it'),
      { limit: 4_096, asked: 5_000 },
    ],
    ['Bedrock', { message: 'Input is too long for requested model.' }, { limit: null, asked: null }],
    [
      'OpenRouter',
      said(
        "This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens (140000 of text input).",
      ),
      { limit: 131_072, asked: 140_000 },
    ],
    [
      'xAI',
      { error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens." },
      { limit: 131_072, asked: 537_812 },
    ],
    [
      'Groq',
      said('Please reduce the length of the messages or completion.', { code: 'context_length_exceeded' }),
      { limit: null, asked: null },
    ],
    ['LM Studio', { error: 'Reached context length of 4096 tokens with model' }, { limit: 4_096, asked: null }],
  ])('%s', (_name, body, tooLong) => {
    expect(refused(400, body)).toMatchObject({ kind: 'context_length', tooLong });
  });

  it.each([
    [
      'too many output tokens',
      400,
      said('max_tokens is too large: 100000. This model supports at most 16384 completion tokens.'),
    ],
    [
      'output tokens of Anthropic',
      400,
      said('max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens'),
    ],
    ['a missing message', 400, said('messages: at least one message is required')],
    ['an image that is too large', 400, said('messages.3.content.0.image: image exceeds 5 MB maximum')],
    [
      'a tool name that is too long',
      400,
      said("Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64"),
    ],
  ])('not %s', (_name, status, body) => expect(refused(status, body).kind).toBe('invalid_request'));

  it('nor a limit of tokens a minute', () => {
    expect(
      refused(429, said('Request too large for gpt-5: Limit 30000, Requested 40000 tokens per minute.')).kind,
    ).toBe('rate_limited');
  });
});

describe('T-6: the window that a refusal teaches', () => {
  it.each([
    ['by how much it was too long', null, 1_000, { limit: 4_000, asked: 5_000 }, 800],
    ['the limit, where the estimate is above it', null, 6_000, { limit: 4_096, asked: null }, 4_096],
    ['a quarter less, where the estimate is below the limit', null, 4_000, { limit: 4_096, asked: null }, 3_000],
    ['a quarter less, where nothing is said', null, 4_000, { limit: null, asked: null }, 3_000],
    ['never more than was known', 2_000, 4_000, { limit: 4_096, asked: 5_000 }, 2_000],
    ['at least one token', null, 0, { limit: null, asked: null }, 1],
  ])('is %s', (_name, known, tokens, tooLong, window) => expect(learntWindow(known, tokens, tooLong)).toBe(window));
});
