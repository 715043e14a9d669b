import { APICallError, type LanguageModelV4StreamPart, UnsupportedFunctionalityError } from '@ai-sdk/provider';
import { describe, expect, it } from 'vitest';
import { stream } from '../../src/model/exchange.ts';
import { costOf } from '../../src/model/pricing.ts';
import { RequestTimers } from '../../src/model/request-timers.ts';
import { manualClock } from '../../src/testing/index.ts';

/** Sends one request to a model, and tells the parts that came. */
function exchange(model: object) {
  const clock = manualClock();
  const outer = new AbortController();
  const timers = new RequestTimers({ clock, timeoutMs: 10_000, idleTimeoutMs: 5_000 }, outer.signal);
  timers.sent();
  const parts: unknown[] = [];
  const asked: unknown[] = [];
  const options = Object({ prompt: [] });
  const told = { ...model } as Record<string, ((options: unknown) => unknown) | undefined>;
  const watched = Object.fromEntries(
    Object.entries(told).map(([name, answer]) => [
      name,
      (given: unknown) => {
        asked.push([name, given === options]);
        return answer?.(given);
      },
    ]),
  );
  const ending = stream(Object(watched), options, timers, {
    onPart: (part) => parts.push(part),
    onAccepted: () => {},
  }).finally(() => timers.clear());
  return { clock, outer, parts, asked, ending };
}

const streamOf = (...parts: unknown[]) => ({
  stream: new ReadableStream<LanguageModelV4StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(Object(part));
      controller.close();
    },
  }),
});
const finished = { finishReason: { unified: 'stop' }, usage: { inputTokens: {}, outputTokens: {} } };
const whole = (content: unknown[], more: object = {}) => ({ content, ...finished, warnings: [], ...more });
const delta = { type: 'text-delta', id: '0', delta: 'x' };

describe('P-4: an exchange with a model', () => {
  it('passes on the parts of its stream, in order', async () => {
    const { parts, asked, ending } = exchange({ doStream: async () => streamOf(delta, { type: 'finish' }) });
    await ending;
    expect(parts).toEqual([delta, { type: 'finish' }]);
    expect(asked).toEqual([['doStream', true]]);
  });

  const withoutStreams: [string, object][] = [
    ['has no method for it', {}],
    [
      'says so by the error for it',
      { doStream: () => Promise.reject(new UnsupportedFunctionalityError({ functionality: 's' })) },
    ],
    ...[
      'Streaming is not supported',
      'stream not implemented',
      'streams are not available',
      'unsupported: stream',
      "It doesn't support streams",
      'It does not support streaming.',
    ].map((message): [string, object] => {
      const doStream = () => {
        throw new Error(message);
      };
      return [`says ${message}`, { doStream }];
    }),
  ];
  it.each(withoutStreams)('asks for a whole response if the model cannot stream: it %s', async (_, model) => {
    const { parts, asked, ending } = exchange({ ...model, doGenerate: async () => whole([]) });
    await ending;
    expect(asked.at(-1)).toEqual(['doGenerate', true]);
    expect(parts).toEqual([
      { type: 'stream-start', warnings: [] },
      { type: 'finish', ...finished },
    ]);
  });

  it.each([
    ['another error', new Error('it is not supported')],
    ['an error about streams', new Error('the stream broke')],
    ['no error', 'streaming is not supported'],
    [
      'an answer of the server',
      new APICallError({ message: 'stream is not supported', url: 'http://a', requestBodyValues: {} }),
    ],
  ])('fails without a second request when %s is thrown', async (_, error) => {
    const { asked, ending } = exchange({ doStream: () => Promise.reject(error), doGenerate: async () => whole([]) });
    await expect(ending).rejects.toBe(error);
    expect(asked).toHaveLength(1);
  });

  it('turns a whole response into the parts of a stream', async () => {
    const providerMetadata = { own: { a: 1 } };
    const call = { type: 'tool-call', toolCallId: 'x', toolName: 'look', input: '{}' };
    const timestamp = new Date(0);
    const { parts, ending } = exchange({
      doGenerate: async () =>
        whole([{ type: 'reasoning', text: 'Hm', providerMetadata }, { type: 'text', text: 'one' }, call, null, 7], {
          warnings: ['slow'],
          response: { id: 'r', modelId: 'm', timestamp, body: 'b', headers: {} },
        }),
    });
    await ending;
    expect(parts).toEqual([
      { type: 'stream-start', warnings: ['slow'] },
      { type: 'response-metadata', id: 'r', modelId: 'm', timestamp },
      { type: 'reasoning-start', id: '0', providerMetadata },
      { type: 'reasoning-delta', id: '0', delta: 'Hm' },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'text-delta', id: '0', delta: 'one' },
      { type: 'text-end', id: '0' },
      call,
      null,
      7,
      { type: 'finish', ...finished },
    ]);
    const bare = exchange({ doGenerate: async () => whole([], { response: {} }) });
    await bare.ending;
    expect(bare.parts[1]).toEqual({ type: 'response-metadata' });
  });

  it('a stream that breaks fails the exchange with its error', async () => {
    const broken = new Error('cut');
    const { parts, ending } = exchange({
      doStream: async () => ({
        stream: new ReadableStream({
          pull(controller) {
            controller.enqueue(delta);
            controller.error(broken);
          },
        }),
      }),
    });
    await expect(ending).rejects.toBe(broken);
    expect(parts.length).toBeLessThanOrEqual(1);
  });

  it('D-2: an abort cancels a waiting stream, and one that arrives later', async () => {
    const cancelled: string[] = [];
    const waiting = (name: string) => ({
      stream: new ReadableStream({
        cancel() {
          cancelled.push(name);
        },
      }),
    });
    const open = exchange({ doStream: async () => waiting('open') });
    await new Promise(setImmediate);
    open.outer.abort();
    await open.ending.catch(() => undefined);
    const late = Promise.withResolvers<unknown>();
    const { outer, ending } = exchange({ doStream: () => late.promise });
    outer.abort(new Error('enough'));
    await expect(ending).rejects.toThrow();
    late.resolve(waiting('late'));
    await expect.poll(() => cancelled).toEqual(['open', 'late']);
  });

  it('a connection that stays open after the finish part is ended a second later', async () => {
    let isCancelled = false;
    const { clock, parts, ending } = exchange({
      doStream: async () => ({
        stream: new ReadableStream({
          start: (controller) => controller.enqueue({ type: 'finish' }),
          cancel() {
            isCancelled = true;
          },
        }),
      }),
    });
    await expect.poll(() => parts).toHaveLength(1);
    clock.advance(999);
    expect(isCancelled).toBe(false);
    clock.advance(1);
    await ending;
    expect(isCancelled).toBe(true);
  });
});

describe('the cost of a request', () => {
  const usage = { input: 1_000, output: 100, reasoning: 50, cacheRead: 300, cacheWrite: 200 };

  it.each([
    [undefined, null],
    [{ input: 2, output: 10 }, (1_000 * 2 + 100 * 10) / 1_000_000],
    [{ input: 2, output: 10, cacheRead: 1, cacheWrite: 3 }, (500 * 2 + 300 * 1 + 200 * 3 + 100 * 10) / 1_000_000],
    [{ input: 2, output: 0, cacheRead: 0, cacheWrite: 0 }, (500 * 2) / 1_000_000],
  ])('with the price %j is %j', (price, cost) => {
    expect(costOf(usage, price)).toBe(cost);
  });

  it('is never less than nothing, if more was cached than sent', () => {
    expect(costOf({ ...usage, input: 100 }, { input: 2, output: 0, cacheRead: 0, cacheWrite: 0 })).toBe(0);
  });
});
