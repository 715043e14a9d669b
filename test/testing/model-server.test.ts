import { afterEach, describe, expect, it } from 'vitest';
import {
  type ModelServer,
  type ScriptedResponse,
  type ServerScript,
  startModelServer,
} from '../../src/testing/index.ts';

const servers: ModelServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));

async function serve(script: ServerScript): Promise<ModelServer> {
  const server = await startModelServer(script);
  servers.push(server);
  return server;
}

const paths = { openai: 'chat/completions', anthropic: 'messages' };

async function ask(script: ServerScript, wire: keyof typeof paths, body: object = {}, init: RequestInit = {}) {
  const { url } = await serve(script);
  return fetch(`${url}/${paths[wire]}`, { method: 'POST', body: JSON.stringify({ messages: [], ...body }), ...init });
}

/** The data of the events of a stream; each has its type as the name, on Anthropic's wire. */
async function events(wire: keyof typeof paths, response: ScriptedResponse): Promise<unknown[]> {
  const answer = await ask([response], wire, { stream: true, model: 'm' });
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const text = await answer.text();
  return text.split('\n\n').flatMap((event) => {
    if (event === '') return [];
    const [, name, data] = /^(?:event: (.*)\n)?data: (.*)$/.exec(event) ?? [];
    if (data === '[DONE]') return [data];
    const parsed = JSON.parse(data ?? 'null');
    expect(name).toBe(wire === 'anthropic' ? parsed.type : undefined);
    return [parsed];
  });
}

const json = async (wire: keyof typeof paths, response: ScriptedResponse) =>
  (await ask([response], wire, { model: 'm' })).json();

describe('the scripted server, on the wire of OpenAI', () => {
  const base = { id: 'chatcmpl-0', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'm' };
  const chunk = (delta: object, finish: string | null = null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const usage = (input: number, output: number, cached = 0, reasoning = 0) => ({
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  });

  it('streams reasoning, a text and calls in pieces', async () => {
    const calls = [
      { name: 'read', input: { q: 1 } },
      { name: 'write', input: 'no json', id: 'own' },
    ];
    const used = { input: 3, output: 4, reasoning: 2, cacheRead: 1 };
    const call = (index: number, part: object) => chunk({ tool_calls: [{ index, ...part }] });
    expect(await events('openai', { text: 'Hello', reasoning: 'hm', calls, usage: used })).toEqual([
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'Hel' }),
      chunk({ content: 'lo' }),
      call(0, { id: 'call_0_0', type: 'function', function: { name: 'read', arguments: '' } }),
      call(0, { function: { arguments: '{"q"' } }),
      call(0, { function: { arguments: ':1}' } }),
      call(1, { id: 'own', type: 'function', function: { name: 'write', arguments: '' } }),
      call(1, { function: { arguments: 'no j' } }),
      call(1, { function: { arguments: 'son' } }),
      chunk({}, 'tool_calls'),
      { ...base, choices: [], usage: usage(3, 4, 1, 2) },
      '[DONE]',
    ]);
  });

  it('an empty reply is its beginning and its end', async () => {
    expect(await events('openai', {})).toEqual([
      chunk({ role: 'assistant', content: '' }),
      chunk({}, 'stop'),
      { ...base, choices: [], usage: usage(10, 5) },
      '[DONE]',
    ]);
  });

  it('pieces have the length that was asked for', async () => {
    const textsOf = async (pieceLength: number) =>
      (await events('openai', { text: 'abcde', pieceLength })).flatMap((event) => {
        const { content } = ((event as ReturnType<typeof chunk>).choices?.[0]?.delta as { content?: string }) ?? {};
        return content ? [content] : [];
      });
    expect(await textsOf(2)).toEqual(['ab', 'cd', 'e']);
    expect(await textsOf(1)).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(await textsOf(9)).toEqual(['abcde']);
  });

  it('answers at once without a stream', async () => {
    expect(await json('openai', { text: 'Hello', reasoning: 'hm', calls: [{ name: 'read' }] })).toEqual({
      id: 'chatcmpl-0',
      object: 'chat.completion',
      created: 1_700_000_000,
      model: 'm',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Hello',
            reasoning_content: 'hm',
            tool_calls: [{ id: 'call_0_0', type: 'function', function: { name: 'read', arguments: '{}' } }],
          },
          finish_reason: 'tool_calls',
        },
      ],
      usage: usage(10, 5),
    });
    expect(await json('openai', {})).toMatchObject({
      choices: [{ message: { role: 'assistant', content: null }, finish_reason: 'stop' }],
    });
    expect(JSON.stringify(await json('openai', {}))).toContain('"message":{"role":"assistant","content":null}');
    expect(await json('openai', { calls: [{ name: 'a', id: 'x' }] })).toMatchObject({
      choices: [{ message: { tool_calls: [{ id: 'x' }] } }],
    });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['tool-calls', 'tool_calls'],
    ['content-filter', 'content_filter'],
    ['other', 'other'],
  ] as const)('the finish reason %s is %s', async (finishReason, told) => {
    expect(await json('openai', { finishReason })).toMatchObject({ choices: [{ finish_reason: told }] });
  });
});

describe('the scripted server, on the wire of Anthropic', () => {
  const usage = (input: number, output: number, read = 0, written = 0) => ({
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
  });
  const message = { id: 'msg_0', type: 'message', role: 'assistant', model: 'm' };
  const start = (used: object) => ({
    type: 'message_start',
    message: { ...message, content: [], stop_reason: null, stop_sequence: null, usage: used },
  });
  const end = (reason: string, output: number) => [
    { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: output } },
    { type: 'message_stop' },
  ];

  it('streams reasoning, a text and calls in blocks', async () => {
    const calls = [
      { name: 'read', input: { q: 1 } },
      { name: 'write', id: 'own' },
    ];
    const used = { input: 9, output: 4, cacheRead: 1, cacheWrite: 2 };
    const block = (index: number, content: object, ...deltas: object[]) => [
      { type: 'content_block_start', index, content_block: content },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
    const input = (text: string) => ({ type: 'input_json_delta', partial_json: text });
    expect(await events('anthropic', { text: 'Hello', reasoning: 'hm', calls, usage: used })).toEqual([
      start(usage(6, 0, 1, 2)),
      ...block(
        0,
        { type: 'thinking', thinking: '', signature: '' },
        { type: 'thinking_delta', thinking: 'h' },
        { type: 'thinking_delta', thinking: 'm' },
        { type: 'signature_delta', signature: 'signature-0' },
      ),
      ...block(1, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hel' }, { type: 'text_delta', text: 'lo' }),
      ...block(2, { type: 'tool_use', id: 'toolu_0_0', name: 'read', input: {} }, input('{"q"'), input(':1}')),
      ...block(3, { type: 'tool_use', id: 'own', name: 'write', input: {} }, input('{'), input('}')),
      ...end('tool_use', 4),
    ]);
  });

  it('an empty reply is its beginning and its end', async () => {
    expect(await events('anthropic', {})).toEqual([start(usage(10, 0)), ...end('end_turn', 5)]);
  });

  it('answers at once without a stream', async () => {
    const calls = [{ name: 'read' }, { name: 'write', input: { q: 1 }, id: 'own' }];
    expect(await json('anthropic', { text: 'Hello', reasoning: 'hm', calls })).toEqual({
      ...message,
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'signature-0' },
        { type: 'text', text: 'Hello' },
        { type: 'tool_use', id: 'toolu_0_0', name: 'read', input: {} },
        { type: 'tool_use', id: 'own', name: 'write', input: { q: 1 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: usage(10, 5),
    });
    expect(await json('anthropic', {})).toMatchObject({ content: [], stop_reason: 'end_turn' });
  });

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool-calls', 'tool_use'],
    ['content-filter', 'refusal'],
    ['other', 'other'],
  ] as const)('the finish reason %s is %s', async (finishReason, told) => {
    expect(await json('anthropic', { finishReason })).toMatchObject({ stop_reason: told });
  });
});
