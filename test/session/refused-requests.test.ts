import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { describe, expect, it } from 'vitest';
import { type AgentDefinition, defineAgent, type Message, PawlError } from '../../src/index.ts';
import { type RecordedRequest, type ScriptedResponse, startModelServer } from '../../src/testing/index.ts';
import { assistant, user } from '../support/prompts.ts';
import { counters, report, run } from '../support/session.ts';

const chat = (baseURL: string, name = 'any') => createOpenAICompatible({ name, baseURL, apiKey: 'k' })('any');
const sizeOf = ({ body }: RecordedRequest) => Math.ceil(JSON.stringify(body.messages).length / 4);
const refusal = (message: string, more: object = {}) => ({
  status: 400,
  error: { message, type: 'invalid_request_error', ...more },
});

/** A model that takes so many tokens, and calls `look` so many times before it reports. */
const within =
  (limit: number, looks: number) =>
  (request: RecordedRequest): ScriptedResponse => {
    const tokens = sizeOf(request);
    if (tokens > limit)
      return refusal(
        `This model's maximum context length is ${limit} tokens. However, you requested ${tokens} tokens.`,
      );
    const calls = request.body.messages.flatMap(({ tool_calls: made = [] }) => made as unknown[]).length;
    return calls < looks ? { calls: [{ name: 'look', input: {}, id: `c${calls}` }] } : report();
  };
const attemptsOf = (result: { turns: readonly { attempts: readonly { slugs: readonly string[] }[] }[] }) =>
  result.turns.flatMap(({ attempts }) => attempts.map(({ slugs }) => slugs.join()));
const words = (count: number) => Array.from({ length: count }, (_, index) => index).join(' ');

describe('P-2 T-6: a request that is too long', () => {
  it('leaves out results, learns the window, and continues within the bound', async () => {
    await using server = await startModelServer(within(6_000, 4));
    const agent = defineAgent({ name: 'long', models: [chat(server.url)], tools: { look: () => words(2_000) } });
    const { result, events } = await run({ agent, requests: server.requests });
    expect(attemptsOf(result)).toEqual(['', '', '', 'context_guard', '', '']);
    expect(result.report.source).toBe('tool_call');
    const omitted = events.filter(({ type }) => type === 'results.omitted');
    expect(omitted.length).toBeGreaterThan(0);
    // What was learnt holds: no later request is refused.
    expect(server.requests.filter((request) => sizeOf(request) > 6_000)).toHaveLength(1);
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { context_guard: 2 },
        ...{ turns: 5, attempts: 6, failedAttempts: 1, notices: 1, slugs: { context_guard: 1 } },
        ...{ tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 5, answered: 5, executed: 4, succeeded: 4, acknowledged: 1 },
      }),
    );
  });

  it('leaves out old text, and neither the prompt nor the last reply', async () => {
    const told = Array.from({ length: 8 }, (_, index): Message[] => [
      user(`Chapter ${index}: ${words(1_000)}`),
      assistant([{ type: 'text', text: `Noted ${index}: ${words(1_000)}` }], { provider: 'any.chat' }),
    ]).flat();
    await using server = await startModelServer(within(9_000, 0));
    const agent = defineAgent({ name: 'old', models: [chat(server.url)], tools: { look: () => 'seen' } });
    const { result } = await run({
      agent,
      options: { messages: [...told, user('Sum it up.')] },
      requests: server.requests,
    });
    expect(attemptsOf(result)).toEqual(['context_guard', '']);
    const sent = JSON.stringify(server.requests.at(-1)?.body.messages);
    expect(sent).toContain('Sum it up.');
    expect(sent).toContain('was left out, because the conversation fills the context window');
    expect(sent).toContain('Noted 7: 0 1 2');
    expect(sent).not.toContain('Chapter 0: 0 1 2');
    // The conversation holds it all.
    expect(JSON.stringify(result.conversation)).toContain('Chapter 0: 0 1 2');
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { context_guard: 1 },
        ...{ turns: 1, attempts: 2, failedAttempts: 1, notices: 1, slugs: { context_guard: 1 } },
        ...{ tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 1, answered: 1, acknowledged: 1 },
      }),
    );
  });

  it('ends the session if nothing more can be left out', async () => {
    await using server = await startModelServer(within(1_000, 0));
    const agent = defineAgent({ name: 'too-long', models: [chat(server.url)] });
    const { result } = await run({ agent, options: { prompt: words(3_000) }, requests: server.requests });
    expect(result.slugs[0]).toBe('context_guard');
    expect(server.requests).toHaveLength(1);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 1, attempts: 1, failedAttempts: 1, slugs: { context_guard: 2 } },
        ...{ tokens: result.counters.tokens, costUsd: 0 },
      }),
    );
  });

  it('a fallback with a smaller window is fitted before it is asked, and passed over if it cannot be', async () => {
    const script = [{ calls: [{ name: 'look', input: {} }] }, { status: 500 }, report()];
    await using large = await startModelServer(script);
    await using small = await startModelServer(within(4_000, 0));
    const tools = { look: () => words(5_000) };
    const models = [
      chat(large.url, 'large'),
      { model: chat(small.url, 'small'), contextWindow: (target: string) => (target === 'small:any' ? 4_000 : 1) },
    ];
    const { result } = await run({ agent: defineAgent({ name: 'two', models, tools }) });
    expect(attemptsOf(result)).toEqual(['', 'provider_error', '']);
    expect(small.requests.map(sizeOf).every((tokens) => tokens < 4_000)).toBe(true);
    expect(small.requests).toHaveLength(1);
    await using again = await startModelServer(script);
    const tiny = [chat(again.url, 'large'), { model: chat(small.url, 'small'), contextWindow: 10 }];
    const over = await run({ agent: defineAgent({ name: 'tiny', models: tiny, tools }) });
    expect(attemptsOf(over.result)).toEqual(['', 'provider_error', '']);
    expect([again.requests.length, small.requests.length]).toEqual([3, 1]);
  });

  it.each([0, 1.5, '4000', () => 0])('a window of %s is refused as the agent is defined', (contextWindow) => {
    const define = () =>
      defineAgent({
        name: 'odd',
        models: [{ model: chat('http://localhost/v1'), contextWindow: contextWindow as never }],
      });
    expect(define).toThrow(PawlError);
    expect(define).toThrow(/models\[0\]\.contextWindow/);
  });
});

const png = (data: string) => ({
  type: 'file' as const,
  mediaType: 'image/png',
  data: { type: 'data' as const, data },
});
const shot = (data: string) => ({
  inputSchema: { type: 'object' },
  execute: () => 'taken',
  toModelOutput: () => ({ type: 'content', value: [{ type: 'text', text: 'Here:' }, png(data)] }),
});

describe('P-2: a request of which a piece is refused', () => {
  const pieces: [string, object, (request: RecordedRequest) => ScriptedResponse | null, RegExp][] = [
    [
      'a picture that is named by its place',
      { bad: shot('BADBAD'), good: shot('GOOD') },
      ({ body }) => {
        const at = body.messages.findIndex((message) => JSON.stringify(message).includes('BADBAD'));
        return at === -1 ? null : refusal(`Invalid 'messages[${at}].content[1].image_url.url': could not process it.`);
      },
      /GOOD/,
    ],
    [
      'the newest picture, where none is named',
      { good: shot('GOOD'), bad: shot('BADBAD') },
      ({ body }) => (JSON.stringify(body.messages).includes('BADBAD') ? refusal('Could not process image') : null),
      /GOOD/,
    ],
    [
      'all pictures, for a model that takes none',
      { bad: shot('BADBAD'), good: shot('ALSOBAD') },
      ({ body }) =>
        JSON.stringify(body.messages).includes('image_url')
          ? refusal('This model does not support image input.')
          : null,
      /was left out, because/,
    ],
    [
      'a result that is named by its place',
      { bad: () => 'BADBAD', good: () => 'GOOD' },
      ({ body }) => {
        const at = body.messages.findIndex((message) => JSON.stringify(message.content ?? '').includes('BADBAD'));
        return at === -1 ? null : refusal(`messages.${at}.content: invalid content`);
      },
      /GOOD/,
    ],
    [
      'the schema of a tool',
      {
        bad: {
          inputSchema: { type: 'object', properties: { x: { type: 'string', format: 'BADBAD' } } },
          execute: () => 'a',
        },
        good: () => 'GOOD',
      },
      ({ body }) =>
        JSON.stringify(body.tools).includes('BADBAD')
          ? refusal("Invalid schema for function 'bad': unknown format")
          : null,
      /GOOD/,
    ],
  ];
  it.each(pieces)('%s: a stub stands for it, and it is tried again', async (_name, tools, refuse, kept) => {
    const script = (request: RecordedRequest): ScriptedResponse => {
      const refused = refuse(request);
      if (refused !== null) return refused;
      return request.body.messages.some(({ role }) => role === 'tool')
        ? report()
        : { calls: Object.keys(tools).map((name) => ({ name, input: {}, id: name })) };
    };
    await using server = await startModelServer(script);
    const agent = defineAgent({
      name: 'refused',
      models: [chat(server.url)],
      tools: tools as AgentDefinition['tools'] as never,
    });
    const { result, events } = await run({ agent, requests: server.requests });
    expect(attemptsOf(result).filter((slugs) => slugs !== '')).toEqual(['invalid_request']);
    expect(result.report.source).toBe('tool_call');
    expect(JSON.stringify(server.requests.at(-1)?.body.messages)).toMatch(kept);
    expect(events.filter(({ type }) => type === 'piece.replaced')).toHaveLength(1);
    expect(result.counters).toEqual(
      counters({
        cachePrefixBreaks: { refused_piece: 1 },
        ...{ turns: 2, attempts: 3, failedAttempts: 1, notices: 1, slugs: { invalid_request: 1 } },
        ...{ tokens: result.counters.tokens, costUsd: null, reports: { attempted: 1 } },
        toolCalls: { requested: 3, answered: 3, executed: 2, succeeded: 2, acknowledged: 1 },
      }),
    );
    // A conversation that was refused so can be handed on.
    const next = await run({ agent, options: { messages: [...result.conversation, user('Again.')] }, requests: [] });
    expect(next.result.success).toBe(true);
  });

  it('a picture of the user is replaced too, a second refusal excludes the target, and so does any other', async () => {
    await using server = await startModelServer([
      refusal('Could not process image'),
      refusal('Could not process image'),
    ]);
    const agent = defineAgent({ name: 'twice', models: [chat(server.url)] });
    const given = [
      { role: 'user' as const, content: [{ type: 'text' as const, text: 'See.' }, png('AAAA'), png('BBBB')] },
    ];
    const { result } = await run({ agent, options: { messages: given }, requests: server.requests });
    expect(attemptsOf(result)).toEqual(['invalid_request', 'invalid_request']);
    expect(JSON.stringify(server.requests[1]?.body.messages)).not.toContain('BBBB');
    expect(result.slugs[0]).toBe('no_targets');
    await using other = await startModelServer([refusal('Unknown parameter: foo')]);
    const second = await run({
      agent: defineAgent({ name: 'other', models: [chat(other.url)] }),
      requests: other.requests,
    });
    expect(attemptsOf(second.result)).toEqual(['invalid_request']);
  });
});
