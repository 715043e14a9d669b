import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, type Session } from '../../src/index.ts';
import {
  anthropicMessage,
  bothLoops,
  type Conversation,
  openaiResponse,
  type Sent,
  startStreams,
} from '../support/conversations.ts';
import { run } from '../support/session.ts';

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
    const { theirs, ours, run } = await bothLoops(parts);
    expect(ours).toEqual(theirs);
    expect(ours).toHaveLength(2);
    expect(run.result.counters).toMatchObject({ turns: 2, attempts: 2, failedAttempts: 0, notices: 0 });
  });

  it('B-2 B-5: a provider that pauses for ever stays within the bound, and a pause is no report', async () => {
    const pause = anthropicMessage('pause_turn', said('Let me look.'));
    await using server = await startStreams([pause, pause, pause, pause]);
    const limits = { maxTurns: 3, maxRetries: 1 };
    const models = [anthropic(server.url)('claude-sonnet-4-5')];
    const { result } = await run({ agent: defineAgent({ name: 'pausing', models, finish: 'text', limits }) });
    expect(server.bodies).toHaveLength(3);
    expect(result.slugs).toEqual(['retries_exhausted', 'max_turns_exhausted', 'no_tools']);
  });

  const models = (url: string) => [anthropic(url)('claude-sonnet-4-5')];
  const searching = (url: string) => ({
    ...({ name: 'pausing', models: models(url), finish: 'text' } as const),
    tools: { web_search: anthropic(url).tools.webSearch_20250305() },
  });

  it.each<[string, Partial<AgentDefinition>, (session: Session) => void]>([
    ['the notice of the last turn', { limits: { maxTurns: 2 } }, () => {}],
    ['what the session was steered to', {}, (session) => session.steer('In English, please.')],
  ])('C-6: a paused call that is not answered is left out before %s', async (_what, over, act) => {
    const pause = anthropicMessage('pause_turn', said('Let me look.'), search);
    await using server = await startStreams([pause, anthropicMessage('end_turn', said('Done.'))]);
    const { result } = await run({
      agent: defineAgent({ ...searching(server.url), ...over }),
      during: (event, session) => {
        if (event.type === 'attempt.started' && event.turn === 1) act(session);
      },
    });
    expect(result.success).toBe(true);
    expect(server.bodies[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'Let me look.' }] },
      { role: 'user' },
    ]);
    expect(JSON.stringify(server.bodies[1])).not.toContain('srvtoolu_1');
  });

  it('C-6: a conversation with a paused call can be continued with a new prompt', async () => {
    await using first = await startStreams([anthropicMessage('pause_turn', said('Let me look.'), search)]);
    const limits = { maxTurns: 1, maxRetries: 1 };
    const before = await run({ agent: defineAgent({ ...searching(first.url), limits }) });
    await using second = await startStreams([anthropicMessage('end_turn', said('Done.'))]);
    const agent = defineAgent(searching(second.url));
    const { result } = await run({ agent, options: { messages: before.result.conversation, prompt: 'And now?' } });
    expect(JSON.stringify(second.bodies[0])).not.toContain('srvtoolu_1');
    expect(result.report.content).toBe('Done.');
  });

  it('B-5 C-6: what the provider found stays in the conversation where only the report is offered', async () => {
    const report = { type: 'tool_use', id: 'toolu_9', name: 'final_report', input: {} };
    await using server = await startStreams([
      anthropicMessage('tool_use', search, found, { ...lookup, caller: undefined }),
      anthropicMessage('end_turn', said('Hm.')),
      anthropicMessage('tool_use', { ...report, input: { content: 'Done.' } }),
    ]);
    const { finish: _, ...definition } = searching(server.url);
    const agent = defineAgent({
      ...definition,
      ...{ tools: { ...definition.tools, lookup: own }, limits: { maxTurns: 2, maxRetries: 2 } },
      report: { format: 'json', schema: z.string() },
    });
    const { result } = await run({ agent });
    const [, , third] = server.bodies as { tools: { name: string }[]; messages: object[] }[];
    expect(third?.tools.map(({ name }) => name)).toEqual(['final_report', 'web_search']);
    expect(JSON.stringify(third?.messages)).toContain('https://a.example');
    expect(result.counters).toMatchObject({ turns: 2, attempts: 3, failedAttempts: 1 });
  });

  it('C-6: a conversation that ends with a paused reply can be continued from it', async () => {
    await using first = await startStreams([anthropicMessage('pause_turn', said('Let me look.'), search)]);
    const definition = { name: 'pausing', finish: 'text', limits: { maxTurns: 1, maxRetries: 1 } } as const;
    const before = await run({ agent: defineAgent({ ...definition, models: models(first.url) }) });
    await using second = await startStreams([anthropicMessage('end_turn', found, said('Done.'))]);
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
