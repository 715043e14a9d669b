import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Agent, type AgentDefinition, defineAgent, PawlError, type SessionEvent } from '../../src/index.ts';
import { type OpenaiOptions, openaiHandler } from '../../src/openai/openai-handler.ts';
import { type RehearsalScript, rehearsalModel } from '../../src/testing/index.ts';
import { keptLog, report } from '../support/session.ts';
import { guarded } from '../support/tools.ts';

const agentOf = (replies: RehearsalScript, over: Partial<AgentDefinition> = {}): Agent =>
  defineAgent({ name: 'texter', models: [rehearsalModel(replies)], finish: 'text', ...over } as AgentDefinition);
const messages = [{ role: 'user', content: 'Say it.' }];
const request = (path: string, method = 'GET', body?: string | ReadableStream) =>
  new Request(`http://x.test/v1${path}`, {
    method,
    ...(body !== undefined && { body, duplex: 'half' }),
  } as RequestInit);
const completion = (more: object = {}) =>
  request('/chat/completions', 'POST', JSON.stringify({ model: 'texter', messages, ...more }));
const handlerOf = (agents: readonly Agent[], options: OpenaiOptions = {}) =>
  openaiHandler(agents, { logger: false, ...options });
const refusalOf = async (response: Response) => {
  const { error } = (await response.json()) as {
    error: { message: string; type: string; code: unknown; param: unknown };
  };
  return [response.status, error.message, error.type, error.code];
};
const mostBytes = 32 * 1_024 * 1_024;

describe('what openaiHandler is given', () => {
  const agent = agentOf([]);

  it.each<[unknown, unknown, string]>([
    [undefined, {}, '`agents` is required: an array of at least one agent.'],
    [[], {}, '`agents` must be an array of at least one agent; got [].'],
    [[agent, { name: 'x' }], {}, '`agents[1]` must be an agent made by defineAgent; got {"name":"x"}.'],
    [[agent, agent], {}, '`agents` must have distinct names; got "texter" twice.'],
    [[agent], { retries: 3 }, 'Unknown option `options.retries`.'],
    [[agent], 7, '`options` must be'],
  ])('is checked: %#', (agents, options, message) => {
    const refused = () => openaiHandler(agents as Agent[], options as OpenaiOptions);
    expect(refused).toThrow(PawlError);
    expect(refused).toThrow(
      expect.objectContaining({ code: 'invalid_options', message: expect.stringContaining(message) }),
    );
  });
});

describe('the models of the API', () => {
  it('are the agents, since this server was made', async () => {
    const before = Math.floor(Date.now() / 1_000);
    const handler = handlerOf([agentOf([]), agentOf([], { name: 'other' })]);
    const list = (await (await handler(request('/models'))).json()) as { data: { created: number }[] };
    const entry = (id: string) => ({ id, object: 'model', created: expect.any(Number), owned_by: 'pawl' });
    expect(list).toEqual({ object: 'list', data: [entry('texter'), entry('other')] });
    const created = list.data[0]?.created ?? 0;
    expect(created >= before && created <= Date.now() / 1_000).toBe(true);
    expect(await (await handler(request('/models/other'))).json()).toEqual(entry('other'));
  });

  it.each<[string, string, unknown[]]>([
    [
      '/models/absent',
      'GET',
      [404, 'There is no model "absent". Models: texter, other.', 'invalid_request_error', null],
    ],
    ['/models/a/b', 'GET', [404, 'There is nothing at /v1/models/a/b.', 'invalid_request_error', null]],
    ['/models', 'POST', [404, 'There is nothing at /v1/models.', 'invalid_request_error', null]],
    ['/chat/completions', 'GET', [405, 'Send POST to /v1/chat/completions.', 'invalid_request_error', null]],
  ])('%s by %s is refused', async (path, method, expected) => {
    const handler = handlerOf([agentOf([]), agentOf([], { name: 'other' })]);
    expect(await refusalOf(await handler(request(path, method)))).toEqual(expected);
  });
});

describe('the body of a request', () => {
  it('that is no JSON is refused with the reason', async () => {
    const [status, message] = await refusalOf(
      await handlerOf([agentOf([])])(request('/chat/completions', 'POST', '{')),
    );
    expect(status).toBe(400);
    expect(message).toMatch(/^The body is not JSON: .+\.$/);
    const none = await refusalOf(await handlerOf([agentOf([])])(request('/chat/completions', 'POST')));
    expect(none[1]).toMatch(/^The body is not JSON: /);
  });

  it('has at most 32 MiB', async () => {
    const text = JSON.stringify({ model: 'texter', messages });
    const bodyOf = (length: number) => {
      const bytes = new TextEncoder().encode(text.padEnd(length));
      return new ReadableStream({
        start(controller) {
          for (let at = 0; at < length; at += 4_000_000) controller.enqueue(bytes.slice(at, at + 4_000_000));
          controller.close();
        },
      });
    };
    const handler = handlerOf([agentOf([{ text: 'So.' }])]);
    expect((await handler(request('/chat/completions', 'POST', bodyOf(mostBytes)))).status).toBe(200);
    expect(await refusalOf(await handler(request('/chat/completions', 'POST', bodyOf(mostBytes + 1))))).toEqual([
      413,
      'The body is larger than 33554432 bytes.',
      'invalid_request_error',
      null,
    ]);
  });

  it('names the field that cannot be used', async () => {
    const { error } = (await (await handlerOf([agentOf([])])(completion({ model: 'absent' }))).json()) as {
      error: { param: string };
    };
    expect(error.param).toBe('model');
  });
});

describe('the sessions of a handler', () => {
  it('have a context if an agent needs one', () => {
    const agent = agentOf([], { contextSchema: z.object({ user: z.string() }) });
    const refused = expect.objectContaining({
      code: 'invalid_options',
      message: expect.stringContaining('`context ('),
    });
    expect(() => handlerOf([agent])).toThrow(refused);
  });

  it('get the metadata and the context of their request, which is checked before anything runs', async () => {
    const heard: [SessionEvent, { metadata: object; context: unknown }][] = [];
    const onEvent: OpenaiOptions['onEvent'] = (event, session) => void heard.push([event, session]);
    const agent = agentOf([{ text: 'So.' }], { contextSchema: z.object({ user: z.string() }) });
    const handler = handlerOf([agent], {
      onEvent,
      metadata: async () => ({ tenant: 't' }),
      context: async (given) => ({ user: given.headers.get('x-user') ?? undefined }),
    });
    const good = completion();
    good.headers.set('x-user', 'ada');
    expect((await handler(good)).status).toBe(200);
    expect(heard[0]?.[1]).toEqual({ metadata: { tenant: 't' }, context: { user: 'ada' } });
    const before = heard.length;
    const [status, message, type, code] = await refusalOf(await handler(completion()));
    expect([status, type, code, heard.length]).toEqual([500, 'server_error', 'context_failed', before]);
    expect(message).toBe('The server could not accept the request.');
    const bare = handlerOf([agentOf([{ text: 'So.' }])], { onEvent });
    await bare(completion());
    expect(heard.at(-1)?.[1]).toEqual({ metadata: {}, context: undefined });
  });

  it('without content are refused, and are not the fault of the server', async () => {
    const { lines, logger } = keptLog();
    const empty = [{ role: 'assistant', content: '' }];
    const refusal = await refusalOf(await handlerOf([agentOf([])], { logger })(completion({ messages: empty })));
    expect(refusal.slice(0, 2)).toEqual([400, '`messages` must hold at least one message with content; got none.']);
    expect(lines).toEqual([]);
  });

  it.each([{}, { context: () => null }])(
    'with a body that is too large are refused, and it is left: %#',
    async (options) => {
      const cancelled = Promise.withResolvers<void>();
      const body = new ReadableStream({
        pull: (controller) => controller.enqueue(new Uint8Array(4_000_000)),
        cancel: () => cancelled.resolve(),
      });
      const response = await handlerOf([agentOf([])], options)(request('/chat/completions', 'POST', body));
      expect(response.status).toBe(413);
      await cancelled.promise;
    },
  );

  it('of a client that breaks off are not the fault of the server', async () => {
    const { lines, logger } = keptLog();
    const body = new ReadableStream({ start: (controller) => controller.error(new Error('reset')) });
    const broken = request('/chat/completions', 'POST', body);
    const refusal = await refusalOf(await handlerOf([agentOf([])], { logger })(broken));
    expect(refusal.slice(0, 2)).toEqual([400, 'The body could not be read: reset.']);
    expect(lines).toEqual([]);
  });

  it('may have the body read by those functions, too', async () => {
    const contexts: unknown[] = [];
    const handler = handlerOf([agentOf([{ text: 'So.' }])], {
      context: async (given) => ((await given.json()) as { model: string }).model,
      onEvent: (_, { context }) => void contexts.push(context),
    });
    expect((await handler(completion())).status).toBe(200);
    expect(contexts[0]).toEqual(expect.any(String));
  });

  it('a failure of those functions is an error of the server, which is logged', async () => {
    const lines: unknown[] = [];
    const quiet = () => {};
    const error = (...line: unknown[]) => void lines.push(line);
    const handler = handlerOf([agentOf([])], {
      logger: { debug: quiet, info: quiet, warn: quiet, error },
      metadata: () => Promise.reject(new Error('no database')),
    });
    expect(await refusalOf(await handler(completion()))).toEqual([
      500,
      'The server could not accept the request.',
      'server_error',
      'context_failed',
    ]);
    const fields = { event: 'context.threw', error: expect.stringContaining('no database') };
    expect(lines).toEqual([[fields, 'context(), metadata() or authorize() failed']]);
  });

  it('beyond the most that may run are refused for now', async () => {
    const held = Promise.withResolvers<string>();
    const handler = handlerOf(
      [agentOf([{ calls: [{ name: 'wait' }] }, { text: 'So.' }], { tools: { wait: () => held.promise } })],
      {
        maxSessions: 1,
      },
    );
    const first = handler(completion());
    const response = await handler(completion());
    expect(response.headers.get('retry-after')).toBe('5');
    const [status, message, type, code] = await refusalOf(response);
    expect([status, type, code]).toEqual([429, 'rate_limit_error', 'too_many_sessions']);
    expect(message).toContain('maxSessions');
    held.resolve('done');
    expect((await first).status).toBe(200);
    await handler.ended();
  });

  it('deny calls that need approval, and reject calls that a client would have to run', async () => {
    const heard: SessionEvent[] = [];
    const page = { description: 'A page.', inputSchema: z.object({}) } as never;
    const calls = [
      { name: 'guarded', input: { path: 'a' } },
      { name: 'page', input: {} },
    ];
    const handler = handlerOf([agentOf([{ calls }, { text: 'So.' }], { tools: { guarded, page } })], {
      onEvent: (event) => void heard.push(event),
    });
    expect((await handler(completion())).status).toBe(200);
    const answers = heard.flatMap((event) =>
      event.type === 'tool.answered' ? [[event.name, event.slug, JSON.stringify(event.output)]] : [],
    );
    expect(answers.toSorted()).toEqual([
      ['guarded', 'tool_denied', expect.stringContaining('No one can be asked for approval here.')],
      ['page', 'tool_exec_failed', expect.stringContaining('This client executes no tools.')],
    ]);
  });
});

describe('an answer in pieces', () => {
  const textOf = async (response: Response) => {
    const events = (await response.text()).split('\n\n').filter((line) => line.startsWith('data: {'));
    const pieces = events.map((line) => JSON.parse(line.slice(6)));
    return pieces.map(({ choices }) => choices?.[0]?.delta?.content ?? '').filter((text) => text !== '');
  };

  it('is a stream of events that no cache or proxy holds', async () => {
    const response = await handlerOf([agentOf([{ text: 'So it is.' }])])(completion({ stream: true }));
    expect([...response.headers]).toEqual([
      ['cache-control', 'no-cache'],
      ['content-type', 'text/event-stream; charset=utf-8'],
      ['x-accel-buffering', 'no'],
    ]);
    const text = await response.text();
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  it.each<[string, Partial<AgentDefinition>, RehearsalScript]>([
    ['comes as it is said, if it is the report', { report: { format: 'markdown' } }, [{ text: 'So it is.' }]],
    [
      'comes at the end, if the report is another',
      { finish: 'report' } as never,
      [{ text: 'Not yet.', calls: report('So it is.').calls } as never],
    ],
  ])('%s', async (_, over, replies) => {
    const response = await handlerOf([agentOf(replies, over)])(completion({ stream: true }));
    expect((await textOf(response)).join('')).toBe('So it is.');
  });

  it('ends when its client goes away, and so does its session', async () => {
    const begun = Promise.withResolvers<AbortSignal>();
    const wait = (_: unknown, { signal }: { signal: AbortSignal }) =>
      new Promise<string>((resolve) => {
        begun.resolve(signal);
        signal.addEventListener('abort', () => resolve('stopped'), { once: true });
      });
    const ends: unknown[] = [];
    const handler = handlerOf([agentOf([{ calls: [{ name: 'wait' }] }], { tools: { wait } })], {
      onEvent: (event) => event.type === 'session.aborted' && ends.push(event.failure.detail),
    });
    const response = await handler(completion({ stream: true }));
    const reader = response.body?.getReader();
    await reader?.read();
    const signal = await begun.promise;
    await reader?.cancel();
    await handler.ended();
    expect([signal.aborted, ends]).toEqual([true, ['the client vanished']]);
  });
});
