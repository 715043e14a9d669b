import type { Fault } from '../../machines/index.ts';
import type { Clock } from '../host/clock.ts';
import { type Late, within } from '../host/deadline.ts';
import { timeoutFault } from './faults.ts';

/** A request's two timeouts, merged with the effect's abort into one signal. */
export class RequestTimers {
  private readonly controller = new AbortController();
  private readonly clock: Clock;
  private readonly outer: AbortSignal;
  private readonly idleTimeoutMs: number;
  private readonly cancelTotal: () => void;
  private cancelIdle: () => void;
  private whole = false;
  /** The timeout that ended the request. */
  expired: Fault | null = null;

  constructor(
    { clock, timeoutMs, idleTimeoutMs }: { clock: Clock; timeoutMs: number; idleTimeoutMs: number },
    outer: AbortSignal,
  ) {
    this.clock = clock;
    this.outer = outer;
    this.idleTimeoutMs = idleTimeoutMs;
    this.cancelTotal = clock.alarm(timeoutMs, () => this.expire(`No complete reply arrived within ${timeoutMs} ms.`));
    this.cancelIdle = clock.alarm(idleTimeoutMs, this.idle);
    if (outer.aborted) this.abort();
    else outer.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Restarts the idle timeout after a new part. */
  touch(): void {
    if (this.whole) return;
    this.cancelIdle();
    this.cancelIdle = this.clock.alarm(this.idleTimeoutMs, this.idle);
  }

  /** Disables the idle timeout, because a full response arrives in one piece. */
  expectWhole(): void {
    this.whole = true;
    this.cancelIdle();
  }

  /** Settles like `promise`, but rejects as soon as the request is aborted, even if the provider ignores that. */
  async orAborted<T>(promise: T | PromiseLike<T>, late?: Late<T>): Promise<T> {
    const ending = await within({ clock: this.clock, timeoutMs: null, signal: this.signal }, () => promise, late);
    if (ending.kind === 'done') return ending.value;
    throw this.signal.reason;
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

  private readonly idle = (): void => this.expire(`No part of the reply arrived for ${this.idleTimeoutMs} ms.`);

  private expire(message: string): void {
    this.expired ??= timeoutFault(message);
    this.controller.abort(new Error(message));
  }
}
