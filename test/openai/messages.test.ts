import { createAnthropic } from '@ai-sdk/anthropic';
import Anthropic, { APIError } from '@anthropic-ai/sdk';
import { generateText, streamText } from 'ai';
import { describe, expect, it } from 'vitest';
import { type Agent, defineAgent } from '../../src/index.ts';
import type { ServeOpenaiOptions } from '../../src/openai/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { served, texter } from '../support/openai.ts';
import { report } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

const ask = { model: 'texter', max_tokens: 1_000, messages: [{ role: 'user' as const, content: 'Hi.' }] };
const broken = { text: 'Half of', finishReason: 'length' as const };

/** Serves agents, with Anthropic's own client for them. */
async function messaged(agents: Agent[], options: ServeOpenaiOptions = {}, apiKey = 'none-needed') {
  const server = await served(agents, options);
  const anthropic = new Anthropic({ baseURL: server.url.replace(/\/v1$/, ''), apiKey, maxRetries: 0 });
  return { ...server, anthropic };
}

const errorOf = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => (error instanceof APIError ? { status: error.status, ...Object(error.error).error } : error),
  );

describe('agents through Anthropic’s Messages API, with the official client', () => {
  it('a session is a message, whose only block is the report; the tools stay hidden', async () => {
    const usage = { input: 100, cacheRead: 60, cacheWrite: 10, output: 5 };
    const model = rehearsalModel([{ ...searchCall, usage }, broken, { text: 'Found it.' }]);
    const agent = defineAgent({ name: 'texter', models: [model], tools: { search }, finish: 'text' });
    await using server = await messaged([agent]);
    const message = await server.anthropic.messages.create({
      ...ask,
      system: [{ type: 'text', text: 'You are a pirate.' }],
      messages: [
        { role: 'user', content: 'Where is it?' },
        { role: 'assistant', content: [{ type: 'text', text: 'Where is what?' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'This.' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: btoa('png') } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'A note.' } },
          ],
        },
      ],
      ...({ temperature: 0.3 } as object),
    });
    expect(message).toMatchObject({
      ...{ type: 'message', role: 'assistant', model: 'texter', stop_reason: 'end_turn', stop_sequence: null },
      content: [{ type: 'text', text: 'Found it.' }],
      usage: { cache_read_input_tokens: 60, cache_creation_input_tokens: 10 },
    });
    expect(message.id).toMatch(/^msg_/);
    expect(JSON.stringify(message)).not.toContain('search');
    expect(model.requests[0]?.prompt.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user']);
    const prompt = JSON.stringify(model.requests[0]?.prompt);
    for (const said of ['You are a pirate.', 'This.', 'image/png', 'A note.']) expect(prompt).toContain(said);
  });

  it('streams by the client’s own events, and says what failed', async () => {
    await using server = await messaged([texter([{ ...searchCall, text: 'Wait.' }, broken, { text: 'Found it.' }])]);
    const stream = server.anthropic.messages.stream(ask);
    const types = new Set<string>();
    stream.on('streamEvent', ({ type }) => void types.add(type));
    const text = await stream.finalText();
    expect(text).toBe('Wait.\n\nHalf of\n\n[The last reply failed and does not count.]\n\nFound it.');
    expect([...types]).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ]);
    expect((await stream.finalMessage()).usage).toMatchObject({ input_tokens: 30, output_tokens: 15 });
  });

  it('and the AI SDK’s provider reads both', async () => {
    await using server = await messaged([texter([{ text: 'So.' }, { text: 'So.' }])]);
    const model = createAnthropic({ baseURL: server.url, apiKey: 'none-needed' })('texter');
    expect((await generateText({ model, prompt: 'Hi.', maxOutputTokens: 100 })).text).toBe('So.');
    expect(await streamText({ model, prompt: 'Hi.', maxOutputTokens: 100 }).text).toBe('So.');
  });

  it('a session that fails is an error that no client retries, with its slug', async () => {
    await using server = await messaged([texter([])]);
    expect(await errorOf(server.anthropic.messages.create(ask))).toMatchObject({ status: 422, type: 'api_error' });
    const stream = server.anthropic.messages.stream(ask);
    expect(await errorOf(stream.finalMessage())).toMatchObject({ type: 'api_error', message: expect.any(String) });
    expect(server.events.filter(({ type }) => type === 'session.failed')).toHaveLength(2);
  });

  it('a call that needs approval is denied at once, since no user can be asked', async () => {
    const model = rehearsalModel([{ calls: [{ name: 'guarded', input: { path: 'a' } }] }, { text: 'Denied, then.' }]);
    const agent = defineAgent({ name: 'texter', models: [model], tools: { guarded }, finish: 'text' });
    await using server = await messaged([agent]);
    expect((await server.anthropic.messages.create(ask)).content).toEqual([{ type: 'text', text: 'Denied, then.' }]);
    expect(JSON.stringify(model.requests[1]?.prompt)).toContain('No one can be asked for approval here.');
  });

  it('a report that comes by a tool is sent once it is accepted', async () => {
    const agent = defineAgent({ name: 'texter', models: [rehearsalModel([report('The report.')])] });
    await using server = await messaged([agent]);
    expect(await server.anthropic.messages.stream(ask).finalText()).toBe('The report.');
  });

  it('lists the agents as its models', async () => {
    await using server = await messaged([texter([])]);
    const models = await server.anthropic.models.list();
    expect(models.data).toEqual([
      { id: 'texter', type: 'model', display_name: 'texter', created_at: expect.stringMatching(/^\d{4}-/) },
    ]);
    expect((await server.anthropic.models.retrieve('texter')).id).toBe('texter');
  });

  it('takes the token as its key', async () => {
    const auth = { bearer: 'a-token-of-some-length' };
    await using server = await messaged([texter([{ text: 'Hi.' }])], { http: { auth } }, auth.bearer);
    expect((await server.anthropic.messages.create(ask)).content).toHaveLength(1);
    const other = new Anthropic({ baseURL: server.url.replace(/\/v1$/, ''), apiKey: 'another', maxRetries: 0 });
    expect(await errorOf(other.messages.create(ask))).toMatchObject({ status: 401, type: 'authentication_error' });
    const counting = server.anthropic.messages.countTokens({ model: 'texter', messages: ask.messages });
    expect(await errorOf(counting)).toMatchObject({ status: 404, type: 'not_found_error' });
    expect(await errorOf(server.anthropic.models.retrieve('x'))).toMatchObject({
      status: 404,
      type: 'not_found_error',
    });
  });

  it.each<[string, object, string]>([
    ['an unknown model', { model: 'other' }, 'There is no model "other". Models: texter.'],
    ['no messages', { messages: [] }, '`messages` must be an array with at least one message; got [].'],
    ['messages without content', { messages: [{ role: 'user', content: '' }] }, '`messages` must hold at least one'],
    ['a choice of tools', { tool_choice: { type: 'any' } }, '`tool_choice` must be left out'],
    ['a format', { output_config: { format: { type: 'json_schema' } } }, '`output_config.format` must be left out'],
    ['tools', { tools: [{ name: 't', input_schema: { type: 'object' } }] }, 'the tools are the agent’s own'],
    [
      'results of tools',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a' }] }] },
      '`messages.0.content.0.type` must be "text", "image" or "document"',
    ],
    [
      'a file that Anthropic keeps',
      { messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: 'f' } }] }] },
      'must be "base64", "url" or "text"',
    ],
  ])('%s is refused, by the field', async (_, over, message) => {
    await using server = await messaged([texter([])]);
    const asked = server.anthropic.messages.create({ ...ask, ...over } as typeof ask);
    const refused = await errorOf(asked);
    expect(refused).toMatchObject({ type: /unknown/.test(_) ? 'not_found_error' : 'invalid_request_error' });
    expect(refused.message).toContain(message);
  });
});
