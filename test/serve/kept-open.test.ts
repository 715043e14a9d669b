import { parseJsonEventStream } from '@ai-sdk/provider-utils';
import { uiMessageChunkSchema } from 'ai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defineAgent, startSession } from '../../src/index.ts';
import { utf8Bytes } from '../../src/platform/bytes.ts';
import { withKeepAlive } from '../../src/serve/kept-open.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { toEventStreamResponse, toUIMessageStreamResponse } from '../../src/ui/index.ts';
import { report } from '../support/session.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => {
  const left = vi.getTimerCount();
  vi.useRealTimers();
  expect(left).toBe(0);
});

/** A stream that is told what comes, and a reader of what is kept open. */
function opened() {
  let source = {} as ReadableStreamDefaultController<Uint8Array>;
  const cancelled: unknown[] = [];
  const events = new ReadableStream<Uint8Array>({
    start: (controller) => {
      source = controller;
    },
    cancel: (reason) => void cancelled.push(reason),
  });
  const reader = withKeepAlive(events).pipeThrough(new TextDecoderStream()).getReader();
  return { source, cancelled, reader, read: async () => (await reader.read()).value };
}
const comment = ': working\n\n';

describe('a stream of server-sent events is kept open', () => {
  it('by a comment wherever nothing came for 15 s', async () => {
    const { source, read } = opened();
    source.enqueue(utf8Bytes('data: 1\n\n'));
    expect(await read()).toBe('data: 1\n\n');
    for (let times = 0; times < 2; times += 1) {
      const next = read();
      await vi.advanceTimersByTimeAsync(15_000);
      expect(await next).toBe(comment);
    }
    const next = read();
    await vi.advanceTimersByTimeAsync(14_999);
    source.enqueue(utf8Bytes('data: 2\n\n'));
    expect(await next).toBe('data: 2\n\n');
    source.close();
    expect(await read()).toBeUndefined();
  });

  it('and breaks or is cancelled as the stream itself', async () => {
    const [broken, left] = [opened(), opened()];
    broken.source.error(new Error('broken'));
    await expect(broken.read()).rejects.toThrow('broken');
    await left.reader.cancel('the page left');
    expect(left.cancelled).toEqual(['the page left']);
  });

  it.each([
    ['for a page with the AI SDK', toUIMessageStreamResponse],
    ['for any page', toEventStreamResponse],
  ])('%s, which sees no comment', async (_, responseOf) => {
    const { promise: held, resolve: letGo } = Promise.withResolvers<string>();
    const models = [rehearsalModel([{ calls: [{ name: 'slow' }] }, report()])];
    const agent = defineAgent({ name: 'quiet', models, tools: { slow: () => held } });
    const began = Promise.withResolvers<void>();
    const onEvent = ({ type }: { type: string }) => type === 'tool.started' && began.resolve();
    const session = startSession(agent, { prompt: 'Go.', logger: false, onEvent });
    const response = responseOf(session);
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const text = response.text();
    await began.promise;
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(15_000);
    letGo('done');
    const whole = await text;
    await session.result;
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    expect(whole.split(comment)).toHaveLength(2);
    if (responseOf === toEventStreamResponse) return;
    const stream = new Response(whole).body as ReadableStream<Uint8Array>;
    const parsed: boolean[] = [];
    for await (const { success } of parseJsonEventStream({ stream, schema: uiMessageChunkSchema }))
      parsed.push(success);
    expect(parsed.length).toBeGreaterThan(5);
    expect(parsed).not.toContain(false);
  });
});
