import { eventLoopTurn } from './clock.ts';

/** How long sessions may work before the event loop has its turn, in ms. */
const sliceMs = 5;

type Slice = { readonly endsAt: number };
type Waiter = { isWaiting: boolean; readonly goOn: () => void };

/**
 * The process's event loop, which all sessions share. Steps follow each other as microtasks, so many sessions, or one whose
 * model answers at once, would keep timers, sockets and other sessions from their turn. Those that wait continue in order.
 */
export class EventLoop {
  /** When the current slice ends, by `performance.now()`; null if the loop has had its turn since. */
  private slice: Slice | null = null;
  private readonly waiting: Waiter[] = [];

  /** Whether the loop has to have its turn before more is done. */
  get isDue(): boolean {
    return this.waiting.length > 0 || this.isOver;
  }

  /** Resolves after a turn of the loop, once it is the caller's turn too. */
  turn(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { isWaiting: true, goOn: resolve };
    this.waiting.push(waiter);
    void this.wakeUntilOver(waiter);
    return promise;
  }

  /**
   * At each turn of the loop, lets the first of those that wait continue, until `own` did. Each waits for turns that it
   * scheduled itself, since a runtime may drop those of a request that has ended.
   */
  private async wakeUntilOver(own: Waiter): Promise<void> {
    while (own.isWaiting) {
      const { slice } = this;
      await eventLoopTurn();
      if (this.slice === slice) this.slice = null;
      const first = this.isOver ? undefined : this.waiting.shift();
      if (first === undefined) continue;
      first.isWaiting = false;
      first.goOn();
    }
  }

  private get isOver(): boolean {
    const { endsAt } = this.slice ?? this.begin();
    return performance.now() >= endsAt;
  }

  private begin(): Slice {
    const slice = { endsAt: performance.now() + sliceMs };
    this.slice = slice;
    void eventLoopTurn().then(() => {
      this.slice = null;
    });
    return slice;
  }
}

export const eventLoop = new EventLoop();
