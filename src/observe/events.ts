import type { Counters, Fact, JsonObject, Repairs, ToolOutput } from '../../machines/index.ts';

/** What is worth seeing beside the facts of the machines: it decides nothing and is not needed for a replay. */
export type Sighting =
  /** A piece of the reply as it comes in. */
  | {
      type: 'model.delta';
      turn: number;
      attempt: number;
      kind: 'text' | 'reasoning' | 'tool-input';
      /** Of the call, for `tool-input`; null otherwise. */
      toolName: string | null;
      delta: string;
    }
  /** A tool said something before it was done. */
  | { type: 'tool.progressed'; callId: string; name: string; output: ToolOutput }
  /** Messages handed in were not well formed and were put right (C-6). */
  | { type: 'conversation.repaired'; repairs: Repairs }
  /** A sub-agent's session began, and ended (B-7). Its own events come with its path. */
  | { type: 'subAgent.started'; callId: string; name: string; childSessionId: string }
  | {
      type: 'subAgent.ended';
      callId: string;
      name: string;
      childSessionId: string;
      status: 'succeeded' | 'failed' | 'aborted';
      counters: Counters;
    }
  /** An MCP server is connected, was lost, or is missing though it is optional; or its list of tools has changed. */
  | { type: 'server.connected'; server: string; tools: string[] }
  | { type: 'server.lost'; server: string; message: string }
  | { type: 'server.unavailable'; server: string; message: string }
  | { type: 'server.toolsChanged'; server: string; tools: string[] }
  /** What a provider warned of, such as settings that it ignores; once each. */
  | { type: 'model.warned'; target: string; warning: string }
  /** A result came for an effect that was settled, and was dropped (D-2). */
  | { type: 'effect.late'; key: string }
  /** An observer of the user's threw; it is reported once and left out from then on, if it is a slice. */
  | { type: 'observer.failed'; observer: string; message: string }
  /** Events that nobody read in time were dropped, oldest first. */
  | { type: 'events.dropped'; count: number };

export type Envelope = {
  sessionId: string;
  agent: string;
  /** Epoch ms. */
  at: number;
  /** The sub-agents from the session whose stream this is down to the one that it happened in; empty for its own events. */
  path: readonly string[];
};

/** What is said of a call as it comes also says its input: whoever is to approve it wants to see that. */
type WithInput<F> = F extends { type: 'tool.requested' | 'tool.approvalRequested' } ? F & { input: JsonObject } : F;

/** What the event stream, `onEvent` and the slices see. */
export type SessionEvent = (WithInput<Fact> | Sighting) & Envelope;

export type EventListener = (event: SessionEvent) => unknown;

const bufferedEvents = 1_000;

/**
 * The event stream of a session: each reader has a buffer of 1,000 events of its own, beyond which the oldest are
 * dropped and counted, so that a slow reader, or none, costs bounded memory and slows nothing. The first reader also
 * gets what came before it, within that buffer.
 */
export class EventStream implements AsyncIterable<SessionEvent> {
  private readonly unread = new EventBuffer();
  private readers: EventBuffer[] = [];
  private readonly envelope: () => Envelope;
  private firstTaken = false;
  private ended = false;

  constructor(envelope: () => Envelope) {
    this.envelope = envelope;
  }

  /** Whether anybody would see the deltas of a reply. */
  get isRead(): boolean {
    return this.readers.length > 0;
  }

  push(event: SessionEvent): void {
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
