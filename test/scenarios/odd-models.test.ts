import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent, slice, startSession } from '../../src/index.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { keptLog, report, run, runOverWire } from '../support/session.ts';

type Part = object;
type Push = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>) => unknown;
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };
const finish = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_calls' }, usage };
const call = (toolName: string, over: object = {}) => ({
  type: 'tool-call',
  toolCallId: 'a',
  toolName,
  input: '{}',
  ...over,
});
const reported = (content: string) => call('final_report', { input: JSON.stringify({ content }) });

/** An in-process model that streams the given parts, even if they don't form a valid reply. */
function modelOf(...replies: (Part[] | Push)[]): LanguageModelV4 {
  const model = rehearsalModel([]);
  let next = 0;
  model.doStream = async () => {
    const reply = replies[Math.min(next, replies.length - 1)] ?? [];
    next += 1;
    const parts = [...(typeof reply === 'function' ? [] : reply)];
    const pushNext: Push = (controller) => {
      const part = parts.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part as LanguageModelV4StreamPart);
    };
    const push = typeof reply === 'function' ? reply : pushNext;
    return { stream: new ReadableStream({ pull: (controller) => void push(controller) }) };
  };
  return model;
}

const agentOf = (model: LanguageModelV4, over: Partial<AgentDefinition> = {}) =>
  defineAgent({ name: 'tested', models: [model], ...over });
const echo = () => 'echoed';

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
    const endless = modelOf((controller) => controller.enqueue({ type: 'text-delta', id: '1', delta: 'x' }));
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

describe('callers that violate the types', () => {
  const agent = agentOf(rehearsalModel([report()]));
  it.each<[object, string]>([
    [{ signal: null }, '`signal` must be an AbortSignal; got null.'],
    [{ signal: {} }, '`signal` must be an AbortSignal; got {}.'],
    [{ clock: {} }, '`clock` must be a clock: { now, sleepUntil, alarm }; got {}.'],
    [{ logger: 'x' }, '`logger` must be a pino logger; got "x".'],
    [{ onEvent: 'x' }, '`onEvent` must be a function; got "x".'],
    [{ inspect: 5 }, '`inspect` must be a function; got 5.'],
    [{ onDelivery: 5 }, '`onDelivery` must be a function; got 5.'],
    [{ random: 5 }, '`random` must be a function; got 5.'],
    [{ sessionId: ' ' }, '`sessionId` must be a string that is not blank; got " ".'],
  ])('%s is refused before anything runs', (options, message) => {
    expect(() => startSession(agent, { prompt: 'x', ...options } as never)).toThrow(message);
  });

  it.each<[object, object]>([
    [
      { type: 'image-data', data: 'aGk=', mediaType: 'image/png' },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
    ],
    [
      { type: 'file-url', url: 'https://example.com/a.pdf' },
      { type: 'file', mediaType: '*/*', data: { type: 'url', url: 'https://example.com/a.pdf' } },
    ],
    [{ type: 'custom' }, { type: 'text', text: '[unsupported content: custom]' }],
  ])('C-6: an SDK tool result with %o is accepted', async (piece, kept) => {
    const messages = [
      { role: 'user', content: 'x' },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'a', toolName: 't', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'a', toolName: 't', output: { type: 'content', value: [piece] } }],
      },
    ];
    const { result } = await run({ agent, options: { messages: messages as never } });
    expect(result.conversation[2]).toMatchObject({ content: [{ output: { type: 'content', value: [kept] } }] });
  });

  it('C-6: SDK approval parts are dropped, and their call is answered', async () => {
    const messages = [
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'a', toolName: 't', input: {} },
          { type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' },
        ],
      },
      { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'p', approved: true }] },
    ];
    const { result } = await run({
      agent: agentOf(rehearsalModel([report()])),
      options: { messages: messages as never },
    });
    expect(result.conversation.slice(1, 3)).toMatchObject([
      { role: 'assistant', content: [{ type: 'tool-call' }] },
      { role: 'tool', content: [{ output: { type: 'error-text', value: expect.stringContaining('interrupted') } }] },
    ]);
  });

  it.each([
    ['an error', new Error('boom'), 'boom'],
    ['an object without a string form', Object.create(null), '{}'],
  ])('S-3: an abort with %s as its reason logs one ERROR line', async (_, reason, said) => {
    const { lines, logger } = keptLog();
    const hanging = agentOf(rehearsalModel([{ hangs: true }]));
    const session = startSession(hanging, { prompt: 'x', logger });
    session.abort(reason as never);
    const result = await session.result;
    expect(result.failure?.detail).toBe(said);
    expect(lines.filter(({ level }) => level === 50)).toHaveLength(1);
  });

  const never = () => new Promise<never>(() => undefined);
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const odd = {
    name: 'odd',
    description: '',
    contentSchema: {},
    validate: never,
    parseText: () => ({ ok: false, reasons: '' }) as const,
  };
  it.each<[string, Partial<AgentDefinition>]>([
    ['a policy', { toolPolicies: [never], tools: { echo } }],
    ['the instructions function', { instructions: never }],
    ['a report validator', { report: { format: odd } }],
  ])('D-2: an abort while %s hangs leaves no timer behind', async (_, over) => {
    const before = timers();
    const model = modelOf([over.tools === undefined ? reported('done') : call('echo'), finish]);
    const session = startSession(agentOf(model, over), { prompt: 'x', logger: keptLog().logger });
    await new Promise((resolve) => setTimeout(resolve, 30));
    session.abort();
    expect((await session.result).status).toBe('aborted');
    expect(timers()).toBeLessThanOrEqual(before);
  });

  it('rejections in slices and observers are reported and break nothing', async () => {
    const late = () => Promise.reject(new Error('late'));
    const { result, events } = await runOverWire({
      script: [report()],
      definition: { slices: { folded: slice(0, late as never) } },
      options: { inspect: late as never, onDelivery: late as never },
    });
    expect(result.success).toBe(true);
    expect(result.slices).toEqual({ folded: 0 });
    const failed = events.flatMap((event) => (event.type === 'observer.failed' ? [event.observer] : []));
    expect(new Set(failed)).toEqual(new Set(['slice folded', 'inspect', 'onDelivery']));
  });
});
