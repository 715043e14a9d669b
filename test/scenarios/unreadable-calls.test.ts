import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { type ModelServer, type ScriptedResponse, startModelServer } from '../../src/testing/index.ts';
import { counters, report, run, wireModel } from '../support/session.ts';
import { search } from '../support/tools.ts';

const events = (...data: object[]): ScriptedResponse => ({
  headers: { 'content-type': 'text/event-stream' },
  body: data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''),
});
/** A stream of Gemini's own. */
const gemini = (finishReason: string, parts: object[]) =>
  events({ candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }] });
const ofGemini = ({ url }: ModelServer) =>
  createGoogleGenerativeAI({ baseURL: url, apiKey: 'test-key' })('gemini-3-pro');
const compatible = ({ url }: ModelServer) => wireModel('openai', url);
const ofResponses = ({ url }: ModelServer) => createOpenAI({ baseURL: url, apiKey: 'test-key' })('gpt-5');

const chunk = (finish_reason: string | null, delta: object = {}) =>
  events({ id: 'c', choices: [{ index: 0, delta, finish_reason }] });
const refused = {
  message: "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
  type: 'invalid_request_error',
  code: 'tool_use_failed',
};

async function afterOne(response: ScriptedResponse, model: (server: ModelServer) => ReturnType<typeof ofGemini>) {
  await using server = await startModelServer([response, report()]);
  const models = [model(server), wireModel('openai', server.url)];
  const agent = defineAgent({ name: 'tested', models, tools: { search } });
  return { ...(await run({ agent })), requests: server.requests };
}

/** What the next request tells the model. */
const noticeOf = ({ requests }: Awaited<ReturnType<typeof afterOne>>) =>
  JSON.stringify(requests[1]?.body.messages?.at(-1) ?? null);

describe('C-5 P-1 N-1: a call that the provider itself could not read', () => {
  it.each([
    ['Gemini', gemini('MALFORMED_FUNCTION_CALL', []), ofGemini],
    ['Gemini, of a call that it sent', gemini('UNEXPECTED_TOOL_CALL', [{ text: 'I call it.' }]), ofGemini],
    ['a gateway to Gemini', chunk('MALFORMED_FUNCTION_CALL'), compatible],
    ['the OpenAI interface of Gemini', chunk('function_call_filter: MALFORMED_FUNCTION_CALL'), compatible],
    ['Bedrock', chunk('malformed_tool_use'), compatible],
    ['Groq, instead of a stream', { status: 400, error: refused }, compatible],
    ['Groq, in the stream', events({ error: refused }), compatible],
  ])(
    "by %s, is the model's mistake: no wait follows, and the notice says what was wrong",
    async (_by, response, model) => {
      const ran = await afterOne(response, model);
      expect(ran.warnings.map(({ slugs }) => slugs)).toEqual([['malformed_tool_call']]);
      expect(noticeOf(ran)).toContain('could not be read');
      expect(ran.result.success).toBe(true);
      expect(ran.result.counters).toEqual(
        counters({
          cachePrefixBreaks: { target: 1 },
          turns: 1,
          attempts: 2,
          failedAttempts: 1,
          notices: 1,
          toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
          reports: { attempted: 1 },
          tokens: ran.result.counters.tokens,
          costUsd: null,
          slugs: { malformed_tool_call: 1 },
        }),
      );
    },
  );

  it('executes none of the calls beside it, and each is answered', async () => {
    const call = { functionCall: { name: 'search', args: { q: 'x' } } };
    const ran = await afterOne(gemini('MALFORMED_FUNCTION_CALL', [call]), ofGemini);
    expect(ran.warnings.map(({ slugs }) => slugs)).toEqual([['malformed_tool_call']]);
    expect(ran.result.counters.toolCalls).toMatchObject({ executed: 0, rejected: { malformed_tool_call: 1 } });
    expect(JSON.stringify(ran.requests[1]?.body.messages)).toContain('none of its calls was executed');
  });
});

describe('P-1: a response that is no stream', () => {
  it.each([
    ['an error', { error: { message: 'The model is not loaded.' } }],
    ['a whole reply', { id: 'c', choices: [{ index: 0, message: { content: 'Hi.' }, finish_reason: 'stop' }] }],
  ])('%s with the status 200 says what to do, and the next target is tried', async (_what, answer) => {
    const response = { body: JSON.stringify(answer), headers: { 'content-type': 'application/json; charset=utf-8' } };
    const ran = await afterOne(response, compatible);
    expect(ran.warnings).toMatchObject([
      {
        slugs: ['stream_interrupted', 'provider_error'],
        detail: expect.stringContaining('answered with application/json; charset=utf-8 instead of a stream'),
      },
    ]);
    expect(ran.result.counters).toMatchObject({ attempts: 2, failedAttempts: 1, waits: 0 });
  });
});

describe('C-5: a reply that its limit or a filter ends amid a call', () => {
  const opened = (reason: string): ScriptedResponse =>
    events(
      { type: 'response.created', response: { id: 'r', created_at: 1, model: 'gpt-5' } },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { type: 'function_call', id: 'f', call_id: 'c', name: 'search', arguments: '' },
      },
      { type: 'response.function_call_arguments.delta', item_id: 'f', output_index: 0, delta: '{"q":"lo' },
      {
        type: 'response.incomplete',
        response: { incomplete_details: { reason }, usage: { input_tokens: 1, output_tokens: 1 } },
      },
    );

  it.each([
    ['max_output_tokens', 'response_truncated'],
    ['content_filter', 'content_filtered'],
  ])('%s: the attempt fails as %s, and the connection is not blamed', async (reason, slug) => {
    const ran = await afterOne(opened(reason), ofResponses);
    expect(ran.warnings.map(({ slugs }) => slugs)).toEqual([[slug]]);
    expect(ran.result.turns[0]?.attempts[0]?.reply?.openInputs).toHaveLength(1);
    expect(ran.result.counters).toMatchObject({ attempts: 2, waits: 0, slugs: { [slug]: 1 } });
  });
});
