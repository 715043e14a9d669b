import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { describe, expect, it } from 'vitest';
import { defineAgent, type Message } from '../../src/index.ts';
import { startModelServer } from '../../src/testing/index.ts';
import { assistant, base, builder, call, result, tool, user } from '../support/prompts.ts';
import { counters, report, run, tokensOf } from '../support/session.ts';

const chat = (name: string, baseURL: string) => createOpenAICompatible({ name, baseURL, apiKey: 'k' })('any');
type Sent = { tool_calls?: unknown; tool_call_id?: string };
/** The ids of the calls of a request, and of its answers. */
const idsIn = (messages: Sent[] = []) => ({
  calls: messages.flatMap(({ tool_calls = [] }) => (tool_calls as { id: string }[]).map(({ id }) => id)),
  answers: messages.flatMap(({ tool_call_id: id }) => id ?? []),
});
const looking = (...ids: string[]) => ({ calls: ids.map((id) => ({ name: 'look', input: {}, id })) });
const tools = { look: () => 'seen' };

describe('C-2: the ids of calls on the wire', () => {
  it.each([
    ['of Kimi', ['functions.look:0'], ['functions.look:1']],
    ['that carry a signature', [`call_1__thought__${'A+/='.repeat(300)}`], ['call_2 é']],
    ['of OpenAI', ['call_lFyd1kGGC9IRh6Ktnbr4ZL5v'], ['call_Bb1kGGC9IRh6Ktnbr4ZL5vX']],
  ])('%s go back to the provider that made them to the letter', async (_name, first, second) => {
    await using server = await startModelServer([looking(...first), looking(...second), report()]);
    const agent = defineAgent({ name: 'kept', models: [chat('moonshot', server.url)], tools });
    const { result: ended } = await run({ agent, requests: server.requests });
    const ids = [...first, ...second];
    expect(idsIn(server.requests[2]?.body.messages)).toEqual({ calls: ids, answers: ids });
    expect(ended.counters).toEqual(
      counters({
        ...{ turns: 3, attempts: 3, tokens: tokensOf(3), costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
      }),
    );
  });

  it('an id that is used again is replaced by one of nine letters and digits', async () => {
    await using server = await startModelServer([looking('f.a:0'), looking('f.a:0'), report()]);
    const agent = defineAgent({ name: 'kept', models: [chat('moonshot', server.url)], tools });
    await run({ agent, requests: server.requests });
    const ids = ['f.a:0', 'c00201000'];
    expect(idsIn(server.requests[2]?.body.messages)).toEqual({ calls: ids, answers: ids });
  });

  it('go to any other provider as nine letters and digits, and back to the first as they were', async () => {
    await using one = await startModelServer([looking('functions.look:0', 'abcDEF123'), { status: 500 }, report()]);
    await using other = await startModelServer([{ status: 500 }]);
    const models = [chat('moonshot', one.url), chat('mistral', other.url)];
    const agent = defineAgent({ name: 'fallen', models, tools });
    const { result: ended } = await run({ agent, requests: [...one.requests] });
    expect(ended.success).toBe(true);
    const foreign = idsIn(other.requests[0]?.body.messages);
    expect(foreign.calls).toEqual(['c00101000', 'abcDEF123']);
    expect(foreign.answers).toEqual(foreign.calls);
    expect(idsIn(one.requests[2]?.body.messages).calls).toEqual(['functions.look:0', 'abcDEF123']);
  });

  it('a conversation that is handed on keeps them', async () => {
    const given: Message[] = [
      user('Look.'),
      assistant([call('c00101000', { providerId: 'functions.look:0' })], { provider: 'moonshot.chat' }),
      tool(result('c00101000')),
      user('Go on.'),
    ];
    await using server = await startModelServer([looking('functions.look:0'), report()]);
    const agent = defineAgent({ name: 'kept', models: [chat('moonshot', server.url)], tools });
    const { result: ended } = await run({ agent, options: { messages: given }, requests: server.requests });
    expect(idsIn(server.requests[1]?.body.messages).calls).toEqual(['functions.look:0', 'c00101001']);
    expect(ended.conversation[1]).toEqual(given[1]);
  });
});

describe('C-2: a call whose maker is unknown', () => {
  const unknown = [
    user('Go.'),
    assistant([call('call_x'), call('toolu_y')]),
    tool(result('call_x'), result('toolu_y')),
  ];
  const idsFor = (provider: string, messages: Message[] = unknown) => {
    const parts = builder(messages)
      .build({ ...base, provider })
      .prompt.flatMap(({ content }): object[] => (typeof content === 'string' ? [] : content));
    return parts.flatMap((part) => ('toolCallId' in part ? part.toolCallId : []));
  };

  it('its id stays, unless the provider takes no such id', () => {
    expect(idsFor('openai.chat')).toEqual(['call_x', 'toolu_y', 'call_x', 'toolu_y']);
    expect(idsFor('mistral.chat')).toEqual(['g00001000', 'g00001001', 'g00001000', 'g00001001']);
    expect(idsFor('mistralish')).toEqual(['call_x', 'toolu_y', 'call_x', 'toolu_y']);
  });

  it('two calls never have one id', () => {
    const made = (id: string, provider: string) => assistant([call(id)], { provider });
    const messages = [
      user('Go.'),
      made('x', 'one'),
      tool(result('x')),
      made('g00001000', 'two'),
      tool(result('g00001000')),
    ];
    expect(idsFor('three', messages)).toEqual(['g00001000', 'g00001000', 'g00003000', 'g00003000']);
  });
});
