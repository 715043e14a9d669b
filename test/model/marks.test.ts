import { describe, expect, it } from 'vitest';
import type { Message } from '../../machines/index.ts';
import { withoutCallMark } from '../../src/model/prompt/cache-marks.ts';
import type { PromptRequest } from '../../src/model/prompt/prompt.ts';
import { assistant, base, builder, call, result, tool, user } from '../support/prompts.ts';

describe('N-3: cache marks', () => {
  const plain = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } };
  const auto = { ...base, provider: 'anthropic.messages', promptCaching: 'auto' } as const;
  const marked = (count: number): Message => ({
    role: 'user',
    content: Array.from({ length: count }, () => ({ type: 'text', text: 'x', ...plain })),
  });

  it('stand on the instructions and on the last message, before the notice', () => {
    const own = builder([user('One.'), assistant([call('a')]), tool(result('a'))], { instructions: 'Be.' });
    const { prompt: made, marks } = own.build({ ...auto, notice: 'Answer.' });
    expect(marks).toBe(2);
    expect(made).toEqual([
      { role: 'system', content: 'Be.', ...plain },
      user('One.'),
      assistant([call('a')]),
      { ...tool(result('a')), ...plain },
      user('Answer.'),
    ]);
    // The next prompt has no mark where the last message was.
    expect(own.build({ ...auto, promptCaching: 'off' })).toMatchObject({ marks: 0 });
    expect(own.build({ ...auto, promptCaching: 'off' }).prompt).toEqual([
      { role: 'system', content: 'Be.' },
      user('One.'),
      assistant([call('a')]),
      tool(result('a')),
    ]);
  });

  it.each<[string, Partial<PromptRequest>, Message[], number, boolean, boolean]>([
    ['none for a provider that needs none', { provider: 'openai' }, [marked(1), user('y')], 0, false, false],
    ["the user's are counted if Pawl adds none", { promptCaching: 'off' }, [marked(2), user('y')], 2, false, false],
    ['two of the user leave room for two', {}, [marked(2), user('y')], 4, true, true],
    ['three leave room for one', {}, [marked(3), user('y')], 4, false, true],
    ['four leave room for none', {}, [marked(4), user('y')], 4, false, false],
    ['five stay five', {}, [marked(5), user('y')], 5, false, false],
    ['marks on tools count', { markedTools: () => 3 }, [user('y')], 4, false, true],
    ['tools and messages count together', { markedTools: () => 2 }, [marked(2), user('y')], 4, false, false],
    [
      "marks on a message and in a tool's result count",
      {},
      [
        { ...user('x'), ...plain },
        assistant([call('a')]),
        tool(result('a', { type: 'content', value: [{ type: 'text', text: 'x', ...plain }] }, plain)),
        user('y'),
      ],
      4,
      false,
      true,
    ],
  ])('%s', (_, request, messages, total, onInstructions, onLast) => {
    const { prompt: made, marks } = builder(messages, { instructions: 'Be.' }).build({ ...auto, ...request });
    expect(marks).toBe(total);
    expect([made[0], made.at(-1)].map((message) => message?.providerOptions !== undefined)).toEqual([
      onInstructions,
      onLast,
    ]);
  });

  it('the mark of the call stands where Pawl marks, and one of the user on the last message stays', () => {
    const hour = { type: 'ephemeral', ttl: '1h' };
    const [last] = builder([user('Go.')]).build({ ...auto, ownMark: hour }).prompt;
    expect(last?.providerOptions).toEqual({ anthropic: { cacheControl: hour } });
    const own = { ...user('Go.'), providerOptions: { anthropic: { cacheControl: hour }, other: { a: 1 } } };
    const built = builder([own]).build(auto);
    expect(built.prompt[0]?.providerOptions).toEqual(own.providerOptions);
    expect(built.marks).toBe(1);
  });

  it('for Bedrock, the mark is a cache point', () => {
    const built = builder([user('Go.'), marked(1)]).build({ ...auto, provider: 'amazon-bedrock' });
    expect(built.prompt[1]?.providerOptions).toEqual({ bedrock: { cachePoint: { type: 'default' } } });
    // A mark for another provider does not count.
    expect(built.marks).toBe(1);
  });

  const hour = { type: 'ephemeral', ttl: '1h' };
  it.each<[string, object, object, object | null]>([
    ['no settings', {}, {}, null],
    ['settings of another provider', { openai: { a: 1 } }, { openai: { a: 1 } }, null],
    ['other settings', { anthropic: { a: 1 } }, { anthropic: { a: 1 } }, null],
    [
      'a mark',
      { anthropic: { a: 1, cacheControl: hour }, openai: { b: 2 } },
      { anthropic: { a: 1 }, openai: { b: 2 } },
      hour,
    ],
    ['a mark in snake case', { anthropic: { cache_control: hour } }, { anthropic: {} }, hour],
    ['both', { anthropic: { cacheControl: hour, cache_control: { type: 'ephemeral' } } }, { anthropic: {} }, hour],
    ['a mark that is no object', { anthropic: { cacheControl: 'yes' } }, { anthropic: {} }, null],
    ['a mark that is a list', { anthropic: { cacheControl: [hour] } }, { anthropic: {} }, null],
    ['a mark that is null', { anthropic: { cacheControl: null } }, { anthropic: {} }, null],
    ['a mark that is undefined', { anthropic: { cacheControl: undefined } }, { anthropic: {} }, null],
  ])('of the settings of a call, the mark is taken out: %s', (_, providerOptions, left, own) => {
    const taken = withoutCallMark({ temperature: 1, providerOptions } as never);
    expect(taken).toEqual({ settings: { temperature: 1, providerOptions: left }, own });
    expect(withoutCallMark({ temperature: 1 })).toEqual({ settings: { temperature: 1 }, own: null });
  });

  it('only results that consist of pieces can contain marks', () => {
    const value = Object.assign([{ ...plain }], {}) as never;
    const built = builder([assistant([call('a')]), tool(result('a', { type: 'json', value })), user('y')]).build(auto);
    expect(built.marks).toBe(1);
  });
});
