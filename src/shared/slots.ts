import { systemClock } from '../host/clock.ts';
import { within } from '../host/deadline.ts';

/** Limits how many run in parallel, such as the tools of a session; the others wait in order. */
export class Slots {
  private count: number;
  /** Less than 0 while more run than may. */
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.count = count;
    this.free = count;
  }

  /** Reduces the number that may run to `count`. Those that are running continue. */
  narrow(count: number): void {
    if (count >= this.count) return;
    this.free -= this.count - count;
    this.count = count;
  }

  /** Acquires a slot and returns a function that frees it. Rejects if `signal` aborts before one is free. */
  async takeSlot(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.free > 0) this.free -= 1;
    else await this.turn(signal);
    return () => this.giveBack();
  }

  private async turn(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.waiting.push(resolve);
    const ending = await within({ clock: systemClock, timeoutMs: null, signal }, () => promise);
    if (ending.kind === 'done') return;
    const place = this.waiting.indexOf(resolve);
    // The slot may be granted at the moment of the abort.
    if (place === -1) this.giveBack();
    else this.waiting.splice(place, 1);
    throw signal.reason;
  }

  private giveBack(): void {
    const next = this.free < 0 ? undefined : this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}
