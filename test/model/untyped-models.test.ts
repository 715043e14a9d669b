import type { LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report, run } from '../support/session.ts';
import { agentOf, call, echo, finish, modelOf, type Part, reported } from '../support/untyped-model.ts';

describe('C-5: a problem after the finish part does not undo the reply', () => {
  it('the connection breaks', async () => {
    const parts: Part[] = [call('echo'), finish];
    const broken = modelOf(
      (controller) => {
        const part = parts.shift();
        if (part === undefined) controller.error(new TypeError('terminated'));
        else controller.enqueue(part as LanguageModelV4StreamPart);
      },
      [reported('done'), finish],
    );
    const { result } = await run({ agent: agentOf(broken, { tools: { echo } }) });
    expect(result.counters).toMatchObject({ requests: 2, failedAttempts: 0, toolCalls: { executed: 1 } });
  });

  it.each(['modelTimeoutMs', 'modelIdleTimeoutMs'])(
    'the server leaves the connection open and %s passes',
    async (name) => {
      const parts: Part[] = [reported('done'), finish];
      const open = modelOf((controller) => {
        const part = parts.shift();
        if (part !== undefined) controller.enqueue(part as LanguageModelV4StreamPart);
        return part;
      });
      const { result } = await run({ agent: agentOf(open, { limits: { [name]: 200 } }) });
      expect([result.status, result.report.content]).toEqual(['succeeded', 'done']);
    },
  );
});

describe('models that violate their types', () => {
  it.each([
    ['a call without a name', call(undefined as never), 'unknown_tool'],
    ['a call without an id', call('echo', { toolCallId: undefined, input: '[]' }), 'malformed_tool_call'],
    ['an input that is an object', call('strict', { input: { q: 1 } }), 'invalid_tool_input'],
    ['an object as input for a provider tool', call('web', { input: { q: 1 }, providerExecuted: true }), 'interrupted'],
  ])('C-1: %s is answered', async (_, odd, slug) => {
    const strict = tool({ inputSchema: z.object({ p: z.string() }), execute: echo });
    const model = modelOf([odd, finish], [reported('done'), finish]);
    const { result } = await run({ agent: agentOf(model, { tools: { echo, strict } }) });
    expect(result.turns[0]?.attempts[0]?.calls.map((one) => one.slug)).toEqual([slug]);
    expect(result.success).toBe(true);
  });

  it.each([
    ['negative', { inputTokens: { total: -5 }, outputTokens: { total: -1, reasoning: -3 } }],
    ['not a number', { inputTokens: { total: Number.NaN }, outputTokens: { total: '7' } }],
    ['missing', undefined],
  ])('S-4: usage that is %s counts as zero', async (_, odd) => {
    const model = modelOf([reported('done'), { ...finish, usage: odd }]);
    const { result } = await run({ agent: agentOf(model) });
    expect(result.success).toBe(true);
    expect(result.counters.tokens).toEqual({ input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 });
  });

  it('C-1: a tool-input-start part is enough to mark a call as provider-executed', async () => {
    const model = modelOf(
      [
        { type: 'tool-input-start', id: 'a', toolName: 'echo', providerExecuted: true },
        { type: 'tool-input-end', id: 'a' },
        call('echo'),
        { type: 'tool-result', toolCallId: 'a', toolName: 'echo', result: 'theirs' },
        finish,
      ],
      [reported('done'), finish],
    );
    let ran = 0;
    const tools = { echo: () => (ran += 1) };
    const { result } = await run({ agent: agentOf(model, { tools }) });
    expect(ran).toBe(0);
    expect(result.conversation.filter(({ role }) => role === 'tool')).toHaveLength(1);
  });

  it('B-3 B-5: provider-executed tools on the last turn do not count as progress', async () => {
    const searched = [
      call('web', { providerExecuted: true }),
      { type: 'tool-result', toolCallId: 'a', toolName: 'web', result: 1 },
      finish,
    ];
    const { result, warnings } = await run({
      agent: agentOf(modelOf(searched), { limits: { maxTurns: 1, maxRetries: 3 } }),
    });
    expect(result.counters.requests).toBe(3);
    expect(warnings).toHaveLength(3);
    expect(result.slugs).toContain('tool_not_permitted');
  });

  it('a stream that arrives after its timeout is cancelled', async () => {
    const model = modelOf([reported('late'), finish]);
    const { doStream } = model;
    const { promise: cancelled, resolve } = Promise.withResolvers<void>();
    model.doStream = async (options) => {
      await new Promise((done) => setTimeout(done, 150));
      const result = await doStream.call(model, options);
      return { ...result, stream: new ReadableStream({ cancel: () => resolve() }) };
    };
    const limits = { maxTurns: 1, maxRetries: 1, modelTimeoutMs: 50 };
    const { result } = await run({ agent: agentOf(model, { limits }) });
    expect(result.slugs).toContain('provider_timeout');
    await cancelled;
  });

  it('S-4: a tool result that arrives after the session ends does not change its counters', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<string>();
    const slow = () => held;
    const { result } = await run({
      agent: agentOf(modelOf([call('slow'), finish]), { tools: { slow } }),
      during: (event, session) => {
        if (event.type === 'tool.started') session.abort('enough');
      },
    });
    release('late');
    await new Promise((done) => setTimeout(done, 20));
    expect(result.counters.lateResults).toBe(0);
  });

  it('a stream that always has a part ready still times out', async () => {
    let count = 0;
    const next = () => {
      count += 1;
      return `${count} `;
    };
    const endless = modelOf((controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: next() }));
    const { result } = await run({
      agent: agentOf(endless, { limits: { maxTurns: 1, maxRetries: 1, modelTimeoutMs: 100 } }),
    });
    expect(result.slugs).toContain('provider_timeout');
  });

  it('the idle timeout does not apply to a response that is not streamed', async () => {
    const model = rehearsalModel([report()]);
    const { doGenerate } = model;
    model.doGenerate = async (options) => {
      await new Promise((resolve) => setTimeout(resolve, 250));
      return doGenerate.call(model, options);
    };
    const limits = { modelTimeoutMs: 5_000, modelIdleTimeoutMs: 50 };
    const { result } = await run({ agent: agentOf(model, { settings: { streaming: false }, limits }) });
    expect(result.counters.failedAttempts).toBe(0);
  });

  it('T-6: if the model reports no usage, dropped results are not counted either', async () => {
    const uncounted = { ...finish, usage: { inputTokens: {}, outputTokens: {} } };
    const replies = [...Array.from({ length: 15 }, () => [call('long'), uncounted]), [reported('done'), uncounted]];
    const { result, events } = await run({
      agent: agentOf(modelOf(...replies), {
        tools: { long: () => 'word '.repeat(400) },
        limits: { maxTurns: 30, contextWindow: 4_000 },
      }),
    });
    expect(result.counters.turns).toBe(16);
    expect(events.filter(({ type }) => type === 'session.collapsed')).toEqual([]);
  });
});

describe('B-2: a model that answers too late', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['no stream', {}],
    ['a stream of another kind', { stream: (async function* () {})() }],
    [
      'what throws',
      {
        get stream() {
          throw new Error('no');
        },
      },
    ],
  ])('with %s has cost its attempt, and harms nothing', async (_, answer) => {
    const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
    const late = {
      ...rehearsalModel([]),
      doStream: ({ abortSignal }: { abortSignal: AbortSignal }) => {
        abortSignal.addEventListener('abort', () => end(answer), { once: true });
        return ended;
      },
    };
    const limits = { modelTimeoutMs: 50, maxRetries: 1 };
    const { result } = await run({ agent: agentOf(late as never, { limits }) });
    expect([result.status, result.slugs]).toEqual(['failed', ['retries_exhausted', 'provider_timeout']]);
    // An exception would end the process by then.
    await new Promise(setImmediate);
  });

  it('with a stream of another class has it cancelled', async () => {
    const { promise: ended, resolve: end } = Promise.withResolvers<unknown>();
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>();
    const doStream = ({ abortSignal }: { abortSignal: AbortSignal }) => {
      abortSignal.addEventListener('abort', () => end({ stream: { cancel } }), { once: true });
      return ended;
    };
    const limits = { modelTimeoutMs: 50, maxRetries: 1 };
    await run({ agent: agentOf({ ...rehearsalModel([]), doStream } as never, { limits }) });
    await cancelled;
  });
});
