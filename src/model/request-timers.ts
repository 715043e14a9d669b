import type { Fault } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import { unlessAborted } from '../host/deadline.ts';
import { timeoutFault } from './faults.ts';

/** A request's two timeouts, merged with the effect's abort into one signal. */
export class RequestTimers {
  private readonly controller = new AbortController();
  private readonly clock: Clock;
  private readonly outer: AbortSignal;
  private readonly idleTimeoutMs: number;
  private cancelTotal: () => void;
  private readonly total: () => () => void;
  private cancelIdle = () => {};
  /** When the idle timeout began, and when a part last arrived since it was armed (epoch ms). */
  private armedAt = 0;
  private lastPartAt: number | null = null;
  /** The timeout that ended the request. */
  expired: Fault | null = null;

  constructor(
    { clock, timeoutMs, idleTimeoutMs }: { clock: Clock; timeoutMs: number; idleTimeoutMs: number },
    outer: AbortSignal,
  ) {
    this.clock = clock;
    this.outer = outer;
    this.idleTimeoutMs = idleTimeoutMs;
    this.total = () => clock.alarm(timeoutMs, () => this.expire(`No complete reply arrived within ${timeoutMs} ms.`));
    this.cancelTotal = this.total();
    if (outer.aborted) this.abort();
    else outer.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Waits for the journal, for as long as it takes: its time is not the provider's. */
  recorded(writing: Promise<void>): Promise<void> {
    this.cancelTotal();
    return this.orAborted(writing);
  }

  /** Starts both timeouts, as the request goes out. */
  sent(): void {
    this.cancelTotal();
    this.cancelTotal = this.total();
    this.armedAt = this.clock.now();
    this.cancelIdle = this.clock.alarm(this.idleTimeoutMs, this.idle);
  }

  /** Restarts the idle timeout after a new part. Returns the time (epoch ms), so the caller need not read the clock again. */
  touch(): number {
    const at = this.clock.now();
    this.lastPartAt = at;
    return at;
  }

  /** Disables the idle timeout, because a full response arrives in one piece. */
  expectWhole(): void {
    this.cancelIdle();
  }

  /**
   * Settles like `promise`, but rejects as soon as the request is aborted, even if the provider ignores that; then `late`
   * gets the value.
   */
  orAborted<T>(promise: T | PromiseLike<T>, late?: (value: T) => void): Promise<T> {
    return unlessAborted(this.signal, promise, late);
  }

  /** Calls `end` after `delayMs`; the returned function cancels it. */
  after(delayMs: number, end: () => void): () => void {
    return this.clock.alarm(delayMs, end);
  }

  /** Ends the request now. */
  cancel(): void {
    this.controller.abort(new Error('the request was cancelled'));
  }

  clear(): void {
    this.cancelTotal();
    this.cancelIdle();
    this.outer.removeEventListener('abort', this.abort);
  }

  private readonly abort = (): void => this.controller.abort(this.outer.reason);

  /**
   * A reply has very many parts, so the alarm is set again only when it rings, for the time that is left. If the clock
   * is changed meanwhile, it may ring late; only two changes in a row can make it early.
   */
  private readonly idle = (): void => {
    const { armedAt, lastPartAt, idleTimeoutMs, clock } = this;
    const now = clock.now();
    const left = lastPartAt === null ? 0 : Math.max(lastPartAt - armedAt, lastPartAt + idleTimeoutMs - now);
    if (left === 0) {
      this.expire(`No part of the reply arrived for ${idleTimeoutMs} ms.`);
      return;
    }
    const leftMs = left > 0 && left < idleTimeoutMs ? left : idleTimeoutMs;
    this.armedAt = now + leftMs - idleTimeoutMs;
    this.lastPartAt = null;
    this.cancelIdle = clock.alarm(leftMs, this.idle);
  };

  private expire(message: string): void {
    this.expired ??= timeoutFault(message);
    this.controller.abort(new Error(message));
  }
}
