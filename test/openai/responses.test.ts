import OpenAI, { APIError } from 'openai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent, listSessions, runSession, sqliteJournal } from '../../src/index.ts';
import { openaiHandler } from '../../src/openai/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { served, texter } from '../support/openai.ts';
import { report } from '../support/session.ts';
import { guarded, search, searchCall } from '../support/tools.ts';

const ask = { model: 'texter', input: 'Hi.' };
const broken = { text: 'Half of', finishReason: 'length' as const };

describe('agents through the Responses API, with the official client', () => {
  it('a session is a response, whose only message is the report; the tools stay hidden', async () => {
    const model = rehearsalModel([{ ...searchCall, text: 'Wait.' }, broken, { text: 'Found it.' }]);
    const agent = defineAgent({ name: 'texter', models: [model], tools: { search }, finish: 'text' });
    await using server = await served([agent]);
    const response = await server.client.responses.create({
      model: 'texter',
      instructions: 'You are a pirate.',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Where is it?' }] },
        { role: 'assistant', content: 'Where is what?' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'This.' },
            { type: 'input_image', image_url: `data:image/png;base64,${btoa('png')}`, detail: 'auto' },
          ],
        },
      ],
      metadata: { ticket: '7' },
      temperature: 0.3,
    });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      model: 'texter',
      output_text: 'Found it.',
      output: [{ type: 'message', role: 'assistant', status: 'completed', phase: 'final_answer' }],
      metadata: { ticket: '7' },
      error: null,
      usage: { input_tokens: 30, output_tokens: 15, total_tokens: 45 },
    });
    expect(JSON.stringify(response)).not.toContain('search');
    expect(model.requests[0]?.prompt.map(({ role }) => role)).toEqual(['user', 'user', 'assistant', 'user']);
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('You are a pirate.');
    expect(model.requests).toHaveLength(3);
  });

  it('streams: what failed ends as an incomplete message, and only the report is in the response', async () => {
    await using server = await served([texter([{ ...searchCall, text: 'Wait.' }, broken, { text: 'Found it.' }])]);
    const stream = server.client.responses.stream(ask);
    const messages: unknown[] = [];
    const sequence: number[] = [];
    for await (const event of stream) {
      sequence.push(event.sequence_number);
      if (event.type === 'response.output_item.done' && event.item.type === 'message')
        messages.push([event.item.status, event.item.phase, event.item.content]);
    }
    const part = (text: string) => [expect.objectContaining({ type: 'output_text', text })];
    expect(messages).toEqual([
      ['completed', 'commentary', part('Wait.')],
      ['incomplete', 'commentary', part('Half of')],
      ['completed', 'final_answer', part('Found it.')],
    ]);
    expect(sequence).toEqual(sequence.map((_, index) => index));
    const response = await stream.finalResponse();
    expect([response.status, response.output_text]).toEqual(['completed', 'Found it.']);
    expect(response.usage).toMatchObject({ input_tokens: 30, output_tokens: 15 });
  });

  it('a report that comes by a tool is sent once it is accepted', async () => {
    const agent = defineAgent({ name: 'texter', models: [rehearsalModel([report('The report.')])] });
    await using server = await served([agent]);
    const stream = server.client.responses.stream(ask);
    const texts: string[] = [];
    stream.on('response.output_text.delta', ({ delta }) => void texts.push(delta));
    expect((await stream.finalResponse()).output_text).toBe('The report.');
    expect(texts).toEqual(['The report.']);
  });

  it('a session that fails is an error, also in a stream, with its slugs', async () => {
    await using server = await served([texter([{ text: '' }], { limits: { maxTurns: 1, maxRetries: 1 } })]);
    const failed = await server.client.responses.create(ask).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(APIError);
    expect(failed).toMatchObject({ status: 422, code: 'retries_exhausted' });
    const events: string[] = [];
    const read = async () => {
      for await (const event of await server.client.responses.create({ ...ask, stream: true })) events.push(event.type);
    };
    await expect(read()).rejects.toThrow('empty_response');
    expect(events).toEqual(['response.created', 'response.in_progress', 'response.failed']);
  });

  it('what needs a person is denied at once', async () => {
    const calls = [{ calls: [{ name: 'guarded', input: { path: '/x' } }] }, { text: 'Not deleted.' }];
    await using server = await served([texter(calls, { tools: { guarded } })]);
    expect((await server.client.responses.create(ask)).output_text).toBe('Not deleted.');
    expect(server.events.filter(({ type }) => type === 'tool.denied')).toHaveLength(1);
  });
});

describe('a response that continues an earlier one', () => {
  it('has its conversation, also of another process, and of a session that failed', async () => {
    const file = freshFile();
    const model = rehearsalModel([{ text: 'Hello, Ada.' }, { text: '' }, { text: 'You are Ada.' }]);
    const agent = texter([], { models: [model], limits: { maxTurns: 1, maxRetries: 1 } });
    const first = sqliteJournal(file);
    let previous = '';
    {
      await using server = await served([agent], { journal: first });
      previous = (await server.client.responses.create({ ...ask, input: 'I am Ada.' })).id;
      await expect(
        server.client.responses.create({ ...ask, input: 'Hm.', previous_response_id: previous }),
      ).rejects.toMatchObject({ status: 422 });
      await server.client.responses.create({ ...ask, store: false }).catch(() => undefined);
    }
    await first.close();
    const journal = sqliteJournal(file);
    await using server = await served([agent], { journal });
    const response = await server.client.responses.create({
      ...ask,
      input: 'Who am I?',
      previous_response_id: previous,
    });
    expect([response.output_text, response.previous_response_id]).toEqual(['You are Ada.', previous]);
    expect(
      model.requests
        .at(-1)
        ?.prompt.slice(0, 3)
        .map(({ role, content }) => [role, JSON.stringify(content)]),
    ).toEqual([
      ['user', expect.stringContaining('I am Ada.')],
      ['assistant', expect.stringContaining('Hello, Ada.')],
      ['user', expect.stringContaining('Who am I?')],
    ]);
    // The one with `store: false` is not written down.
    expect((await listSessions(journal)).map(({ status }) => status).sort()).toEqual([
      'failed',
      'succeeded',
      'succeeded',
    ]);
    await journal.close();
  });

  it('has not the instructions of that request, which hold for it alone', async () => {
    const journal = sqliteJournal(freshFile());
    const model = rehearsalModel([{ text: 'Salve.' }, { text: 'Hello.' }]);
    await using server = await served([texter([], { models: [model] })], { journal });
    const { id } = await server.client.responses.create({ ...ask, instructions: 'In Latin.' });
    await server.client.responses.create({ ...ask, instructions: 'In English.', previous_response_id: id });
    const said = JSON.stringify(model.requests[1]?.prompt);
    expect([said.includes('In Latin.'), said.includes('In English.')]).toEqual([false, true]);
    await journal.close();
  });

  it('is not found by a caller with other metadata, and needs a journal', async () => {
    const journal = sqliteJournal(freshFile());
    const metadata = (request: Request) => ({ tenant: request.headers.get('x-tenant') ?? '' });
    await using server = await served([texter([{ text: 'Hello.' }])], { journal, metadata });
    const as = (tenant: string) => ({ headers: { 'x-tenant': tenant } });
    const { id } = await server.client.responses.create(ask, as('a'));
    const next = { ...ask, previous_response_id: id };
    await expect(server.client.responses.create(next, as('b'))).rejects.toMatchObject({
      status: 404,
      param: 'previous_response_id',
    });
    expect((await server.client.responses.create(next, as('a'))).output_text).toBe('Hello.');
    // Nor is a session of a chat in the same journal, whatever the chat's id is.
    const chat = 'resp_chat:1';
    await runSession(texter([{ text: 'Hello.' }]), {
      ...{ prompt: 'Hi.', journal, sessionId: chat, metadata: { tenant: 'a' }, logger: false },
    });
    for (const other of ['resp_none', 'none', id.slice(5), chat, `resp_${chat}`])
      await expect(
        server.client.responses.create({ ...ask, previous_response_id: other }, as('a')),
      ).rejects.toMatchObject({ status: 404 });
    await using without = await served([texter([{ text: 'Hello.' }])]);
    await expect(without.client.responses.create(next)).rejects.toThrow('needs a server with a journal');
    await journal.close();
  });
});

describe('a request for a response', () => {
  const handler = openaiHandler([texter([{ text: 'So.' }], { contextSchema: z.unknown() })], { logger: false });
  const refusal = async (more: object) => {
    const body = JSON.stringify({ ...ask, ...more });
    const response = await handler(new Request('http://x.test/v1/responses', { method: 'POST', body }));
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    return [response.status, error.param, error.message];
  };

  it.each<[object, string, string]>([
    [{ input: undefined }, 'input', '`input` is required'],
    [{ input: [] }, 'input', '`input` must hold at least one message with content; got none.'],
    [{ input: [{ type: 'function_call_output' }] }, 'input.0.type', 'the tools are the agent’s own'],
    [{ input: [{ role: 'user', content: [{ type: 'audio' }] }] }, 'input.0.content.0.type', 'input_file; got "audio"'],
    [{ tools: [{ type: 'web_search' }] }, 'tools.0', 'left out: the tools are the agent’s own'],
    [{ background: true }, 'background', 'false: an answer is waited for'],
    [{ text: { format: { type: 'json_schema' } } }, 'text.format.type', 'the format of the report is the agent’s'],
    [{ conversation: 'conv_1' }, 'conversation', 'take `previous_response_id`'],
    [{ metadata: { a: 1 } }, 'metadata.a', 'string'],
    [{ model: 'absent' }, 'model', 'There is no model "absent"'],
  ])('that cannot be answered is refused by name: %j', async (more, param, message) => {
    const [status, named, said] = await refusal(more);
    expect([status, named]).toEqual([param === 'model' ? 404 : 400, param]);
    expect(said).toContain(message);
  });

  it('is read by another client, too', async () => {
    const client = new OpenAI({
      baseURL: 'http://x.test/v1',
      apiKey: 'none',
      fetch: async (url, init) => handler(new Request(String(url), init as RequestInit)),
    });
    expect((await client.responses.create(ask)).output_text).toBe('So.');
  });
});
