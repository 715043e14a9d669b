import { describe, expect, it } from 'vitest';
import {
  appendMerged,
  assistantMessage,
  type Counters,
  count,
  countSubAgent,
  countTool,
  emptyCounters,
  historyName,
  isComplete,
  type Message,
  type Reply,
  type ReplyPart,
  repairConversation,
  replyReasoning,
  replyText,
} from '../../../machines/index.ts';
import { expectGolden } from '../../support/golden.ts';

const text = (words: string) => ({ type: 'text', text: words }) as const;
const user = (...words: string[]): Message => ({ role: 'user', content: words.map(text) });
const asked = (toolCallId: string, over: object = {}) =>
  ({ type: 'tool-call', toolCallId, toolName: 'search', input: {}, ...over }) as const;
const answered = (toolCallId: string, value = 'found') =>
  ({ type: 'tool-result', toolCallId, toolName: 'search', output: { type: 'text', value } }) as const;
const assistant = (...content: Extract<Message, { role: 'assistant' }>['content']): Message => ({
  role: 'assistant',
  content,
});
const tool = (...content: Extract<Message, { role: 'tool' }>['content']): Message => ({ role: 'tool', content });
const image = {
  type: 'file',
  mediaType: 'image/png',
  data: { type: 'url', url: 'https://example.com/a.png' },
} as const;
const reasoning = { type: 'reasoning', text: 'hm', providerOptions: { p: { signature: 's' } } } as const;

describe('C-6: repairs of the messages passed in', () => {
  const cases: Record<string, Message[]> = {
    'nothing is wrong': [user('Hi'), assistant(text('So'), asked('a')), tool(answered('a')), assistant(text('Done'))],
    'a blank part, a blank message, an empty one': [
      user('Hi', ' '),
      user('  '),
      user(),
      assistant(),
      assistant(text(' ')),
    ],
    'a picture alone is content': [{ role: 'user', content: [image] }, assistant(image)],
    'an answer is missing': [assistant(asked('a'), asked('b')), tool(answered('b'))],
    'answers in another order, and in another message': [
      assistant(asked('a'), asked('b')),
      tool(answered('b', '2')),
      user('and?'),
      tool(answered('a', '1')),
    ],
    'an answer before its call, one to no call, a second one': [
      tool(answered('a', 'early')),
      assistant(asked('a')),
      tool(answered('a', 'first'), answered('a', 'second'), answered('z')),
    ],
    'ids that are missing, repeated, or not for every provider': [
      assistant(asked(''), asked('a'), asked('a'), asked('not good!')),
      tool(answered('', '1'), answered('a', '2'), answered('a', '3'), answered('not good!', '4')),
    ],
    'a derived id that is taken': [assistant(asked('g00001000')), assistant(asked('!')), assistant(asked('g00001001'))],
    'the answer of a later call of the same id is not for the earlier one': [
      assistant(asked('a')),
      user('and?'),
      assistant(asked('a')),
      tool(answered('a', 'the later one')),
    ],
    'the same id again, each with its answer': [
      assistant(asked('a')),
      tool(answered('a', '1')),
      assistant(asked('a')),
      tool(answered('a', '2')),
    ],
    'names that are not for every provider': [assistant(asked('a', { toolName: 'a b' })), tool(answered('a'))],
    'calls of the provider: with a result, and without': [
      assistant(asked('p', { providerExecuted: true }), answered('p'), text('so')),
      assistant(asked('q', { providerExecuted: true }), text('or so')),
      assistant(asked('r', { providerExecuted: true })),
    ],
    'a result beside a call of ours': [assistant(asked('a'), answered('a')), tool(answered('a', 'ours'))],
    'a result of the provider without its call': [assistant(answered('p'), text('so'))],
    'reasoning alone, and beside a call': [assistant(reasoning), assistant(reasoning, asked('a'))],
    'fields of others are kept': [
      { role: 'assistant', content: [text('so')], provider: 'p', providerOptions: { p: { a: 1 } } },
    ],
  };

  it('match the golden file', async () => {
    await expectGolden(
      'repairs.txt',
      Object.fromEntries(Object.entries(cases).map(([name, messages]) => [name, repairConversation(messages)])),
    );
  });
});

describe('C-2 C-6 P-4: the messages built from replies', () => {
  const reply = (content: ReplyPart[], over: Partial<Reply> = {}): Reply => ({
    provider: 'p',
    content,
    finishReason: { unified: 'stop', raw: 'stop' },
    openInputs: [],
    errors: [],
    warnings: [],
    responseId: null,
    modelId: null,
    ...over,
  });
  const said = (words: string, ended = true): ReplyPart => ({ type: 'text', text: words, ended });
  const thought = (words: string, ended = true): ReplyPart => ({
    type: 'reasoning',
    text: words,
    ended,
    providerOptions: { p: { signature: 's' } },
  });
  const called = (over: object = {}): ReplyPart =>
    ({
      type: 'tool-call',
      callId: 'a',
      name: 'search',
      input: '{"q":1}',
      providerExecuted: false,
      ...over,
    }) as ReplyPart;
  const result = (over: object = {}): ReplyPart =>
    ({
      type: 'tool-result',
      callId: 'a',
      name: 'web search',
      result: { hits: 1 },
      isError: false,
      ...over,
    }) as ReplyPart;
  const custom = { type: 'custom', kind: 'p.x' } as const;
  const broken = { finishReason: null };
  const replies: Record<string, Reply> = {
    text: reply([said('Hi')]),
    'several of each': reply([thought('h'), said('a'), thought('m'), said('b')]),
    nothing: reply([]),
    'blank text': reply([said(' ')]),
    'text, reasoning and a call': reply([thought('hm'), said('Hi'), called({ providerOptions: { p: { a: 1 } } })]),
    'reasoning alone': reply([
      thought('hm'),
      { type: 'reasoning-file', mediaType: 'image/png', data: image.data },
      custom,
    ]),
    'reasoning that is blank, beside text': reply([thought(''), said('Hi')]),
    'a file, a custom part and a source': reply([image, custom, { type: 'source', source: {} }]),
    'malformed input': reply([called({ input: '[1', name: 'a b' })]),
    'a tool of the provider, with its result': reply([called({ providerExecuted: true }), result()]),
    'with its error': reply([called({ providerExecuted: true }), result({ isError: true })]),
    'a result without its call, and one of a call of ours': reply([
      result({ callId: 'z' }),
      called(),
      result(),
      said('Hi'),
    ]),
    'without its result': reply([called({ providerExecuted: true }), said('Hi')]),
    'with a result to come': reply([called({ providerExecuted: true, isAwaited: true }), said('Hi')]),
    'broken off, without a call': reply([said('Hi')], broken),
    'broken off, with a call': reply([thought('hm', false), said('Hi', false), said('Whole'), called()], broken),
    'broken off by an error, with a call': reply([said('Hi', false), called()], { errors: ['no'] }),
    'an open input, with a call': reply([said('Hi', false), called()], {
      openInputs: [{ callId: 'a', name: 't', input: '{' }],
    }),
    'an unknown end, without a call': reply([said('Hi')], { finishReason: { unified: 'other', raw: null } }),
    'complete, though a part has no end': reply([said('Hi', false)]),
  };

  it('match the golden file', async () => {
    const left = Object.entries(replies).map(([name, one]) => [
      name,
      {
        complete: isComplete(one),
        message: assistantMessage(one, new Set()),
        text: replyText(one),
        reasoning: replyReasoning(one),
      },
    ]);
    await expectGolden('replies.txt', Object.fromEntries(left));
  });

  it('C-2: tool names have 1 to 64 characters and never match a property that every object has', () => {
    expect(['', 'a b/c', 'toString', 'x'.repeat(70), '__proto__'].map(historyName)).toEqual([
      'unnamed_tool',
      'a_b_c',
      'toString_',
      'x'.repeat(64),
      '__proto___',
    ]);
  });

  it('C-6: adjacent assistant messages and adjacent tool messages are merged, without changing the originals', () => {
    const one = assistant(text('One'));
    const messages: Message[] = [one];
    appendMerged(messages, assistant(text('Two')));
    appendMerged(messages, tool(answered('a')));
    appendMerged(messages, tool(answered('b')));
    appendMerged(messages, user('Hi'));
    appendMerged(messages, user('You'));
    appendMerged(messages, assistant(text('Three')));
    expect(messages).toEqual([
      assistant(text('One'), text('Two')),
      tool(answered('a'), answered('b')),
      user('Hi'),
      user('You'),
      assistant(text('Three')),
    ]);
    expect(one).toEqual(assistant(text('One')));
    const first: Message[] = [];
    appendMerged(first, tool(answered('a')));
    expect(first).toEqual([tool(answered('a'))]);
  });
});

describe('S-4 B-7: sub-agent counters', () => {
  /** Returns counters whose numbers are all different. */
  function numbered(start: number): Counters {
    let next = start;
    const fill = (value: unknown): unknown => {
      if (typeof value === 'number') return next++;
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fill(inner)]));
    };
    const filled = fill(emptyCounters()) as Counters;
    filled.toolCalls.rejected = { unknown_tool: next++, tool_limit: next++ };
    filled.slugs = { text_only: next++ };
    filled.cachePrefixBreaks = start % 2 === 0 ? { plan: next++ } : { plan: next++, target: next++ };
    for (const name of ['read', `only-${start}`])
      filled.tools[name] = { calls: next++, failed: next++, durationMs: next++, bytes: next++ };
    return filled;
  }

  it('are summed by name, including all nested sub-agents', async () => {
    const counters = emptyCounters();
    const first = numbered(1);
    const second = numbered(100);
    second.slugs = { empty_response: 7, text_only: 1 };
    first.subAgents = { deeper: numbered(1_000) };
    second.subAgents = { deeper: numbered(2_000) };
    const before = structuredClone([first, second]);
    countSubAgent(counters, 'helper', first);
    countSubAgent(counters, 'helper', second);
    countSubAgent(counters, 'unpriced', {
      ...numbered(5),
      costUsd: null,
      tree: { ...numbered(5).tree, costUsd: null },
    });
    countSubAgent(counters, 'unpriced', numbered(5));
    await expectGolden('sub-agent-counters.txt', { counters });
    expect([first, second]).toEqual(before);
  });

  it('a tool is counted call by call', () => {
    const all = emptyCounters();
    countTool(all, 'read', { failed: 0, durationMs: 5, bytes: 100 });
    countTool(all, 'read', { failed: 1, durationMs: 7, bytes: 3 });
    countTool(all, 'write', { failed: 0, durationMs: 1, bytes: 2 });
    expect(all.tools).toEqual({
      read: { calls: 2, failed: 1, durationMs: 12, bytes: 103 },
      write: { calls: 1, failed: 0, durationMs: 1, bytes: 2 },
    });
  });

  it('include tokens of every kind', () => {
    const counters = emptyCounters();
    const usage = { input: 1, output: 2, reasoning: 3, cacheRead: 4, cacheWrite: 5 };
    for (const costUsd of [0.5, 0.25]) {
      count(counters, {
        type: 'attempt.replied',
        turn: 1,
        attempt: 1,
        target: 't',
        reply: null,
        fault: null,
        calls: [],
        usage,
        costUsd,
      });
    }
    expect(counters.tokens).toEqual({ input: 2, output: 4, reasoning: 6, cacheRead: 8, cacheWrite: 10 });
    expect([counters.costUsd, counters.tree.costUsd, counters.tree.tokens]).toEqual([0.75, 0.75, counters.tokens]);
  });
});
