import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { type LanguageModel, stepCountIs, streamText, type ToolSet, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/index.ts';
import { run } from '../support/session.ts';

type Sent = { type: string } & Record<string, unknown>;

/** Serves scripted streams, one per request in order, and records the requests. */
async function startServer(streams: readonly Sent[][]) {
  const bodies: Record<string, unknown>[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const events = streams[bodies.length] ?? [];
    bodies.push(JSON.parse(Buffer.concat(chunks).toString()));
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    bodies,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** An Anthropic wire message. */
function anthropicMessage(stopReason: string, ...blocks: Sent[]): Sent[] {
  const usage = { input_tokens: 10, output_tokens: 5 };
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude', content: [], usage };
  return [
    { type: 'message_start', message },
    ...blocks.flatMap((block, index): Sent[] => {
      const { text, ...rest } = block;
      const start = {
        type: 'content_block_start',
        index,
        content_block: text === undefined ? rest : { ...rest, text: '' },
      };
      const delta = { type: 'content_block_delta', index, delta: { type: 'text_delta', text } };
      return [start, ...(text === undefined ? [] : [delta]), { type: 'content_block_stop', index }];
    }),
    { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
}

/** An OpenAI Responses API response. */
function openaiResponse(...items: Sent[]): Sent[] {
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };
  const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'gpt', output: items, usage };
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    ...items.flatMap((item, output_index): Sent[] => [
      { type: 'response.output_item.added', output_index, item },
      ...(item.type === 'message' ? [{ type: 'response.output_text.delta', item_id: item.id, delta: 'Done.' }] : []),
      { type: 'response.output_item.done', output_index, item },
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed' } },
  ];
}

const said = (text: string): Sent => ({ type: 'text', text });
const answered: Sent = {
  type: 'message',
  id: 'msg_2',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
};

const search: Sent = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } };
const found: Sent = {
  type: 'web_search_tool_result',
  tool_use_id: 'srvtoolu_1',
  content: [
    { type: 'web_search_result', url: 'https://a.example', title: 'A', encrypted_content: 'e', page_age: null },
  ],
};
const code: Sent = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'code_execution', input: { code: 'lookup()' } };
const caller = { type: 'code_execution_20250825', tool_id: 'srvtoolu_2' };
const lookup: Sent = { type: 'tool_use', id: 'toolu_1', name: 'lookup', input: { q: 'x' }, caller };
const ran: Sent = {
  type: 'code_execution_tool_result',
  tool_use_id: 'srvtoolu_2',
  content: { type: 'code_execution_result', stdout: '1', stderr: '', return_code: 0, content: [] },
};
const webSearchId = `ws_${'0'.repeat(48)}`;
const webSearch: Sent = {
  type: 'web_search_call',
  id: webSearchId,
  status: 'completed',
  action: { type: 'search', query: 'x' },
};
const functionCall: Sent = {
  type: 'function_call',
  id: 'fc_1',
  call_id: `call_${'1'.repeat(50)}`,
  name: 'lookup',
  arguments: '{"q":"x"}',
  status: 'completed',
};

const anthropic = (url: string) => createAnthropic({ baseURL: url, apiKey: 'test-key' });
const openai = (url: string) => createOpenAI({ baseURL: url, apiKey: 'test-key' });
const own = tool({ inputSchema: z.object({ q: z.string() }), execute: ({ q }) => `found ${q}` });

type Conversation = {
  streams: Sent[][];
  model: (url: string) => LanguageModel;
  tools: (url: string) => ToolSet;
};

const conversations: [string, Conversation][] = [
  [
    "Anthropic's pause_turn",
    {
      streams: [
        anthropicMessage('pause_turn', said('Let me look.'), search),
        anthropicMessage('end_turn', found, said('Done.')),
      ],
      model: (url) => anthropic(url)('claude-sonnet-4-5'),
      tools: (url) => ({ web_search: anthropic(url).tools.webSearch_20250305() }),
    },
  ],
  [
    'a result of Anthropic that comes in a later reply',
    {
      streams: [anthropicMessage('tool_use', code, lookup), anthropicMessage('end_turn', ran, said('Done.'))],
      model: (url) => anthropic(url)('claude-sonnet-4-5'),
      tools: (url) => ({ code_execution: anthropic(url).tools.codeExecution_20260120(), lookup: own }),
    },
  ],
  [
    "OpenAI's web search, whose id is a reference of 51 characters",
    {
      streams: [openaiResponse(webSearch, functionCall), openaiResponse(answered)],
      model: (url) => openai(url).responses('gpt-5'),
      tools: (url) => ({ web_search: openai(url).tools.webSearch(), lookup: own }),
    },
  ],
];

describe('tools that the provider executes', () => {
  it.each(conversations)("C-2 C-6: with %s, the requests are those of the AI SDK's own loop", async (_what, parts) => {
    await using theirs = await startServer(parts.streams);
    const sdk = streamText({
      model: parts.model(theirs.url),
      tools: parts.tools(theirs.url),
      prompt: 'Do the task.',
      stopWhen: stepCountIs(5),
    });
    await sdk.consumeStream();
    await using ours = await startServer(parts.streams);
    const model = parts.model(ours.url);
    if (typeof model === 'string' || model.specificationVersion !== 'v4') throw new Error('not a V4 model');
    const agent = defineAgent({
      name: 'searching',
      models: [model],
      tools: parts.tools(ours.url),
      finish: 'text',
      settings: { promptCaching: 'off' },
    });
    const { result, warnings } = await run({ agent });
    expect(result.report.content).toBe('Done.');
    expect(warnings).toEqual([]);
    const conversationOf = ({ messages, input }: Record<string, unknown>) => messages ?? input;
    expect(ours.bodies.map(conversationOf)).toEqual(theirs.bodies.map(conversationOf));
    expect(ours.bodies).toHaveLength(2);
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, failedAttempts: 0, notices: 0 });
  });

  it('B-2 B-5: a provider that pauses for ever stays within the bound, and a pause is no report', async () => {
    const pause = anthropicMessage('pause_turn', said('Let me look.'));
    await using server = await startServer([pause, pause, pause, pause]);
    const limits = { maxTurns: 3, maxRetries: 1 };
    const models = [anthropic(server.url)('claude-sonnet-4-5')];
    const { result } = await run({ agent: defineAgent({ name: 'pausing', models, finish: 'text', limits }) });
    expect(server.bodies).toHaveLength(3);
    expect(result.slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'no_tools']);
  });

  it('C-6: a conversation that ends with a paused reply can be continued from it', async () => {
    await using first = await startServer([anthropicMessage('pause_turn', said('Let me look.'), search)]);
    const definition = { name: 'pausing', finish: 'text', limits: { maxTurns: 1, maxRetries: 1 } } as const;
    const models = (url: string) => [anthropic(url)('claude-sonnet-4-5')];
    const before = await run({ agent: defineAgent({ ...definition, models: models(first.url) }) });
    await using second = await startServer([anthropicMessage('end_turn', found, said('Done.'))]);
    const { result } = await run({
      agent: defineAgent({ ...definition, models: models(second.url), limits: { maxTurns: 3 } }),
      options: { messages: before.result.conversation },
    });
    expect(second.bodies[0]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ text: 'Let me look.' }, { type: 'server_tool_use', id: 'srvtoolu_1' }] },
    ]);
    expect(second.bodies[0]?.messages).toHaveLength(2);
    expect(result.report.content).toBe('Done.');
  });
});
