import { createGoogleGenerativeAI } from '@ai-sdk/google';
import { tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentDefinition, defineAgent } from '../../src/index.ts';
import { classifyFault } from '../../src/model/faults.ts';
import { NamedFiles } from '../../src/model/prompt/files.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { service } from '../support/service.ts';
import { callsIn, counters, report, run } from '../support/session.ts';

const pixel = 'aGk=';
const fail = () => {
  throw new Error('unreadable');
};
const usage = { inputTokens: { total: 10 }, outputTokens: { total: 5 } };
const stop = { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage };

/** A model that streams these parts, and one that answers with them at once. */
const modelOf = (parts: readonly object[]) => ({
  ...{ specificationVersion: 'v4', provider: 'odd', modelId: 'm', supportedUrls: {} },
  doStream: async () => ({
    stream: new ReadableStream({
      start(controller) {
        for (const part of parts) controller.enqueue(part);
        controller.close();
      },
    }),
  }),
  doGenerate: () => Promise.reject(new Error('not asked')),
});

const talking = (model: unknown, over: Partial<AgentDefinition> = {}) =>
  defineAgent({
    name: 'odd',
    models: [model as never],
    finish: 'text',
    limits: { maxTurns: 1, maxRetries: 1 },
    ...over,
  });

const done = (tokens: object) =>
  counters({
    ...{ turns: 1, attempts: 1, costUsd: null, tokens: { input: 10, output: 5, ...tokens } },
    ...{ notices: 1, reports: { attempted: 1 } },
  });

describe('P-4: parts that a badly typed model sends cost no reply', () => {
  const text = [
    { type: 'text-start', id: '0' },
    { type: 'text-delta', id: '0', delta: 'All done.' },
    { type: 'text-end', id: '0' },
  ];
  it.each([
    [
      'no metadata',
      [{ ...text[0] }, { ...text[1], providerMetadata: null }, { ...text[2], providerMetadata: null }, stop],
    ],
    ['a delta without a text', [text[0], { type: 'text-delta', id: '0' }, ...text.slice(1), stop]],
    ['a delta of null', [text[0], { type: 'text-delta', id: '0', delta: null }, ...text.slice(1), stop]],
    ['a part that is null', [null as never, ...text, stop]],
    ['warnings that are no list', [{ type: 'stream-start', warnings: 7 }, ...text, stop]],
    ['a file without data', [{ type: 'file', mediaType: 'image/png' }, ...text, stop]],
    ['a file of an earlier specification', [{ type: 'file', mediaType: 'image/png', data: pixel }, ...text, stop]],
    ['no warnings', [{ type: 'stream-start' }, ...text, stop]],
    ['a bigint in an unknown part', [{ type: 'unheard-of', value: 1n }, ...text, stop]],
    [
      'metadata that cannot be read',
      [
        {
          ...text[0],
          providerMetadata: { odd: Object.defineProperty({}, 'x', { enumerable: true, get: () => fail() }) },
        },
        ...text.slice(1),
        stop,
      ],
    ],
    ['a bigint in metadata', [{ ...text[0], providerMetadata: { odd: { at: 1n } } }, ...text.slice(1), stop]],
    ['a second end without usage', [...text, stop, { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' } }]],
    ['an end whose usage counts nothing', [...text, stop, { ...stop, usage: { inputTokens: {}, outputTokens: {} } }]],
    [
      'usage without totals',
      [
        ...text,
        { ...stop, usage: { inputTokens: { noCache: 7, cacheRead: 3 }, outputTokens: { text: 4, reasoning: 1 } } },
      ],
    ],
  ])('%s', async (what, parts) => {
    const { result } = await run({ agent: talking(modelOf(parts as object[])) });
    expect(result.report.content).toBe('All done.');
    expect(result.counters).toEqual(done(what === 'usage without totals' ? { cacheRead: 3, reasoning: 1 } : {}));
  });

  it('an input that comes without its text is that of its call', async () => {
    const call = { toolCallId: 'a', toolName: 'look', providerExecuted: true };
    const input = [
      { type: 'tool-input-start', id: 'a', toolName: 'look', providerExecuted: true },
      { type: 'tool-input-delta', id: 'a' },
      { type: 'tool-call', ...call, input: '{"at":1}' },
      { type: 'tool-result', ...call, result: 1 },
    ];
    const { result } = await run({ agent: talking(modelOf([...input, ...text, stop])) });
    expect([result.report.content, result.counters.failedAttempts]).toEqual(['All done.', 0]);
    expect(JSON.stringify(result.conversation)).toContain('"input":{"at":1}');
  });

  it('the body of a whole response is no part of the reply, and does not count towards `replyBytes`', async () => {
    const said = 'a'.repeat(1_500);
    const model = {
      ...modelOf([]),
      doGenerate: async () => ({
        content: [{ type: 'text', text: said }],
        ...{ finishReason: stop.finishReason, usage, warnings: [] },
        response: { id: '1', body: { choices: [{ message: { content: said } }] }, headers: { 'x-long': said } },
      }),
    };
    const limits = { replyBytes: 2_500, maxTurns: 1, maxRetries: 1 };
    const { result } = await run({ agent: talking(model, { settings: { streaming: false }, limits }) });
    expect(result.report.content).toBe(said);
    expect(result.counters).toEqual(done({}));
  });
});

describe('C-6: files that cannot be had', () => {
  const shot = (url: string) =>
    tool({
      inputSchema: z.object({}),
      execute: () => 1,
      toModelOutput: () => ({ type: 'content', value: [{ type: 'image-url', url }] }),
    });
  /** Runs a tool whose result names a file, and returns what the model read of it. */
  const shown = async (url: string) => {
    const model = rehearsalModel([{ calls: [{ name: 'shot' }] }, report()]);
    const tools = { shot: shot(url) };
    const agent = defineAgent({ name: 'seeing', models: [model], tools, downloads: { allowPrivate: true } });
    const { result } = await run({ agent });
    expect(result.counters).toMatchObject({ turns: 2, attempts: 2, failedAttempts: 0, toolCalls: { succeeded: 1 } });
    expect(callsIn(result)[0]?.output).toMatchObject({ value: [{ type: 'file', data: { type: 'url', url } }] });
    return JSON.stringify(model.requests[1]?.prompt.at(-1));
  };

  it('one of a tool becomes a text: it would stand in every later prompt', async () => {
    await using host = await service(({ url }, response) => response.writeHead(Number(url.slice(1))).end());
    expect(await shown(`${host.url}/404`)).toContain('could not be downloaded: it answered 404');
    expect(await shown('data:image/svg+xml;utf8')).toContain('is malformed');
  });

  it('one of a tool whose host is down is asked for twice; the user may send it again', async () => {
    const answers = [503, 503, 200];
    await using host = await service((_, response) =>
      response.writeHead(answers.shift() ?? 404, { 'content-type': 'image/png' }).end('png'),
    );
    const url = `${host.url}/a.png`;
    const seeing = (replies: Parameters<typeof rehearsalModel>[0]) =>
      defineAgent({
        ...{ name: 'seeing', models: [rehearsalModel(replies)], tools: { shot: shot(url) } },
        downloads: { allowPrivate: true },
      });
    const { result } = await run({ agent: seeing([{ calls: [{ name: 'shot' }] }, report()]), alarms: 'manual' });
    expect([result.success, result.counters.slugs]).toEqual([true, { provider_error: 1 }]);
    expect([result.counters.attempts, answers]).toEqual([3, [200]]);
    const files = new NamedFiles({ allowPrivate: true });
    const model = { supportedUrls: {} } as never;
    const still = new AbortController().signal;
    const file = { type: 'file' as const, mediaType: 'image/png', data: { type: 'url' as const, url } };
    const answer = { type: 'tool-result', toolCallId: 'c', toolName: 't', output: { type: 'content', value: [file] } };
    const tool = { role: 'tool', content: [answer] } as never;
    answers.splice(0, 1, 404, 200);
    await files.prepare(model, [tool], still);
    expect(files.resolved(file)).toMatchObject({ type: 'text' });
    // A model that fetches it itself gets the address.
    const fetching = { supportedUrls: { 'image/*': [/^http:/] } } as never;
    await files.prepare(fetching, [tool], still);
    expect(files.resolved(file)).toBe(file);
    await files.prepare(model, [tool, { role: 'user', content: [file] }], still);
    expect(files.resolved(file)).toMatchObject({ data: { type: 'data' } });
  });

  it('one of the user fails the request; a host that is down is asked again', async () => {
    const answers = [503, 200];
    await using host = await service((_, response) =>
      response.writeHead(answers.shift() ?? 404, { 'content-type': 'image/png' }).end('png'),
    );
    const seeing = () => {
      const model = rehearsalModel([report()]);
      const limits = { maxTurns: 1, maxRetries: 2 };
      const agent = defineAgent({ name: 'seeing', models: [model], downloads: { allowPrivate: true }, limits });
      const content = [{ type: 'file' as const, mediaType: 'image/png', data: `${host.url}/a.png` }];
      return run({ agent, options: { messages: [{ role: 'user', content }] }, alarms: 'manual' });
    };
    const { result } = await seeing();
    expect([result.success, result.counters.slugs]).toEqual([true, { provider_error: 1 }]);
    const { result: refused } = await seeing();
    expect(refused).toMatchObject({ success: false, slugs: ['no_targets', 'invalid_request'] });
  });

  it.each(['data:image/png;base64,aGVsbG8%3D', 'data:image/png;base64,aGVs\nbG8='])('%j is read', async (data) => {
    const model = rehearsalModel([report()]);
    const agent = defineAgent({ name: 'seeing', models: [model] });
    const content = [{ type: 'file' as const, mediaType: 'image/png', data }];
    await run({ agent, options: { messages: [{ role: 'user', content }] } });
    expect(JSON.stringify(model.requests[0]?.prompt)).toContain('"data":"aGVsbG8="');
  });

  it('a `data:` URL of the assistant goes out as its data, as the AI SDK sends it', async () => {
    const bodies: string[] = [];
    const google = createGoogleGenerativeAI({
      apiKey: 'k',
      fetch: async (_url, init) => {
        bodies.push(String(init?.body));
        return new Response('{}', { status: 400 });
      },
    });
    const { result } = await run({
      agent: talking(google('gemini-2.5-flash-image')),
      options: {
        messages: [
          { role: 'user', content: 'Draw.' },
          {
            role: 'assistant',
            content: [{ type: 'file', mediaType: 'image/png', data: 'data:image/png;base64,aGVsbG8=' }],
          },
          { role: 'user', content: 'Make it blue.' },
        ],
      },
    });
    expect(result.counters.requests).toBe(1);
    expect(bodies).toEqual([expect.stringContaining('"data":"aGVsbG8="')]);
  });
});

describe('P-1: faults by the names that providers and clients give them', () => {
  it.each([
    [{ error: { status: 'INVALID_ARGUMENT', message: 'no' } }, 'invalid_request'],
    [{ error: { status: 'UNAUTHENTICATED', message: 'no' } }, 'auth'],
    [{ error: { status: 'PERMISSION_DENIED', message: 'no' } }, 'auth'],
    [{ error: { status: 'RESOURCE_EXHAUSTED', message: 'no' } }, 'rate_limited'],
    [{ error: { status: 'UNAVAILABLE', message: 'no' } }, 'server'],
    [Object.assign(new Error('no key'), { status: 401 }), 'auth'],
    [Object.assign(new Error('slow down'), { status: 429 }), 'rate_limited'],
    [Object.assign(new Error('odd'), { status: 'no number' }), 'server'],
  ])('%j', (error, kind) => {
    expect(classifyFault(error, 0).kind).toBe(kind);
  });
});

describe('F-3: a JSON report of a schema that transforms', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['a set', z.array(z.string()).transform((list) => new Set(list)), ['a', 'b']],
    ['a map', z.array(z.string()).transform((list) => new Map([[list[0], 1]])), [['a', 1]]],
    ['a bigint', z.array(z.string()).transform((list) => BigInt(list.length)), '2'],
    ['a date', z.array(z.string()).transform(() => new Date(0)), '1970-01-01T00:00:00.000Z'],
  ])('%s keeps what it holds', async (_what, schema, content) => {
    const model = rehearsalModel([report(['a', 'b'])]);
    const { result } = await run({
      agent: defineAgent({ name: 'a', models: [model], report: { format: 'json', schema } }),
    });
    expect(result).toMatchObject({ success: true, report: { content } });
    expect(result.counters.attempts).toBe(1);
  });
});
