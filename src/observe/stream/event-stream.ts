import type { Fold, SessionEvent } from '../events.ts';

type DeltaEvent = Extract<SessionEvent, { type: 'model.delta' }>;

/** Maximum length of joined deltas, since a reader that lags slices them. */
const longestJoined = 16_384;

/**
 * A session's events, from the first (S-6). Each reader gets all of them, at its own pace. Adjacent deltas of a part are
 * kept as one, and so are adjacent progress events of a call, of which the last counts; so memory grows with what the
 * session keeps anyway. A reader that keeps up gets every piece as it arrives.
 */
export class EventStream implements Fold {
  private readonly events: SessionEvent[] = [];
  /** The last event, unjoined. A reader that keeps up gets it, so no joined text is cut. */
  private latest: SessionEvent | null = null;
  private readonly waiting = new Set<() => void>();
  private ended = false;

  event(event: SessionEvent): void {
    const last = this.events.at(-1);
    const joined = last === undefined ? null : joinedWith(last, event);
    if (joined === null) this.events.push(event);
    else this.events[this.events.length - 1] = joined;
    this.latest = event;
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  /** The events so far; adjacent deltas of a part are one. */
  get held(): readonly SessionEvent[] {
    return this.events;
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
    const leaving = new Set<() => void>();
    /** Returns the next event; undefined if there is none yet. */
    const take = (): SessionEvent | undefined => {
      for (; ; position += 1) {
        const event = this.events[position];
        if (event === undefined) return undefined;
        if (event.seq >= next) {
          const { latest } = this;
          const isNew = latest !== null && latest.seq === event.seq && next >= beginOf(latest);
          const rest = restOf(isNew ? latest : event, next);
          next = event.seq + 1;
          return rest;
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
          let leave = () => {};
          await new Promise<void>((resolve) => {
            leave = resolve;
            leaving.add(resolve);
            this.waiting.add(resolve);
          });
          leaving.delete(leave);
          this.waiting.delete(leave);
        }
      },
      return: async () => {
        closed = true;
        for (const leave of leaving) leave();
        return { done: true, value: undefined };
      },
    };
  }

  /** Returns the position in the list of the first event that reaches `seq`. */
  private positionOf(seq: number): number {
    let [low, high] = [0, this.events.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.events[middle]?.seq ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private wake(): void {
    for (const resolve of this.waiting) resolve();
    this.waiting.clear();
  }
}

/** Returns one event for two, or null if they are not pieces of the same. */
function joinedWith(last: SessionEvent, event: SessionEvent): SessionEvent | null {
  if (last.sessionId !== event.sessionId) return null;
  if (last.type === 'model.delta' && event.type === 'model.delta') {
    const isLong = last.delta.length + event.delta.length > longestJoined;
    return isLong || !isSamePart(last, event) ? null : { ...event, delta: last.delta + event.delta };
  }
  const isProgress = last.type === 'tool.progressed' && event.type === 'tool.progressed';
  return isProgress && last.callId === event.callId ? event : null;
}

function isSamePart(one: DeltaEvent, other: DeltaEvent): boolean {
  return one.turn === other.turn && one.attempt === other.attempt && one.part === other.part;
}

/** Returns the position at which an event begins: for a delta, that of its first character. */
function beginOf(event: SessionEvent): number {
  return event.type === 'model.delta' ? event.seq - event.delta.length + 1 : event.seq;
}

/** Returns what an event holds from position `seq` on: for a delta, the rest of its text. */
function restOf(event: SessionEvent, seq: number): SessionEvent {
  const begin = beginOf(event);
  if (event.type !== 'model.delta' || seq <= begin) return event;
  return { ...event, delta: event.delta.slice(seq - begin) };
}
