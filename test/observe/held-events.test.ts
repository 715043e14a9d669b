import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionEvent } from '../../src/observe/events.ts';
import { EventStream } from '../../src/observe/stream/event-stream.ts';

type Delta = Extract<SessionEvent, { type: 'model.delta' }>;

const envelope = { sessionId: 's', agent: 'a', at: 1, path: [] };
const delta = (seq: number, text: string, more: Partial<Delta> = {}): Delta => ({
  ...envelope,
  type: 'model.delta',
  turn: 1,
  attempt: 1,
  part: 0,
  kind: 'text',
  callId: null,
  toolName: null,
  delta: text,
  seq,
  ...more,
});
const progress = (seq: number, callId: string, output: string, sessionId = 's') =>
  ({ ...envelope, sessionId, type: 'tool.progressed', callId, name: 'x', output, seq }) as unknown as SessionEvent;
const other = (seq: number) => ({ ...envelope, type: 'wait.ended', turn: 1, attempt: 2, seq }) as SessionEvent;

function streamOf(...events: SessionEvent[]): EventStream {
  const stream = new EventStream();
  for (const event of events) stream.event(event);
  return stream;
}

/** What a reader gets that comes now, until it has to wait. */
async function readBy(stream: EventStream, seq = 1): Promise<SessionEvent[]> {
  const reader = stream.from(seq)[Symbol.asyncIterator]();
  const found: SessionEvent[] = [];
  const none = Symbol();
  for (;;) {
    const next = await Promise.race([reader.next(), new Promise((resolve) => setImmediate(() => resolve(none)))]);
    if (next === none || (next as IteratorResult<SessionEvent>).done) break;
    found.push((next as IteratorResult<SessionEvent>).value);
  }
  await reader.return?.();
  return found;
}

describe('S-6: what the stream keeps', () => {
  it('adjacent deltas of a part are one, with the position and the time of the last', async () => {
    const stream = streamOf(delta(2, 'ab'), delta(5, 'cde', { at: 7 }), delta(6, 'f', { at: 9 }));
    expect(stream.all()).toEqual([delta(6, 'abcdef', { at: 9 })]);
    // The last event is not cut for a reader that is behind it, or in its middle.
    expect(await readBy(stream)).toEqual([delta(6, 'abcdef', { at: 9 })]);
    expect(await readBy(stream, 4)).toEqual([delta(6, 'def', { at: 9 })]);
    expect(await readBy(stream, 6)).toEqual([delta(6, 'f', { at: 9 })]);
    expect(await readBy(stream, 7)).toEqual([]);
  });

  it.each<[string, Partial<Delta>]>([
    ['another turn', { turn: 2 }],
    ['another attempt', { attempt: 2 }],
    ['another part', { part: 1 }],
    ['another session', { sessionId: 't' }],
  ])('deltas of %s are apart', (_, more) => {
    const [first, second] = [delta(2, 'ab'), delta(4, 'cd', more)];
    expect(streamOf(first, second).all()).toEqual([first, second]);
  });

  it('a joined delta has at most 16,384 characters', () => {
    const half = 'x'.repeat(8_192);
    const stream = streamOf(delta(8_192, half), delta(16_384, half), delta(16_385, 'y'));
    expect(stream.all().map((event) => (event as Delta).delta.length)).toEqual([16_384, 1]);
  });

  it('of adjacent progress of a call, the last counts', () => {
    const stream = streamOf(progress(1, 'a', 'one'), progress(2, 'a', 'two'), progress(3, 'b', 'three'));
    stream.event(progress(4, 'b', 'four', 't'));
    stream.event(other(5));
    stream.event(progress(6, 'b', 'five'));
    stream.event(delta(7, 'x'));
    stream.event(progress(8, 'b', 'six'));
    const started = { ...progress(9, 'b', ''), type: 'tool.handedOut' } as SessionEvent;
    for (const event of [started, progress(10, 'b', 'seven'), { ...started, seq: 11 }]) stream.event(event);
    expect(stream.all().map((event) => ('output' in event ? `${event.seq} ${event.output}` : event.seq))).toEqual([
      '2 two',
      '3 three',
      '4 four',
      5,
      '6 five',
      7,
      '8 six',
      '9 ',
      '10 seven',
      '11 ',
    ]);
  });

  it('what is given out does not grow with the stream', async () => {
    const own = delta(2, 'ab');
    const stream = streamOf(own);
    const held = stream.all();
    const [read] = await readBy(stream);
    const [rest] = await readBy(stream, 2);
    stream.event(delta(3, 'c'));
    expect([own, held[0], read, rest]).toEqual([delta(2, 'ab'), delta(2, 'ab'), delta(2, 'ab'), delta(2, 'b')]);
    expect(stream.all()).toEqual([delta(3, 'abc')]);
  });
});

describe('S-6: readers', () => {
  it('one that keeps up gets each event as it came, and the end; one that left gets nothing more', async () => {
    const stream = new EventStream();
    const [reader, leaving] = [stream.from(1)[Symbol.asyncIterator](), stream.from(1)[Symbol.asyncIterator]()];
    const events = [delta(1, 'a'), delta(2, 'b'), other(3), delta(5, 'cd')];
    for (const event of events) {
      const next = reader.next();
      stream.event(event);
      const { value } = await next;
      expect(value).toEqual(event);
      // It may be changed by whoever took it.
      Object.assign(value, { type: 'changed', seq: 0 });
    }
    for (let left = events.length - 1; left > 0; left -= 1) await leaving.next();
    const [last, waiting] = [reader.next(), leaving.next()];
    expect(await leaving.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await leaving.next()).toEqual({ done: true, value: undefined });
    stream.end();
    expect(await last).toEqual({ done: true, value: undefined });
    expect(await reader.next()).toEqual({ done: true, value: undefined });
    // One that comes after the end gets all.
    expect(await readBy(stream)).toEqual([delta(2, 'ab'), other(3), delta(5, 'cd')]);
  });

  it('each gets all that comes from its position on, whenever it begins and reads', async () => {
    const piece = fc.record({
      part: fc.nat(1),
      length: fc.integer({ min: 1, max: 3 }),
      isDelta: fc.boolean(),
      isRead: fc.boolean(),
    });
    const some = fc.record({ all: fc.array(piece, { maxLength: 12 }), begins: fc.nat(12), from: fc.nat(30) });
    await fc.assert(
      fc.asyncProperty(some, async ({ all, begins, from }) => {
        const stream = new EventStream();
        const given: SessionEvent[] = [];
        const got: SessionEvent[] = [];
        let reader = stream.from(from + 1)[Symbol.asyncIterator]();
        let seq = 0;
        for (const [index, { part, length, isDelta, isRead }] of all.entries()) {
          seq += isDelta ? length : 1;
          const event = isDelta ? delta(seq, 'abc'.slice(0, length), { part }) : other(seq);
          given.push(event);
          stream.event(event);
          if (index === begins) reader = stream.from(from + 1)[Symbol.asyncIterator]();
          if (index >= begins && isRead && (got.at(-1)?.seq ?? from) < seq) got.push((await reader.next()).value);
        }
        stream.end();
        for (let next = await reader.next(); !next.done; next = await reader.next()) got.push(next.value);
        expect(characters(got)).toEqual(characters(given).filter(([at]) => at > from));
        expect(characters(await readBy(stream, from + 1))).toEqual(characters(got));
        expect(characters(stream.all())).toEqual(characters(given));
      }),
      { numRuns: 400 },
    );
  });

  it('a delta that became longer than its positions, since a secret was taken out of it, is given whole', async () => {
    const redacted = delta(6, 'x[redacted]', { part: 1 });
    const stream = streamOf(delta(3, 'abc'), redacted, delta(7, 'y', { part: 1 }));
    const joined = { ...redacted, seq: 7, delta: 'x[redacted]y' };
    expect(stream.all()).toEqual([delta(3, 'abc'), joined]);
    expect(await readBy(stream)).toEqual([delta(3, 'abc'), joined]);
    expect(await readBy(stream, 3)).toEqual([delta(3, 'c'), joined]);
    expect(await readBy(stream, 4)).toEqual([joined]);
  });

  it('a reader that lags gets what was added to such a delta once', async () => {
    const stream = streamOf(delta(8, 'x[redacted]'));
    const reader = stream.from(1)[Symbol.asyncIterator]();
    expect((await reader.next()).value).toEqual(delta(8, 'x[redacted]'));
    stream.event(delta(9, 'y'));
    stream.event(delta(10, 'z'));
    expect((await reader.next()).value).toEqual(delta(10, 'yz'));
  });
});

/** Each position, with the character or the event that has it. */
function characters(events: readonly SessionEvent[]): [number, string][] {
  return events.flatMap((event): [number, string][] => {
    if (event.type !== 'model.delta') return [[event.seq, event.type]];
    const begin = event.seq - event.delta.length + 1;
    return [...event.delta].map((character, index) => [begin + index, `${event.part} ${character}`]);
  });
}
