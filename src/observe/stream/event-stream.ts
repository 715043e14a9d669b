import { firstOnes } from '../../platform/search.ts';
import { eventCopy, type Fold, type SessionEvent } from '../events.ts';

/** Maximum length of joined deltas, since a reader that lags slices them. */
const longestJoined = 16_384;

/**
 * A session's events, from the first (S-6). Each reader gets all of them, at its own pace. Adjacent deltas of a part are
 * kept as one, and so are adjacent progress events of a call, of which the last counts; so memory grows with what the
 * session keeps anyway. A reader that keeps up gets every piece as it arrives.
 */
export class EventStream implements Fold {
  private readonly events: SessionEvent[] = [];
  /** The last event, unjoined, and the first position that it holds. A reader that keeps up gets it, uncut. */
  private latest: SessionEvent | null = null;
  private latestFrom = 1;
  /** What readers without a next event wait for. */
  private change: PromiseWithResolvers<void> | null = null;
  readonly takesDeltas = true;
  private ended = false;

  event(event: SessionEvent): void {
    const last = this.events.at(-1);
    this.latestFrom = (last?.seq ?? 0) + 1;
    if (last === undefined || !isOneWith(last, event)) {
      // A delta grows in place, since there are very many: so the stream keeps one of its own, which no reader gets.
      this.events.push(event.type === 'model.delta' ? { ...event } : event);
    } else if (last.type === 'model.delta' && event.type === 'model.delta') {
      last.delta += event.delta;
      last.seq = event.seq;
      last.at = event.at;
    } else {
      this.events[this.events.length - 1] = event;
    }
    this.latest = event;
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  /** The events so far; adjacent deltas of a part are one. They share their content with the session. */
  all(): SessionEvent[] {
    return this.events.map((event) => (event.type === 'model.delta' ? { ...event } : event));
  }

  /** Returns the events from position `seq`, those to come included. */
  from(seq: number): AsyncIterable<SessionEvent> {
    return { [Symbol.asyncIterator]: () => this.reader(seq) };
  }

  /** A reader; `return` ends it at once, even while it waits. */
  private reader(seq: number): AsyncIterator<SessionEvent> {
    let next = seq;
    let position = this.positionOf(seq);
    let closed = false;
    /** Returns the next event; undefined if there is none yet. */
    const take = (): SessionEvent | undefined => {
      for (; ; position += 1) {
        const event = this.events[position];
        if (event === undefined) return undefined;
        if (event.seq >= next) {
          const { latest } = this;
          const from = (this.events[position - 1]?.seq ?? 0) + 1;
          const rest = latest !== null && next === this.latestFrom ? latest : restOf(event, next, from);
          next = event.seq + 1;
          return eventCopy(rest);
        }
        // The last event may still grow.
        if (position === this.events.length - 1) return undefined;
      }
    };
    return {
      next: async () => {
        for (;;) {
          const event = closed ? undefined : take();
          if (event !== undefined) return { done: false, value: event };
          if (closed || this.ended) return { done: true, value: undefined };
          this.change ??= Promise.withResolvers();
          await this.change.promise;
        }
      },
      return: async () => {
        closed = true;
        this.wake();
        return { done: true, value: undefined };
      },
    };
  }

  /** Returns the position in the list of the first event that reaches `seq`, or of the last, which may still grow. */
  private positionOf(seq: number): number {
    const before = firstOnes(this.events, (event) => event.seq < seq);
    return Math.max(0, Math.min(before, this.events.length - 1));
  }

  private wake(): void {
    this.change?.resolve();
    this.change = null;
  }
}

/** Returns true if two adjacent events are kept as one. */
function isOneWith(last: SessionEvent, event: SessionEvent): boolean {
  if (last.sessionId !== event.sessionId) return false;
  if (last.type === 'model.delta' && event.type === 'model.delta') {
    return (
      last.turn === event.turn &&
      last.attempt === event.attempt &&
      last.part === event.part &&
      last.delta.length + event.delta.length <= longestJoined
    );
  }
  return last.type === 'tool.progressed' && event.type === 'tool.progressed' && last.callId === event.callId;
}

/**
 * Returns what an event holds from position `seq` on: for a delta, a copy with the rest of its text. Its positions begin at
 * `from` or later. A replay that has replaced a secret may have made the text longer than they are, so the rest is counted
 * from its end.
 */
export function restOf(event: SessionEvent, seq: number, from: number): SessionEvent {
  if (event.type !== 'model.delta') return event;
  const { length } = event.delta;
  const left = seq <= from ? length : event.seq - seq + 1;
  return { ...event, delta: event.delta.slice(Math.max(0, length - left)) };
}
