import { createOpenAI } from '@ai-sdk/openai';
import { describe, expect, it } from 'vitest';
import { defineAgent } from '../../src/index.ts';
import { openaiResponse, type Sent, startStreams } from '../support/conversations.ts';
import { counters, run } from '../support/session.ts';

const thought = (more: object = {}) => ({ type: 'reasoning', id: 'rs_1', summary: [], ...more });
const said = { type: 'message', id: 'msg_1', role: 'assistant', content: [] };
const searched = { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'x' } };
const called = (name: string, input: object, id: string) => ({
  ...{ type: 'function_call', id: `fc_${id}`, call_id: `call_${id}` },
  ...{ name, arguments: JSON.stringify(input), status: 'completed' },
});
const reported = openaiResponse(called('final_report', { content: 'Done.' }, '9'));

/** The input of the second request, after a stream of these items that breaks before it completes. */
async function afterBroken(...items: Sent[]) {
  await using server = await startStreams([openaiResponse(...items).slice(0, -1), reported]);
  const openai = createOpenAI({ baseURL: server.url, apiKey: 'k' });
  const agent = defineAgent({
    name: 'broken',
    models: [openai.responses('gpt-5')],
    tools: { look: () => 'seen', search: openai.tools.webSearch({}) as never },
  });
  const { result } = await run({ agent });
  const provided = items.filter(({ type }) => type === 'web_search_call').length;
  expect(result.counters).toEqual(
    counters({
      ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, waits: 1, costUsd: result.counters.costUsd },
      tokens: result.counters.tokens,
      ...{ slugs: { stream_interrupted: 1, network_error: 1 }, reports: { attempted: 1 } },
      toolCalls: {
        ...{
          requested: 2 + provided,
          answered: 2 + provided,
          acknowledged: 1,
          executed: provided,
          succeeded: provided,
        },
        rejected: { stream_interrupted: 1 },
      },
    }),
  );
  return server.bodies[1]?.input as Sent[];
}

describe('P-6: a reply that did not complete', () => {
  it('is referred to by nothing: text in full, its call, and no reasoning that is not encrypted', async () => {
    const input = await afterBroken(thought(), said, called('look', {}, '1'));
    expect(JSON.stringify(input)).not.toMatch(/item_reference|rs_1|msg_1|fc_1/);
    expect(input.slice(1, -1)).toMatchObject([
      { role: 'assistant', content: 'Done.' },
      { type: 'function_call', call_id: 'call_1', name: 'look' },
      { type: 'function_call_output', call_id: 'call_1' },
    ]);
  });

  it('keeps reasoning that is encrypted, and nothing of what the provider ran', async () => {
    const encrypted = thought({ encrypted_content: 'secret' });
    const input = await afterBroken(encrypted, searched, called('look', {}, '1'));
    expect(JSON.stringify(input)).not.toMatch(/item_reference|rs_1|ws_1|fc_1/);
    expect(input).toContainEqual({ type: 'reasoning', encrypted_content: 'secret', summary: [] });
  });

  it('is no hindrance to references to one that completed', async () => {
    await using server = await startStreams([openaiResponse(thought(), called('look', {}, '1')), reported]);
    const openai = createOpenAI({ baseURL: server.url, apiKey: 'k' });
    const agent = defineAgent({ name: 'whole', models: [openai.responses('gpt-5')], tools: { look: () => 'seen' } });
    await run({ agent });
    expect(server.bodies[1]?.input).toContainEqual({ type: 'item_reference', id: 'rs_1' });
  });
});
