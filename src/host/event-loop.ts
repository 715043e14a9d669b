import { eventLoopTurn } from './clock.ts';

/** How long sessions may work before the event loop has its turn, in ms. */
const sliceMs = 5;

/**
 * The process's event loop, which all sessions share. Steps follow each other as microtasks, so many sessions, or one whose
 * model answers at once, would keep timers, sockets and other sessions from their turn. Work that is held up goes on in
 * the order in which it came.
 */
export class EventLoop {
  /** When the current slice ends, by `performance.now()`; null between slices. */
  private endsAt: number | null = null;
  private waiting: (() => void)[] = [];

  /** Whether the loop has to have its turn before more is done. */
  get isDue(): boolean {
    if (this.endsAt === null) this.begin();
    return this.waiting.length > 0 || this.isOver;
  }

  /** Calls `work` now, or after the loop's turn if that is due. */
  share(work: () => void): void {
    if (this.isDue) this.waiting.push(work);
    else work();
  }

  /** Resolves after the loop's turn. */
  turn(): Promise<void> {
    if (this.endsAt === null) this.begin();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  private get isOver(): boolean {
    return this.endsAt !== null && performance.now() >= this.endsAt;
  }

  private begin(): void {
    this.endsAt = performance.now() + sliceMs;
    void eventLoopTurn().then(() => this.goOn());
  }

  private async goOn(): Promise<void> {
    this.endsAt = null;
    const waiting = this.waiting;
    if (waiting.length === 0) return;
    this.begin();
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      next();
      // What follows from it runs first.
      await undefined;
      if (this.isOver) return;
    }
  }
}

export const eventLoop = new EventLoop();
