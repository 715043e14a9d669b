import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/observe/events.ts';
import { GrowingReport } from '../../src/ui/growing-report.ts';
import {
  type Followed,
  lastEventId,
  toEventStreamResponse,
  toUIMessageStream,
  toUIMessageStreamResponse,
} from '../../src/ui/index.ts';
import { at, delta, event, failure, named, replied } from '../support/ui-events.ts';

/** Something to follow whose events are these. After them it waits, unless the session has ended. */
function followed(...events: SessionEvent[]) {
  const asked: number[] = [];
  let returned = 0;
  const session: Followed = {
    sessionId: 's',
    eventsFrom: (seq) => ({
      [Symbol.asyncIterator]: () => {
        asked.push(seq);
        const rest = [...events];
        return {
          next: async () => {
            const value = rest.shift();
            const hasEnded = /session\.(succeeded|failed|aborted|suspended)/.test(events.at(-1)?.type ?? '');
            if (value === undefined && !hasEnded) return new Promise(() => {});
            return value === undefined ? { done: true as const, value } : { done: false as const, value };
          },
          return: async () => {
            returned += 1;
            return { done: true as const, value: undefined };
          },
        };
      },
    }),
  };
  return { session, asked, returns: () => returned };
}
async function chunksOf(stream: ReadableStream<object>) {
  const chunks: { type: string; messageMetadata?: { status: string; seq: number }; [field: string]: unknown }[] = [];
  for await (const chunk of stream) chunks.push(chunk as never);
  return chunks;
}
const begun = [
  event('turn.started', { turn: 1, isLastTurn: false, seq: 1 }),
  event('attempt.started', { ...at, seq: 2 }),
];
const asks = event('tool.approvalRequested', { ...named('look'), input: {}, seq: 5 });
const waiting = [
  ...begun,
  event('attempt.replied', { ...replied([]), seq: 3 }),
  event('tool.requested', { ...named('look'), kind: 'real', input: {}, seq: 4 }),
  asks,
];
const succeeded = event('session.succeeded', { seq: 9 });

describe('what can be followed', () => {
  const ways = [toUIMessageStream, toUIMessageStreamResponse, toEventStreamResponse] as ((
    ...given: unknown[]
  ) => unknown)[];
  it.each(ways)('is checked by %o', (follow) => {
    const { session } = followed(succeeded);
    const refused = (message: string) =>
      expect.objectContaining({ code: 'invalid_options', message: expect.stringContaining(message) });
    expect(() => follow({})).toThrow(refused('`session` must be a session, or what `followSession` returns; got {}.'));
    for (const options of [null, 7])
      expect(() => follow(session, options)).toThrow(refused('`options` must be an object; got'));
    for (const from of [-1, 1.5, '1', Number.NaN])
      expect(() => follow(session, { from })).toThrow(
        refused('`from` must be a position: an integer of at least 0; got'),
      );
  });
});

describe('S-6: the stream of a message', () => {
  it.each([
    [succeeded, 'stop', 'succeeded'],
    [event('session.failed', { seq: 9, ...failure(['budget_exhausted'], null) }), 'error', 'failed'],
    [event('session.aborted', { seq: 9, ...failure(['aborted'], null) }), 'other', 'aborted'],
    [event('session.suspended', { seq: 9, ...failure(['suspended'], null) }), 'other', 'suspended'],
  ])('begins with its session, and ends with how that ended', async (end, finishReason, status) => {
    const { session, asked } = followed(...begun, delta('a', { seq: 3 }), end);
    const chunks = await chunksOf(toUIMessageStream(session));
    expect(asked).toEqual([1]);
    expect(chunks[0]).toMatchObject({ type: 'start', messageId: 's', messageMetadata: { seq: 1, status: 'running' } });
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason, messageMetadata: { seq: 9, status } });
    // The client stops at an error, so the metadata that says how the session failed stands before it.
    const error = chunks.findIndex(({ type }) => type === 'error');
    expect(chunks[error - 1]).toEqual(
      status === 'failed'
        ? { type: 'message-metadata', messageMetadata: expect.objectContaining({ status }) }
        : undefined,
    );
    // Metadata comes after each event that shows something, but not after each piece of a text.
    const text = chunks.findIndex(({ type }) => type === 'text-delta');
    expect(chunks.slice(1, 5).map(({ type }) => type)).toEqual([
      'data-turn',
      'start-step',
      'message-metadata',
      'data-turn',
    ]);
    if (status !== 'failed') expect(chunks[text + 1]?.type).not.toBe('message-metadata');
  });

  it('pauses while a person has to decide, and leaves the events', async () => {
    const { session, returns } = followed(...waiting);
    const chunks = await chunksOf(toUIMessageStream(session));
    expect(chunks.at(-1)).toMatchObject({
      type: 'finish',
      finishReason: 'tool-calls',
      messageMetadata: { seq: 5, status: 'waiting' },
    });
    expect(returns()).toBe(1);
    const decided = toUIMessageStream(session, { decided: [{ sessionId: 's', callId: 'c0' }] });
    const reader = decided.getReader();
    for (let read = 0; read < 8; read += 1) await reader.read();
    await reader.cancel();
    expect(returns()).toBe(2);
  });

  it('does not pause for what has been decided by then', async () => {
    const approved = event('tool.approved', { ...named('look'), reason: null, seq: 6 });
    const chunks = await chunksOf(toUIMessageStream(followed(...waiting, approved, succeeded).session));
    expect(chunks.at(-1)).toMatchObject({ finishReason: 'stop' });
    expect(chunks.map(({ type }) => type)).toContain('tool-approval-response');
  });

  it('a sub-agent that waits has an answer for now', async () => {
    const below = { path: ['reader'], sessionId: 's2' };
    const started = event('subAgent.started', { ...named('look'), childSessionId: 's2', seq: 5 });
    const inner = [
      event('attempt.replied', { ...replied([]), ...below, seq: 6 }),
      event('tool.approvalRequested', { ...named('send', 3), input: {}, ...below, seq: 7 }),
    ];
    const chunks = await chunksOf(toUIMessageStream(followed(...waiting.slice(0, 4), started, ...inner).session));
    expect(chunks.at(-2)).toEqual({
      type: 'tool-output-available',
      toolCallId: 'c0',
      output: 'The sub-agent waits for a decision.',
    });
    expect(chunks.at(-1)).toMatchObject({ finishReason: 'tool-calls' });
  });

  it('from a position holds what comes after it, and a reply that was not whole again', async () => {
    const events = [...begun, delta('ab', { seq: 4 }), delta('c', { seq: 5 }), succeeded];
    const types = async (from: number) =>
      (await chunksOf(toUIMessageStream(followed(...events).session, { from }))).map(({ type }) => type);
    expect(await types(4)).toEqual(['start', 'reset-step', 'text-start', 'text-delta', 'text-delta', 'finish']);
    expect(await types(9)).toEqual(['start', 'reset-step', 'text-start', 'text-delta', 'finish']);
    expect((await types(0)).slice(0, 3)).toEqual(['start', 'data-turn', 'start-step']);
    const paused = await chunksOf(toUIMessageStream(followed(...waiting).session, { from: 5 }));
    expect(paused.map(({ type }) => type)).toEqual(['start', 'finish']);
  });

  it('of nothing is empty', async () => {
    const none: Followed = { sessionId: 's', eventsFrom: async function* () {} };
    expect(await chunksOf(toUIMessageStream(none))).toEqual([]);
    const reader = toUIMessageStream({
      sessionId: 's',
      eventsFrom: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
    });
    expect(await reader.cancel()).toBeUndefined();
  });

  it('as a response has the fields that are given, and begins where it is told', async () => {
    const { session } = followed(
      ...waiting,
      event('tool.approved', { ...named('look'), reason: null, seq: 6 }),
      succeeded,
    );
    const response = toUIMessageStreamResponse(session, { status: 202, headers: { 'x-own': '1' }, from: 8 });
    expect([response.status, response.headers.get('x-own'), response.headers.get('content-type')]).toEqual([
      202,
      '1',
      'text/event-stream',
    ]);
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'));
    expect(lines.map((line) => JSON.parse(line.slice(6)).type)).toEqual(['start', 'finish']);
    const paused = toUIMessageStreamResponse(followed(...waiting).session);
    expect(await paused.text()).toContain('"finishReason":"tool-calls"');
    const decided = toUIMessageStreamResponse(followed(...waiting).session, {
      decided: [{ sessionId: 's', callId: 'c0' }],
    });
    const reader = decided.body?.getReader();
    let text = '';
    while (!text.includes('tool-approval-request')) text += new TextDecoder().decode((await reader?.read())?.value);
    expect(text).not.toContain('finish"');
    await reader?.cancel();
  });
});

describe('S-6: the events of a session as server-sent events', () => {
  it('have their position as their id, and no cache or proxy holds them', async () => {
    const { session, asked } = followed(...begun, succeeded);
    const response = toEventStreamResponse(session, {
      from: 3,
      status: 201,
      headers: { 'x-own': '1', 'cache-control': 'public' },
    });
    expect([response.status, ...response.headers]).toEqual([
      201,
      ['cache-control', 'no-cache'],
      ['content-type', 'text/event-stream; charset=utf-8'],
      ['x-accel-buffering', 'no'],
      ['x-own', '1'],
    ]);
    const text = await response.text();
    // What came before says which answers are the page's own.
    expect(asked).toEqual([1, 4]);
    expect(text.split('\n\n')).toEqual([
      ...[...begun, succeeded].map((one) => `id: ${one.seq}\nevent: ${one.type}\ndata: ${JSON.stringify(one)}`),
      '',
    ]);
  });

  it('are left when the reader leaves', async () => {
    const { session, returns } = followed(...begun);
    const response = toEventStreamResponse(session);
    await response.body?.cancel();
    expect(returns()).toBe(1);
    const bare = toEventStreamResponse({
      sessionId: 's',
      eventsFrom: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }),
    });
    expect(await bare.body?.cancel()).toBeUndefined();
  });

  it.each([
    [null, 0],
    ['7', 7],
    ['0', 0],
    ['-1', 0],
    ['1.5', 0],
    ['x', 0],
  ])('a reader that has seen %j continues after %i', (id, seq) => {
    const request = new Request('http://x.test/', id === null ? {} : { headers: { 'last-event-id': id } });
    expect(lastEventId(request)).toBe(seq);
  });
});

describe('a report that grows', () => {
  const input = (text: string, more: object = {}) =>
    delta(text, { kind: 'tool-input', toolName: 'final_report', ...more });

  it('is read as it grows by a twentieth, from the call of the session itself', async () => {
    const report = new GrowingReport();
    expect(await report.takeEvent(input('{"content":'))).toBeUndefined();
    expect(await report.takeEvent(input('"abcdefghij'))).toBe('abcdefghij');
    // 22 characters were read; the next are read from 24.
    expect(await report.takeEvent(input('k'))).toBeUndefined();
    expect(await report.takeEvent(input('l'))).toBe('abcdefghijkl');
    expect(await report.takeEvent(input('never', { path: ['reader'] }))).toBeUndefined();
    expect(await report.takeEvent(input('never', { toolName: 'look' }))).toBeUndefined();
    expect(
      await report.takeEvent(event('tool.progressed', { toolName: 'final_report', delta: 'never' })),
    ).toBeUndefined();
    expect(await report.takeEvent(input('mnopq"}'))).toBe('abcdefghijklmnopq');
  });

  it('starts over with another part, and is undefined without content', async () => {
    const report = new GrowingReport();
    await report.takeEvent(input('{"content":"a'));
    expect(await report.takeEvent(input('{"content":"b', { attempt: 2 }))).toBe('b');
    expect(await report.takeEvent(input('{"content":{"c":1}}', { part: 1 }))).toEqual({ c: 1 });
    for (const [part, text] of ['{"status":"success"}', '7', 'null', '"content"', 'no JSON'].entries())
      expect(await report.takeEvent(input(text, { part: part + 2 }))).toBeUndefined();
  });
});
