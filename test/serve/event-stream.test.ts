import { describe, expect, it } from 'vitest';
import { type EventWriter, pulledEvents, pushedEvents, type SentEvent } from '../../src/serve/event-stream.ts';

/** A stream that is written to, and what its reader gets. */
function pushed(mostWaiting?: number) {
  const kept: { writer: EventWriter | null } = { writer: null };
  const response = pushedEvents((writer) => {
    kept.writer = writer;
  }, mostWaiting);
  if (kept.writer === null) throw new Error('nothing began');
  return { response, writer: kept.writer };
}

describe('a stream of server-sent events that is pushed', () => {
  it('writes each event with its id, its type and its data, and the fields of its response', async () => {
    const { response, writer } = pushed();
    writer.send({ data: { a: 'line\nbreak' } });
    writer.send({ id: 3, event: 'said', data: null });
    writer.send({ raw: '[DONE]' });
    writer.end();
    expect(await response.text()).toBe(
      'data: {"a":"line\\nbreak"}\n\nid: 3\nevent: said\ndata: null\n\ndata: [DONE]\n\n',
    );
    expect([response.status, ...response.headers.values()].sort()).toEqual([
      ...[200, 'no', 'no-cache', 'text/event-stream; charset=utf-8'].sort(),
    ]);
  });

  it('sends nothing after its end, and says once that it is over', async () => {
    const { response, writer } = pushed();
    let closed = 0;
    writer.onClose(() => {
      closed += 1;
    });
    writer.end();
    writer.send({ data: 1 });
    writer.end();
    writer.fail(new Error('late'));
    expect([await response.text(), writer.isOpen, closed]).toEqual(['', false, 1]);
    writer.onClose(() => {
      closed += 10;
    });
    expect(closed).toBe(11);
  });

  it('hears that its reader has gone', async () => {
    const { response, writer } = pushed();
    const closed = new Promise<void>((resolve) => writer.onClose(resolve));
    await response.body?.cancel();
    await closed;
    writer.send({ data: 1 });
    expect(writer.isOpen).toBe(false);
  });

  it('breaks with its error', async () => {
    const { response, writer } = pushed();
    writer.fail(new Error('broken'));
    await expect(response.text()).rejects.toThrow('broken');
  });

  it('keeps whatever waits for a reader, unless it is told how much may wait', async () => {
    const whole = pushed();
    const long = 'x'.repeat(16 * 1_024 * 1_024);
    for (const data of [long, long, 'end']) whole.writer.send({ data });
    whole.writer.end();
    expect((await whole.response.text()).length).toBeGreaterThan(2 * long.length);
    const { response, writer } = pushed(8 * 1_024 * 1_024);
    const data = 'x'.repeat(1_024 * 1_024);
    for (let sent = 0; sent < 12; sent += 1) writer.send({ data });
    expect(writer.isOpen).toBe(false);
    await expect(response.text()).rejects.toThrow('the reader fell behind');
  });
});

describe('a stream of server-sent events that is pulled', () => {
  it('asks for the next event when its reader is ready, and ends its source with the reader', async () => {
    let [asked, returned] = [0, 0];
    const events: AsyncIterator<SentEvent> = {
      next: async () => {
        asked += 1;
        return { done: false, value: { id: asked, data: asked } };
      },
      return: async () => {
        returned += 1;
        return { done: true, value: undefined };
      },
    };
    const reader = pulledEvents(events).body?.getReader();
    const first = await reader?.read();
    expect(new TextDecoder().decode(first?.value)).toBe('id: 1\ndata: 1\n\n');
    expect(asked).toBeLessThan(5);
    await reader?.cancel();
    expect(returned).toBe(1);
  });

  it('ends with its source', async () => {
    const none: AsyncIterator<SentEvent> = { next: async () => ({ done: true, value: undefined }) };
    expect(await pulledEvents(none).text()).toBe('');
  });
});
