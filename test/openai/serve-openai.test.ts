import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { generateText, streamText, tool } from 'ai';
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, replace } from '../../src/index.ts';
import { openaiHandler } from '../../src/openai/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { ask, served, texter } from '../support/openai.ts';
import { report } from '../support/session.ts';
import { guarded, patient, search, searchCall } from '../support/tools.ts';

const inputSchema = z.object({});
/** Returns all text that is streamed to the official client. */
async function streamedText(client: OpenAI, model: string): Promise<string> {
  let text = '';
  const stream = await client.chat.completions.create({ model, ...ask, stream: true });
  for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
  return text;
}

describe('agents as the models of an API like OpenAI’s', () => {
  it('the official client gets the answer of a session, with its usage; the tools stay hidden', async () => {
    const model = rehearsalModel([{ ...searchCall, text: 'Wait.' }, { text: 'Found it.' }]);
    const agent = defineAgent({ name: 'texter', models: [model], tools: { search }, finish: 'text' });
    await using server = await served([agent]);
    const answer = await server.client.chat.completions.create({
      model: 'texter',
      messages: [
        { role: 'system', content: 'You are a pirate.' },
        { role: 'user', content: [{ type: 'text', text: 'Hi.' }] },
        { role: 'assistant', content: 'Ahoy.' },
        { role: 'user', content: 'Where is it?' },
      ],
      temperature: 0.3,
    });
    expect(answer).toMatchObject({
      object: 'chat.completion',
      model: 'texter',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Found it.' } }],
      usage: { prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) },
    });
    expect(JSON.stringify(answer)).not.toContain('search');
    expect(model.requests[0]?.prompt.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user']);
    expect(JSON.stringify(model.requests[0]?.prompt[0])).toContain('You are a pirate.');
    expect((await server.client.models.list()).data).toMatchObject([
      { id: 'texter', object: 'model', owned_by: 'pawl' },
    ]);
    expect(await server.client.models.retrieve('texter')).toMatchObject({ id: 'texter' });
  });

  it('streams text as it comes, then the usage', async () => {
    await using server = await served([texter([{ ...searchCall, text: 'Wait.' }, { text: 'Found it.' }])]);
    const stream = await server.client.chat.completions.create({
      model: 'texter',
      ...ask,
      stream: true,
      stream_options: { include_usage: true },
    });
    const pieces = [];
    for await (const piece of stream) pieces.push(piece);
    const texts = pieces.flatMap(({ choices }) => choices[0]?.delta.content ?? []);
    expect(texts.join('')).toBe('Wait.\n\nFound it.');
    expect(texts.length).toBeGreaterThan(3);
    expect(pieces[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
    expect(pieces.at(-2)?.choices[0]?.finish_reason).toBe('stop');
    expect(pieces.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: expect.any(Number) } });
    expect(new Set(pieces.map(({ id }) => id)).size).toBe(1);
  });

  it('text of a failed attempt cannot be unsent, so the client is told', async () => {
    const broken = { text: 'Half of', finishReason: 'length' as const };
    await using server = await served([texter([broken, { text: 'The whole.' }])]);
    expect(await streamedText(server.client, 'texter')).toBe(
      'Half of\n\n[The last reply failed and does not count.]\n\nThe whole.',
    );
    // Without a stream, only the answer counts.
    const again = await served([texter([broken, { text: 'The whole.' }])]);
    const whole = await again.client.chat.completions.create({ model: 'texter', ...ask });
    expect(whole.choices[0]?.message.content).toBe('The whole.');
    await again.close();
  });

  it('text that `checkReport` may replace comes whole at the end', async () => {
    const checkReport = ({ content }: { content: unknown }) => replace(String(content).replace(/\d+/, '[hidden]'));
    const guarded = defineAgent({ ...texter([{ text: 'card 4111' }]).definition, checkReport });
    await using server = await served([guarded]);
    expect(await streamedText(server.client, 'texter')).toBe('card [hidden]');
  });

  it('an attempt that failed without a word leaves what was said before it', async () => {
    await using server = await served([texter([{ ...searchCall, text: 'Wait.' }, {}, { text: 'Found it.' }])]);
    expect(await streamedText(server.client, 'texter')).toBe('Wait.\n\nFound it.');
  });

  it('an agent that reports gives its report, as text or as JSON', async () => {
    const reporter = defineAgent({ name: 'reporter', models: [rehearsalModel([report('Done.')])] });
    const data = defineAgent({
      name: 'data',
      models: [rehearsalModel([report({ shelf: 'B4' } as never)])],
      report: { format: 'json', schema: z.object({ shelf: z.string() }) },
    });
    await using server = await served([reporter, data]);
    expect(await streamedText(server.client, 'reporter')).toBe('Done.');
    const answer = await server.client.chat.completions.create({ model: 'data', ...ask });
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ shelf: 'B4' });
  });

  it('a text that is not the report itself is not streamed, so the client gets the report once', async () => {
    const agent = texter([{ text: '{"a": 1}' }], { report: { format: 'json' } });
    await using server = await served([agent]);
    expect(await streamedText(server.client, 'texter')).toBe('{"a":1}');
  });

  it('S-5: text of two parts comes in order, though the end of the first could begin a secret', async () => {
    const model = rehearsalModel([]);
    const said = (id: string, text: string): LanguageModelV4StreamPart[] => [
      { type: 'text-start', id },
      { type: 'text-delta', id, delta: text },
      { type: 'text-delta', id, delta: '' },
      { type: 'text-end', id },
    ];
    const speaking = {
      ...model,
      doStream: async () => ({
        stream: ReadableStream.from<LanguageModelV4StreamPart>([
          ...said('1', 'Three cats'),
          ...said('2', ' and a dog.'),
          {
            type: 'finish',
            finishReason: { unified: 'stop', raw: 'stop' },
            usage: {
              inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
              outputTokens: { total: 1, text: 1, reasoning: 0 },
            },
          },
        ]),
      }),
    };
    const secrets = ['sk-12345678'];
    const agent = defineAgent({ name: 'texter', models: [speaking], finish: 'text', secrets });
    await using server = await served([agent]);
    expect(await streamedText(server.client, 'texter')).toBe('Three cats and a dog.');
  });

  it('the AI SDK talks to it', async () => {
    await using server = await served([texter([{ text: 'One.' }, { text: 'Two.' }])]);
    const provider = createOpenAICompatible({ name: 'pawl', baseURL: server.url, includeUsage: true });
    const { text, usage } = await generateText({ model: provider('texter'), prompt: 'Hi.' });
    expect([text, usage.inputTokens]).toEqual(['One.', expect.any(Number)]);
    const streamed = streamText({ model: provider('texter'), prompt: 'Hi.' });
    expect(await streamed.text).toBe('Two.');
    expect(await streamed.finishReason).toBe('stop');
  });

  it('a session that fails is an error with its slug, which no client retries', async () => {
    const silent = () => defineAgent({ name: 'silent', models: [rehearsalModel([{}])], limits: { maxRetries: 2 } });
    await using server = await served([silent()]);
    const client = new OpenAI({ baseURL: server.url, apiKey: 'x', maxRetries: 5 });
    const error = await client.chat.completions.create({ model: 'silent', ...ask }).catch((caught) => caught);
    expect(error).toMatchObject({ status: 422, code: 'retries_exhausted', type: 'session_failed' });
    expect(error.message).toContain('retries_exhausted, empty_response');
    expect(server.events.filter(({ type }) => type === 'session.failed')).toHaveLength(1);
    const stream = await client.chat.completions.create({ model: 'silent', ...ask, stream: true });
    const reading = (async () => {
      for await (const _ of stream);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'retries_exhausted' });
  });

  it('D-2: a client that goes away aborts its session, streaming or not', async () => {
    const waits = texter([{ calls: [{ name: 'patient', input: {} }] }], { tools: { patient } });
    for (const stream of [true, false]) {
      await using server = await served([waits]);
      const aborter = new AbortController();
      const asked = server.client.chat.completions
        .create({ model: 'texter', ...ask, stream }, { signal: aborter.signal })
        .then(async (answer) => {
          if (Symbol.asyncIterator in answer) for await (const _ of answer);
        })
        .catch(() => undefined);
      await expect.poll(() => server.events.some(({ type }) => type === 'tool.started')).toBe(true);
      aborter.abort();
      await asked;
      await expect.poll(() => server.events.at(-1)?.type).toBe('session.aborted');
    }
  });

  it('calls that need approval, or a client to run them, are answered at once', async () => {
    const calls = [
      { name: 'guarded', input: { path: 'a' } },
      { name: 'onThePage', input: {} },
    ];
    const onThePage = tool({ description: 'On the page.', inputSchema });
    await using server = await served([texter([{ calls }, { text: 'Well.' }], { tools: { guarded, onThePage } })]);
    const answer = await server.client.chat.completions.create({ model: 'texter', ...ask });
    expect(answer.choices[0]?.message.content).toBe('Well.');
    const answers = server.events.flatMap((event) =>
      event.type === 'tool.answered' ? [[event.name, event.slug]] : [],
    );
    expect(answers).toEqual([
      ['guarded', 'tool_denied'],
      ['onThePage', 'tool_exec_failed'],
    ]);
  });

  it.each([
    ['another model', { model: 'absent' }, 404, 'There is no model "absent". Models: texter.'],
    ['tools', { tools: [{ type: 'function', function: { name: 'x' } }] }, 400, '`tools.0` must be left out'],
    ['two answers', { n: 2 }, 400, '`n` must be 1: an agent gives one answer; got 2.'],
    ['a format', { response_format: { type: 'json_object' } }, 400, '`response_format.type` must be text'],
    ['no messages', { messages: [] }, 400, '`messages` must be an array with at least one message; got [].'],
    [
      'a tool message',
      { messages: [{ role: 'tool', content: 'x', tool_call_id: '1' }] },
      400,
      '`messages.0.role` must be',
    ],
  ])('bad input is refused with a sentence: %s', async (_what, over, status, message) => {
    await using server = await served([texter([])]);
    const error = await server.client.chat.completions
      .create({ model: 'texter', ...ask, ...over } as never)
      .catch((caught) => caught);
    expect(error.status).toBe(status);
    expect(error.message).toContain(message);
    expect(server.events).toEqual([]);
  });

  it('a context that throws is an error that says nothing, or the Response that it throws', async () => {
    const lines: unknown[] = [];
    const quiet = () => {};
    const logger = { debug: quiet, info: quiet, warn: quiet, error: (line: unknown) => void lines.push(line) };
    const throwing = (thrown: unknown) =>
      openaiHandler([texter([])], {
        logger,
        context: () => {
          throw thrown;
        },
      })(
        new Request('http://x.example/v1/chat/completions', {
          method: 'POST',
          body: JSON.stringify({ model: 'texter', ...ask }),
        }),
      );
    const failed = await throwing(new Error('no session for db-17'));
    expect([failed.status, failed.headers.get('x-should-retry')]).toEqual([500, 'false']);
    expect(await failed.json()).toMatchObject({ error: { code: 'context_failed' } });
    expect(lines).toEqual([{ event: 'context.threw', error: expect.stringContaining('no session for db-17') }]);
    expect((await throwing(new Response('Sign in.', { status: 401 }))).status).toBe(401);
  });

  it('openaiHandler answers a Request with a Response, with a context from it', async () => {
    const agent = texter([{ text: 'Hi.' }], {
      instructions: ({ context }: { context: unknown }) => `You serve ${(context as { user: string }).user}.`,
    });
    const handler = openaiHandler([agent], {
      logger: false,
      context: (request) => ({ user: request.headers.get('x-user') }),
    });
    const post = (body: string) =>
      handler(
        new Request('http://any.example/api/v1/chat/completions', {
          method: 'POST',
          body,
          headers: { 'x-user': 'ada' },
        }),
      );
    const response = await post(JSON.stringify({ model: 'texter', ...ask }));
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hi.' } }] });
    const [{ requests }] = [agent.definition.models[0] as ReturnType<typeof rehearsalModel>];
    expect(requests[0]?.prompt[0]).toMatchObject({ role: 'system', content: 'You serve ada.' });
    expect((await post('{')).status).toBe(400);
    expect((await handler(new Request('http://any.example/v1/models/%ZZ'))).status).toBe(404);
    expect((await handler(new Request('http://any.example/other'))).status).toBe(404);
    expect((await handler(new Request('http://any.example/v1/chat/completions'))).status).toBe(405);
  });
});
