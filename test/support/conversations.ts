import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type LanguageModel, stepCountIs, streamText, type ToolSet } from 'ai';
import { expect } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { run } from './session.ts';

export type Sent = { type: string } & Record<string, unknown>;

/** Serves scripted streams, one per request in order, and records the requests. */
export async function startStreams(streams: readonly Sent[][]) {
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
export function anthropicMessage(stopReason: string, ...blocks: Sent[]): Sent[] {
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
export function openaiResponse(...items: Sent[]): Sent[] {
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

/** A conversation by scripted streams, one per request. */
export type Conversation = {
  streams: Sent[][];
  model: (url: string) => LanguageModel;
  tools: (url: string) => ToolSet;
};

/** Runs a conversation in the AI SDK's own loop and in a session, and returns what each sent as the conversation. */
export async function bothLoops(parts: Conversation) {
  await using theirs = await startStreams(parts.streams);
  const sdk = streamText({
    model: parts.model(theirs.url),
    tools: parts.tools(theirs.url),
    prompt: 'Do the task.',
    stopWhen: stepCountIs(5),
  });
  await sdk.consumeStream();
  await using ours = await startStreams(parts.streams);
  const model = parts.model(ours.url);
  if (typeof model === 'string' || model.specificationVersion !== 'v4') throw new Error('not a V4 model');
  const agent = defineAgent({
    name: 'searching',
    models: [model],
    tools: parts.tools(ours.url),
    finish: 'text',
    settings: { promptCaching: 'off' },
  });
  const ran = await run({ agent });
  expect(ran.result.report.content).toBe('Done.');
  expect(ran.warnings).toEqual([]);
  const conversationOf = ({ messages, input }: Record<string, unknown>) => messages ?? input;
  const toolsOf = ({ tools }: Record<string, unknown>) => tools;
  expect(ours.bodies.map(toolsOf)).toEqual(theirs.bodies.map(toolsOf));
  return { theirs: theirs.bodies.map(conversationOf), ours: ours.bodies.map(conversationOf), run: ran };
}
