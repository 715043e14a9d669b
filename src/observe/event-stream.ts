import type { Envelope, Fold, SessionEvent } from './events.ts';

const bufferedEvents = 1_000;

/**
 * A session's event stream. Each reader has a separate buffer of 1,000 events, beyond which the oldest are dropped
 * and counted, so that slow or missing readers use bounded memory and delay nothing. The first reader also gets
 * earlier events, within that buffer.
 */
export class EventStream implements AsyncIterable<SessionEvent>, Fold {
  private readonly unread = new EventBuffer();
  private readers: EventBuffer[] = [];
  private readonly envelope: () => Envelope;
  private firstTaken = false;
  private ended = false;

  constructor(envelope: () => Envelope) {
    this.envelope = envelope;
  }

  /** Whether the stream has a reader and therefore needs reply deltas. */
  get isRead(): boolean {
    return this.readers.length > 0;
  }

  event(event: SessionEvent): void {
    if (!this.firstTaken && event.type !== 'model.delta') this.unread.push(event);
    for (const reader of this.readers) reader.push(event);
  }

  end(): void {
    this.ended = true;
    for (const reader of this.readers) reader.end();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<SessionEvent> {
    const buffer = this.firstTaken ? new EventBuffer() : this.unread;
    this.firstTaken = true;
    this.readers.push(buffer);
    if (this.ended) buffer.end();
    try {
      for (;;) {
        const dropped = buffer.takeDropped();
        if (dropped > 0) yield { type: 'events.dropped', count: dropped, ...this.envelope() };
        const event = await buffer.next();
        if (event === null) return;
        yield event;
      }
    } finally {
      this.readers = this.readers.filter((reader) => reader !== buffer);
    }
  }
}

class EventBuffer {
  private events: SessionEvent[] = [];
  private first = 0;
  private dropped = 0;
  private ended = false;
  private wake: (() => void) | null = null;

  push(event: SessionEvent): void {
    this.events.push(event);
    if (this.events.length - this.first > bufferedEvents) {
      this.first += 1;
      this.dropped += 1;
    }
    if (this.first > bufferedEvents) this.compact();
    this.wake?.();
  }

  end(): void {
    this.ended = true;
    this.wake?.();
  }

  takeDropped(): number {
    const { dropped } = this;
    this.dropped = 0;
    return dropped;
  }

  async next(): Promise<SessionEvent | null> {
    while (this.first >= this.events.length) {
      if (this.ended) return null;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
      this.wake = null;
    }
    const event = this.events[this.first] ?? null;
    this.first += 1;
    if (this.first > bufferedEvents) this.compact();
    return event;
  }

  private compact(): void {
    this.events = this.events.slice(this.first);
    this.first = 0;
  }
}
