import { describe, expect, it } from 'vitest';
import {
  type AssistantMessage,
  type CallFacts,
  callFacts,
  type Fact,
  type Message,
  type ReplyPart,
  type ToolOutput,
  userMessage,
} from '../../machines/index.ts';
import { Conversation, lastPrompt } from '../../src/observe/conversation.ts';
import { estimateOutputTokens } from '../../src/vocabulary/tokens.ts';
import { replySaying } from '../support/replies.ts';

const position = { turn: 1, attempt: 1 };
const target = 'one';
const task = userMessage('Look.');
const text = (value: string): ToolOutput => ({ type: 'text', value });

const call = (callId: string, more: Partial<Extract<ReplyPart, { type: 'tool-call' }>> = {}): ReplyPart => ({
  type: 'tool-call',
  callId,
  name: 'look',
  input: '{"at":1}',
  providerExecuted: false,
  ...more,
});

const replied = (content: ReplyPart[], calls: CallFacts[], unified = 'stop'): Fact => ({
  type: 'attempt.replied',
  ...position,
  target,
  reply: { ...replySaying(''), provider: 'test', content, finishReason: { unified, raw: null } },
  fault: null,
  calls,
  usage: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
  costUsd: null,
});

const facts = (callId: string, within: number | null = null): CallFacts => ({
  ...callFacts(callId, 'look', 'real'),
  within,
});

const answered = (index: number, callId: string, output: ToolOutput, more: object = {}): Fact =>
  ({
    type: 'tool.answered',
    ...position,
    ...{ index, callId, name: 'look', executed: true, slug: null, output, tokens: 7, ...more },
  }) as Fact;

const ended = (how: 'finished' | 'progressed' | 'failed' | 'aborted' = 'finished'): Fact =>
  ({ type: `attempt.${how}`, ...position, target, slugs: [], detail: null }) as Fact;

const having = (...taken: Fact[]) => {
  const conversation = new Conversation([task]);
  for (const fact of taken) conversation.fact(fact);
  return conversation;
};

describe('C-6: the conversation as a fold', () => {
  it('a reply with its answers is added when its attempt ends, in the order of its calls', () => {
    const content = [call('a'), call('b', { providerOptions: { test: { id: 'x' } } }), call('c')];
    const taken = [
      replied(content, [facts('a'), facts('b'), facts('c')]),
      answered(1, 'b', text('second')),
      answered(0, 'a', text('first'), { slug: 'tool_exec_failed' }),
    ];
    expect(having(...taken).messages).toEqual([task]);
    for (const how of ['finished', 'progressed', 'failed', 'aborted'] as const) {
      const conversation = having(...taken, ended(how));
      expect(conversation.messages).toEqual([
        task,
        {
          role: 'assistant',
          provider: 'test',
          content: ['a', 'b', 'c'].map((toolCallId) => ({
            type: 'tool-call',
            toolCallId,
            toolName: 'look',
            input: { at: 1 },
            ...(toolCallId === 'b' && { providerOptions: { test: { id: 'x' } } }),
          })),
        },
        {
          role: 'tool',
          content: [
            { type: 'tool-result', toolCallId: 'a', toolName: 'look', output: text('first') },
            {
              type: 'tool-result',
              toolCallId: 'b',
              toolName: 'look',
              output: text('second'),
              providerOptions: { test: { id: 'x' } },
            },
          ],
        },
      ]);
      // It is added once.
      conversation.fact(ended(how));
      expect(conversation.messages).toHaveLength(3);
      expect([...conversation.callIds]).toEqual(['a', 'b', 'c']);
    }
    expect(having(ended()).messages).toEqual([task]);
  });

  it('a reply without lasting content adds nothing, and one without calls adds no answers', () => {
    expect(having(replied([], []), ended()).messages).toEqual([task]);
    const said = having(replied([{ type: 'text', text: 'Hm.', ended: true }], []), ended());
    expect(said.messages.map(({ role }) => role)).toEqual(['user', 'assistant']);
  });

  it('an attempt that fails without a reply does not add the one before it again', () => {
    const conversation = having(replied([call('a')], [facts('a')]), answered(0, 'a', text('first')), ended());
    conversation.fact({ ...replied([], []), reply: null } as Fact);
    expect(conversation.inputOf(0)).toEqual({});
    conversation.fact(ended('failed'));
    expect(conversation.messages).toHaveLength(3);
    // Answers of an earlier reply are not those of the next.
    conversation.fact(replied([call('b')], [facts('b')]));
    conversation.fact(ended('aborted'));
    expect(conversation.messages.at(-1)?.role).toBe('assistant');
  });

  it('the answers inside a batch become the answer of the batch', () => {
    const input = JSON.stringify({ calls: [{ name: 'look', input: { at: 1 } }, 'no call', { name: 'look' }] });
    const content = [call('a', { name: 'batch', input }), call('b')];
    const conversation = having(
      replied(content, [facts('a'), facts('b'), facts('a.0', 0), facts('a.1', 0), facts('a.2', 0)]),
    );
    expect([0, 1, 2, 3, 4, 5].map((index) => conversation.inputOf(index))).toEqual([
      JSON.parse(input),
      { at: 1 },
      { at: 1 },
      {},
      {},
      {},
    ]);
    for (const fact of [
      answered(4, 'a.2', text('third'), { slug: 'tool_exec_failed' }),
      answered(2, 'a.0', text('first')),
      answered(1, 'b', text('own')),
      answered(0, 'a', text('done'), { name: 'batch' }),
      ended(),
    ])
      conversation.fact(fact);
    const last = conversation.messages.at(-1);
    expect(last?.content).toEqual([
      {
        type: 'tool-result',
        toolCallId: 'a',
        toolName: 'batch',
        output: text('[0] look: succeeded\nfirst\n\n[1] look: failed\nthird'),
      },
      { type: 'tool-result', toolCallId: 'b', toolName: 'look', output: text('own') },
    ]);
    // What may be left out is the batch as a whole.
    expect([...conversation.answerTokens]).toEqual([
      ['a', 21],
      ['b', 7],
    ]);
  });

  it('a batch without a list of calls has no inputs inside', () => {
    const conversation = having(replied([call('a', { input: '{"calls":5}' })], [facts('a'), facts('a.0', 0)]));
    expect(conversation.inputOf(1)).toEqual({});
    // What is asked for before there is a reply is not remembered.
    const early = new Conversation([task]);
    expect(early.inputOf(0)).toEqual({});
    early.fact(replied([call('a')], [facts('a')]));
    expect(early.inputOf(0)).toEqual({ at: 1 });
    early.fact(ended());
    expect(early.inputOf(0)).toEqual({});
    expect(having(replied([], [facts('a')])).inputOf(0)).toEqual({});
    expect(having(replied([], [facts('a', 3)])).inputOf(0)).toEqual({});
  });

  it('names that no provider accepts become others in the answers', () => {
    const content = [call('a', { name: 'look at' })];
    const conversation = having(
      replied(content, [facts('a')]),
      answered(0, 'a', text('first'), { name: 'look at' }),
      ended(),
    );
    expect(conversation.messages.at(-1)?.content).toMatchObject([{ toolName: 'look_at' }]);
  });

  it('a call that the provider executes has its answer in the message, also when it comes later', () => {
    const own = call('p', { providerExecuted: true, isAwaited: true });
    const result: ReplyPart = { type: 'tool-result', callId: 'p', name: 'look', result: 5, isError: false };
    const at = (conversation: Conversation, index: number) => conversation.messages[index] as AssistantMessage;
    const conversation = having(
      replied([own, call('a')], [facts('p'), facts('a')]),
      answered(0, 'p', text('five')),
      answered(1, 'a', text('first')),
      ended(),
    );
    expect(conversation.messages[2]?.content).toMatchObject([{ toolCallId: 'a' }]);
    expect(at(conversation, 1).open).toBe(true);
    // A later reply brings its result, once.
    conversation.fact(replied([result], []));
    conversation.fact(ended());
    expect(at(conversation, 3).content).toMatchObject([{ type: 'tool-result', toolCallId: 'p' }]);
    conversation.fact(replied([result, { type: 'text', text: 'So.', ended: true }], []));
    conversation.fact(ended());
    expect(at(conversation, 4).content).toMatchObject([{ type: 'text' }]);
  });

  it('steering is added before the next request, or at the end of the session if no request follows', () => {
    const steered: Fact = { type: 'session.steered', text: 'Faster.' };
    expect(having(steered).messages).toEqual([task]);
    const started: Fact = { type: 'attempt.started', ...position, target, notice: null, offer: 'all' };
    expect(having(steered, started, started).messages).toEqual([task, userMessage('Faster.')]);
    for (const how of ['succeeded', 'failed', 'aborted'] as const)
      expect(having(steered, { type: `session.${how}` } as Fact).messages).toEqual([task, userMessage('Faster.')]);
  });

  it('instructions are those of the plan, its own, or those that the session was prepared with', () => {
    const prepared: Fact = { type: 'session.prepared', instructions: 'Be brief.', messages: null };
    const planned = (more: object): Fact =>
      ({ type: 'turn.planned', turn: 1, instructions: null, own: null, ...more }) as Fact;
    expect(having().instructions).toBeNull();
    expect(having(prepared).instructions).toBe('Be brief.');
    expect(having(prepared, planned({})).instructions).toBe('Be brief.');
    expect(having(prepared, planned({ own: 'As writer.' })).instructions).toBe('As writer.');
    expect(having(prepared, planned({ own: 'As writer.', instructions: 'Now.' })).instructions).toBe('Now.');
  });

  it('the agent that has the conversation is the last to whom a call handed it', () => {
    const tools = new Map([['look', { handsTo: 'writer' }]]);
    const conversation = new Conversation([task], tools);
    conversation.fact(answered(0, 'a', text(''), { slug: 'tool_not_permitted' }));
    expect(conversation.speaker).toBeNull();
    conversation.fact(answered(0, 'a', text('')));
    conversation.fact(answered(0, 'b', text(''), { name: 'other' }));
    expect(conversation.speaker).toBe('writer');
    expect(having(answered(0, 'a', text(''))).speaker).toBeNull();
  });
});

describe('C-6: the messages that a session is given', () => {
  const open = { type: 'tool-call', toolCallId: 'p', toolName: 'look', input: {}, providerExecuted: true } as const;
  const own = { type: 'tool-call', toolCallId: 'a', toolName: 'look', input: {} } as const;
  const output = text('a long answer');
  const given: Message[] = [
    task,
    { role: 'assistant', content: [open, own, { type: 'text', text: 'Well.' }] },
    { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'a', toolName: 'look', output }] },
  ];

  it('their call ids, sizes and open calls are known', () => {
    const conversation = new Conversation([...given]);
    expect(conversation.given).toBe(3);
    expect([...conversation.callIds]).toEqual(['p', 'a']);
    expect([...conversation.answerTokens]).toEqual([['a', estimateOutputTokens(output)]]);
    const result: ReplyPart = { type: 'tool-result', callId: 'p', name: 'look', result: 5, isError: false };
    conversation.fact(replied([result], []));
    conversation.fact(ended());
    expect(conversation.messages.at(-1)?.content).toMatchObject([{ toolCallId: 'p' }]);
    // Without the open call, its result belongs to nothing.
    const alone = having(replied([result], []), ended());
    expect(alone.messages).toEqual([task]);
  });

  it('G-1: messages that replace them take their place, and their task is the prompt', () => {
    const conversation = new Conversation([...given]);
    expect(conversation.promptOr('Look.')).toBe('Look.');
    expect(conversation.promptOr(null)).toBeNull();
    conversation.fact({ type: 'session.prepared', instructions: null, messages: [userMessage('Look twice.')] });
    expect(conversation.messages).toEqual([userMessage('Look twice.')]);
    expect([conversation.given, conversation.callIds.size, conversation.answerTokens.size]).toEqual([1, 0, 0]);
    conversation.messages.push(userMessage('Later.'));
    expect(conversation.promptOr('Look.')).toBe('Look twice.');
    const result: ReplyPart = { type: 'tool-result', callId: 'p', name: 'look', result: 5, isError: false };
    conversation.fact(replied([result], []));
    conversation.fact(ended());
    expect(conversation.messages).toHaveLength(2);
  });

  it('the prompt in messages is the text of the last user message', () => {
    expect(lastPrompt([])).toBeNull();
    expect(lastPrompt(given)).toBe('Look.');
    const file = { type: 'file', mediaType: 'a/b', data: { type: 'data', data: '' } } as const;
    expect(lastPrompt([task, { role: 'user', content: [file] }])).toBeNull();
    const both = [{ type: 'text', text: 'One.' } as const, file, { type: 'text', text: 'Two.' } as const];
    expect(lastPrompt([{ role: 'user', content: both }, ...given.slice(1)])).toBe('One.\nTwo.');
  });
});
