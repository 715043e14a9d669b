import { describe, expect, it } from 'vitest';
import { emptyCounters } from '../../machines/index.ts';
import { defineAgent } from '../../src/index.ts';
import { Completion } from '../../src/openai/completion.ts';
import { completionRequest } from '../../src/openai/completion-request.ts';
import { failureBody } from '../../src/openai/outcome.ts';
import { SpokenText } from '../../src/openai/spoken-text.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { served } from '../support/openai.ts';

const user = { role: 'user', content: 'Hi.' };
const read = (body: object) => completionRequest({ model: 'a', messages: [user], ...body });
const png = `data:image/png;base64,${btoa('png')}`;

describe('a request for a chat completion', () => {
  it('says which agent, what was said, and how to answer', () => {
    expect(read({})).toEqual({ model: 'a', messages: [user], stream: false, includeUsage: false });
    expect(read({ stream: true, stream_options: { include_usage: true }, temperature: 2 })).toMatchObject({
      stream: true,
      includeUsage: true,
    });
    expect(read({ stream: null, stream_options: { include_usage: false } })).toMatchObject({
      stream: false,
      includeUsage: false,
    });
    for (const stream_options of [null, {}, { include_usage: null }])
      expect(read({ stream_options }).includeUsage).toBe(false);
    expect(read({ n: 1, tools: [], functions: null, response_format: { type: 'text' } })).toMatchObject({ model: 'a' });
  });

  it('a text of parts is one; what a client says as its system is said by the user; an empty answer is left out', () => {
    const parts = [
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'Two.' },
    ];
    const messages = [
      { role: 'system', content: parts },
      { role: 'developer', content: 'Three.' },
      { role: 'assistant', content: parts },
      { role: 'assistant', content: null },
      { role: 'assistant' },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: [] },
      { role: 'user', content: parts },
    ];
    expect(read({ messages }).messages).toEqual([
      { role: 'user', content: 'One.\nTwo.' },
      { role: 'user', content: 'Three.' },
      { role: 'assistant', content: 'One.\nTwo.' },
      { role: 'user', content: parts },
    ]);
  });

  it('images and files keep their media types', () => {
    const content = [
      { type: 'image_url', image_url: { url: png, detail: 'low' } },
      { type: 'image_url', image_url: { url: 'https://a.example/data:b/c' } },
      { type: 'file', file: { file_data: 'data:text/csv,a', filename: 'a.csv' } },
      { type: 'file', file: { file_data: btoa('pdf') } },
    ];
    expect(read({ messages: [{ role: 'user', content }] }).messages[0]?.content).toEqual([
      { type: 'file', mediaType: 'image/png', data: png },
      { type: 'file', mediaType: 'image/*', data: 'https://a.example/data:b/c' },
      { type: 'file', mediaType: 'text/csv', data: 'data:text/csv,a', filename: 'a.csv' },
      { type: 'file', mediaType: 'application/pdf', data: btoa('pdf') },
    ]);
  });

  it.each<[unknown, string, string | null]>([
    ['x', '`body` must be an object; got "x".', null],
    [null, '`body` must be an object; got null.', null],
    [{ model: 5 }, '`model` must be the name of an agent; got 5.', 'model'],
    [{ model: undefined }, '`model` is required: the name of an agent.', 'model'],
    [{ messages: [] }, '`messages` must be an array with at least one message; got [].', 'messages'],
    [{ messages: 'Hi.' }, '`messages` must be an array of messages', 'messages'],
    [
      { messages: [{ role: 'tool', content: 'x' }] },
      '`messages.0.role` must be a system, developer',
      'messages.0.role',
    ],
    [
      { messages: [{ role: 'user', content: 5 }] },
      '`messages.0.content` must be a string, or an array of text, image_url and file parts; got 5.',
      'messages.0.content',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }] }] },
      '`messages.0.content.0.type` must be text, image_url or file; got "input_audio".',
      'messages.0.content.0.type',
    ],
    ...['nonsense', 'file:///etc/passwd'].map((url): [object, string, string] => [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] },
      '`messages.0.content.0.image_url.url` must be a data, http or https URL; got',
      'messages.0.content.0.image_url.url',
    ]),
    [
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: 'https://a.example/b' }] }] },
      '`messages.0.content.0.image_url` must be an object; got',
      'messages.0.content.0.image_url',
    ],
    [
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      '`messages.0.content.0.file.file_data` is required: a string.',
      'messages.0.content.0.file.file_data',
    ],
    [
      { messages: [{ role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }] },
      '`messages.0.content.0.type` must be one of "text"; got',
      'messages.0.content.0.type',
    ],
    [{ stream: 'yes' }, '`stream` must be a boolean', 'stream'],
    [{ n: 2 }, '`n` must be 1: an agent gives one answer', 'n'],
    [{ tools: [{}] }, '`tools.0` must be left out: the tools are the agent’s own', 'tools.0'],
    [{ functions: [{}] }, '`functions.0` must be left out: the tools are the agent’s own', 'functions.0'],
    [
      { response_format: { type: 'json_object' } },
      '`response_format.type` must be text: the format of the report is the agent’s',
      'response_format.type',
    ],
    [{ modalities: ['audio'] }, '`modalities.0` must be text', 'modalities.0'],
  ])('%j is refused by its field', (body, message, param) => {
    const given = typeof body === 'object' && body !== null ? { model: 'a', messages: [user], ...body } : body;
    expect(() => completionRequest(given)).toThrow(
      expect.objectContaining({ name: 'BadRequest', status: 400, param, message: expect.stringContaining(message) }),
    );
  });

  it('an image and a file reach the model of the agent as the official client sends them', async () => {
    const model = rehearsalModel([{ text: 'Seen.' }]);
    await using server = await served([defineAgent({ name: 'seeing', models: [model], finish: 'text' })]);
    await server.client.chat.completions.create({
      model: 'seeing',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'See.' },
            { type: 'image_url', image_url: { url: png } },
            { type: 'file', file: { file_data: `data:application/pdf;base64,${btoa('pdf')}`, filename: 'a.pdf' } },
          ],
        },
      ],
    });
    expect(model.requests[0]?.prompt.at(-1)?.content).toEqual([
      { type: 'text', text: 'See.' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: btoa('png') } },
      { type: 'file', mediaType: 'application/pdf', data: { type: 'data', data: btoa('pdf') }, filename: 'a.pdf' },
    ]);
  });
});

describe('the pieces of an answer', () => {
  const event = (type: string, more: object = {}) => ({ type, path: [], ...more }) as never;
  const said = (delta: string, kind = 'text') => event('model.delta', { kind, delta });
  const contents = (pieces: (object | null)[]) =>
    pieces.map((piece) => (piece as { choices: { delta: { content?: string } }[] } | null)?.choices[0]?.delta.content);

  type Given = { at: number; streams: boolean; secrets: string[]; includeUsage?: boolean };
  const completionOf = ({ at, includeUsage = false, ...text }: Given) =>
    new Completion('s', { model: 'a', messages: [], stream: true, includeUsage }, at, new SpokenText(text));
  const pieceOf = (completion: Completion, one: never) => completion.events(one)[0] ?? null;

  it('all share the same id, model and time, and the first says who speaks', () => {
    const completion = completionOf({ at: 1_999, streams: true, secrets: [] });
    const delta = { role: 'assistant', content: '' };
    expect(completion.begin()[0]).toEqual({
      ...{ id: 'chatcmpl-s', created: 1, model: 'a', object: 'chat.completion.chunk' },
      choices: [{ index: 0, delta, finish_reason: null, logprobs: null }],
    });
  });

  it('text of the session itself is sent; a paragraph ends once; the client is told of a failed reply', () => {
    const completion = completionOf({ at: 0, streams: true, secrets: [] });
    const pieces = [
      event('attempt.progressed'),
      event('attempt.started'),
      said('why', 'reasoning'),
      event('attempt.failed'),
      { ...(said('below') as object), path: ['helper'] } as never,
      said('Wait.'),
      event('turn.started'),
      event('attempt.progressed'),
      event('attempt.progressed'),
      event('attempt.started'),
      event('attempt.failed'),
      said('Fou'),
      event('attempt.failed'),
    ].map((one) => pieceOf(completion, one));
    expect(contents(pieces)).toEqual([
      ...Array.from({ length: 5 }),
      'Wait.',
      undefined,
      '\n\n',
      ...Array.from({ length: 3 }),
      'Fou',
      '\n\n[The last reply failed and does not count.]\n\n',
    ]);
    const report = { content: 'Found it.' };
    const result = { success: true, report, counters: emptyCounters() } as never;
    expect(contents([...completion.end(result)])).toEqual(['Found it.', undefined]);
    const silent = completionOf({ at: 0, streams: false, secrets: [] });
    expect(silent.events(said('Wait.'))).toEqual([]);
  });

  it('S-5: a secret or a character that the parts of a reply split is not shown, and the whole is sent once', () => {
    const completion = completionOf({ at: 0, streams: true, secrets: ['sk-ABCDEFGH12345678'] });
    const deltas = ['Key: sk-ABC', 'DEFGH12345678.', ' A \ud83d', '\ude00 or a half \ud83d', ' one, sk-A'];
    const pieces = [event('attempt.started'), ...deltas.map((one) => said(one))].map((one) => pieceOf(completion, one));
    const whole = 'Key: [redacted]. A \u{1f600} or a half \ufffd one, sk-A';
    const result = { success: true, report: { content: whole }, counters: emptyCounters() } as never;
    const sent = contents([...pieces, ...completion.end(result)]);
    expect(sent).toEqual([
      undefined,
      'Key: ',
      '[redacted].',
      ' A ',
      '\u{1f600} or a half ',
      '\ufffd one, ',
      'sk-A',
      undefined,
    ]);
  });

  it('a reply whose parts came by turns is sent again, and it is said that this is all of it', () => {
    const completion = completionOf({ at: 0, streams: true, secrets: [] });
    for (const one of ['A', 'B', 'a', 'b']) completion.events(said(one));
    const result = { success: true, report: { content: 'AaBb' }, counters: emptyCounters() } as never;
    expect(contents([...completion.end(result)])[0]).toBe('\n\n[The whole reply:]\n\nAaBb');
  });

  it('what was held back precedes the end of a paragraph, and a failure', () => {
    for (const [type, sent] of [
      ['attempt.progressed', 'sk-A\n\n'],
      ['attempt.failed', 'sk-A\n\n[The last reply failed and does not count.]\n\n'],
    ]) {
      const completion = completionOf({ at: 0, streams: true, secrets: ['sk-ABCDEFGH12345678'] });
      completion.events(said('sk-A'));
      expect(contents([pieceOf(completion, event(String(type)))])).toEqual([sent]);
    }
  });

  it('the end holds what was not sent, why it ended, and the usage if it was asked for', () => {
    const counters = emptyCounters();
    counters.tree.tokens = { input: 7, output: 3, reasoning: 2, cacheRead: 1, cacheWrite: 0 };
    const result = { success: true, report: { content: { a: 1 } }, counters } as never;
    const usage = {
      ...{ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
      ...{ prompt_tokens_details: { cached_tokens: 1 }, completion_tokens_details: { reasoning_tokens: 2 } },
    };
    const head = { id: 'chatcmpl-s', created: 0, model: 'a' };
    const completion = completionOf({ at: 0, streams: true, secrets: [], includeUsage: true });
    completion.events(said('{"a":1}'));
    expect([...completion.end(result)]).toEqual([
      { ...head, object: 'chat.completion.chunk', choices: [expect.objectContaining({ finish_reason: 'stop' })] },
      { ...head, object: 'chat.completion.chunk', choices: [], usage },
    ]);
    const message = { role: 'assistant', content: '{"a":1}', refusal: null };
    expect(completion.whole(result)).toEqual({
      ...{ ...head, object: 'chat.completion', usage },
      choices: [{ index: 0, message, finish_reason: 'stop', logprobs: null }],
    });
  });

  it('a failure is told by its slugs, its detail and its report', () => {
    const failed = (detail: string | null) =>
      failureBody({
        slugs: ['max_turns_exhausted', 'stopped'],
        report: { content: 'It failed.' },
        failure: { detail },
      } as never);
    const body = (message: string) => ({
      error: { message, type: 'session_failed', code: 'max_turns_exhausted', param: null },
    });
    expect(failed('by a user')).toEqual(body('max_turns_exhausted, stopped (by a user). It failed.'));
    expect(failed(null)).toEqual(body('max_turns_exhausted, stopped. It failed.'));
    const bare = { slugs: [], report: { content: 'It failed.' } } as never;
    expect(failureBody(bare)).toMatchObject({ error: { message: '. It failed.', code: null } });
  });
});
