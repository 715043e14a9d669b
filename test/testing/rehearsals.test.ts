import { getEventListeners } from 'node:events';
import type { LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type RehearsedReply, rehearsalModel } from '../../src/testing/index.ts';

const user = (...texts: string[]) => ({
  role: 'user' as const,
  content: texts.map((text) => ({ type: 'text' as const, text })),
});
const options = (more: object = {}): LanguageModelV4CallOptions => ({ prompt: [user('Hi.')], ...more });
async function streamed(reply: RehearsedReply, more: object = {}) {
  const parts: object[] = [];
  for await (const part of (await rehearsalModel([reply]).doStream(options(more))).stream) parts.push(part);
  return parts;
}
const generated = (reply: RehearsedReply) => rehearsalModel([reply]).doGenerate(options());

it.each<[string, RehearsedReply, string]>([
  ['breaks', { breaks: new Error('reset') }, 'reset'],
  ['is cut off', { cut: true }, 'terminated: the response was cut off'],
])('a reply that %s fails where it does not stream', async (_what, reply, message) => {
  await expect(generated(reply)).rejects.toThrow(message);
});

it('a delay is one that a timer can wait', () => {
  expect(() => rehearsalModel([{ delayMs: 30 * 24 * 3_600_000 }])).toThrow('`script[0].delayMs`');
  expect(() => rehearsalModel([{ delayMs: -1 }])).toThrow('`script[0].delayMs`');
});

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
};
const finish = (unified: string) => ({ type: 'finish', finishReason: { unified, raw: unified }, usage });

describe('a rehearsed reply', () => {
  it('streams its reasoning, its text and its calls', async () => {
    const calls = [{ name: 'look' }, { name: 'read', input: '{"cut', id: 'own' }, { name: 'read', input: { a: 1 } }];
    expect(await streamed({ text: 'So.', reasoning: 'Hm.', calls })).toEqual([
      { type: 'stream-start', warnings: [] },
      ...[
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'Hm.' },
        { type: 'reasoning-end', id: '0' },
      ],
      ...[
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'So.' },
        { type: 'text-end', id: '1' },
      ],
      ...[
        ['call-1-0', 'look', '{}'],
        ['own', 'read', '{"cut'],
        ['call-1-2', 'read', '{"a":1}'],
      ].flatMap(([id, toolName, input]) => [
        { type: 'tool-input-start', id, toolName },
        { type: 'tool-input-delta', id, delta: input },
        { type: 'tool-input-end', id },
        { type: 'tool-call', toolCallId: id, toolName, input },
      ]),
      finish('tool-calls'),
    ]);
  });

  it.each<[string, RehearsedReply, object[]]>([
    ['is empty', {}, [finish('stop')]],
    ['has its own finish reason', { finishReason: 'length' }, [finish('length')]],
    ['has that of no calls', { calls: [] }, [finish('stop')]],
    ['breaks with an error', { breaks: 'reset' }, [{ type: 'error', error: 'reset' }]],
    ['is cut', { cut: true }, []],
    [
      'takes its own tokens',
      { usage: { input: 100, output: 50, reasoning: 20, cacheRead: 30, cacheWrite: 10 } },
      [
        {
          ...finish('stop'),
          usage: {
            inputTokens: { total: 100, noCache: 60, cacheRead: 30, cacheWrite: 10 },
            outputTokens: { total: 50, text: 30, reasoning: 20 },
          },
        },
      ],
    ],
  ])('%s', async (_, reply, parts) => {
    expect(await streamed(reply)).toEqual([{ type: 'stream-start', warnings: [] }, ...parts]);
  });

  it('comes as a whole too', async () => {
    expect(await generated({ text: 'So.', calls: [{ name: 'look' }] })).toEqual({
      content: [
        { type: 'text', text: 'So.' },
        { type: 'tool-call', toolCallId: 'call-1-0', toolName: 'look', input: '{}' },
      ],
      ...{ finishReason: { unified: 'tool-calls', raw: 'tool-calls' }, usage, warnings: [] },
    });
  });

  it('may be an error instead, before anything is sent', async () => {
    for (const ask of [streamed, generated]) await expect(ask({ throws: new Error('no') })).rejects.toThrow('no');
  });
});

describe('a model that rehearses', () => {
  it('follows its script, whose last reply repeats, and remembers what it was asked', async () => {
    const model = rehearsalModel([{ text: 'One.' }, { text: 'Two.' }], { provider: 'own', modelId: 'm' });
    const texts: unknown[] = [];
    for (let index = 0; index < 3; index += 1) texts.push(...(await model.doGenerate(options())).content);
    expect(texts).toMatchObject([{ text: 'One.' }, { text: 'Two.' }, { text: 'Two.' }]);
    expect(model.requests.map(({ index, tools, notice }) => [index, tools, notice])).toEqual([
      [0, [], null],
      [1, [], null],
      [2, [], null],
    ]);
    expect([model.provider, model.modelId, model.specificationVersion]).toEqual(['own', 'm', 'v4']);
    const bare = rehearsalModel([]);
    expect([bare.provider, bare.modelId]).toEqual(['rehearsal', 'script']);
    expect((await bare.doGenerate(options())).content).toEqual([]);
  });

  it('may decide by what it is asked', async () => {
    const model = rehearsalModel(({ index, tools, notice }) => ({ text: `${index} ${tools} ${notice}` }));
    const tools = [{ type: 'function', name: 'look', inputSchema: {} }];
    const said = async (more: object) => (await model.doGenerate(options(more))).content[0];
    expect(await said({ tools })).toMatchObject({ text: '0 look null' });
    const notice = user('system notice: ', 'Hurry.');
    expect(await said({ prompt: [notice] })).toMatchObject({ text: '1  system notice: Hurry.' });
    const image = { type: 'file', mediaType: 'image/png', data: { type: 'data', data: '' } };
    expect(await said({ prompt: [{ role: 'user', content: [image, ...notice.content] }] })).toMatchObject({
      text: '2  system notice: Hurry.',
    });
    expect(await said({ prompt: [notice, { role: 'assistant', content: [] }] })).toMatchObject({ text: '3  null' });
    expect(await said({ prompt: [] })).toMatchObject({ text: '4  null' });
  });
});

describe('a reply that takes its time', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());
  const isOver = async (promise: PromiseLike<unknown>) => {
    let over = false;
    void promise.then(
      () => {
        over = true;
      },
      () => {
        over = true;
      },
    );
    await vi.advanceTimersByTimeAsync(0);
    return over;
  };

  it('begins after its delay, and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const asked = rehearsalModel([{ delayMs: 100 }]).doGenerate(options({ abortSignal: signal }));
    await vi.advanceTimersByTimeAsync(99);
    expect(await isOver(asked)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await isOver(asked)).toBe(true);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    const unsignalled = rehearsalModel([{ delayMs: 1 }]).doGenerate(options());
    await vi.advanceTimersByTimeAsync(1);
    expect(await isOver(unsignalled)).toBe(true);
  });

  it.each<[string, RehearsedReply]>([
    ['hangs', { hangs: true }],
    ['waits', { delayMs: 100 }],
    ['does both', { hangs: true, delayMs: 100 }],
  ])('%s only until it is aborted', async (_, reply) => {
    const controller = new AbortController();
    const asked = rehearsalModel([reply]).doGenerate(options({ abortSignal: controller.signal }));
    expect(await isOver(asked)).toBe(false);
    controller.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    expect(vi.getTimerCount()).toBe(0);
    await expect(rehearsalModel([reply]).doGenerate(options({ abortSignal: controller.signal }))).rejects.toThrow(
      'enough',
    );
    expect(vi.getTimerCount()).toBe(0);
  });

  it('hangs for longer than any delay', async () => {
    const asked = rehearsalModel([{ hangs: true, delayMs: 1 }]).doGenerate(options());
    await vi.advanceTimersByTimeAsync(10_000_000);
    expect(await isOver(asked)).toBe(false);
  });
});
