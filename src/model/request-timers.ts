import type { Fault } from '../../machines/index.ts';
import { timeoutFault } from './faults.ts';

/** The two timeouts of a request, and one signal for them and for the effect's own abort. */
export class RequestTimers {
  private readonly controller = new AbortController();
  private readonly total: NodeJS.Timeout;
  private idle: NodeJS.Timeout;
  private readonly idleMs: number;
  private readonly outer: AbortSignal;
  private lastPartAt = performance.now();
  /** The timeout that ended the request. */
  expired: Fault | null = null;

  constructor({ timeoutMs, idleTimeoutMs }: { timeoutMs: number; idleTimeoutMs: number }, outer: AbortSignal) {
    this.outer = outer;
    this.idleMs = idleTimeoutMs;
    this.total = setTimeout(() => this.expire(`No whole reply came within ${timeoutMs} ms.`), timeoutMs);
    this.idle = setTimeout(this.checkIdle, idleTimeoutMs);
    if (outer.aborted) this.abort();
    else outer.addEventListener('abort', this.abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** A part has come: the idle timeout starts anew, when it next looks. */
  touch(): void {
    this.lastPartAt = performance.now();
  }

  /** What `promise` brings, or a rejection as soon as the request is aborted, heeded or not. */
  async orAborted<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const abort = () => reject(this.signal.reason);
      if (this.signal.aborted) abort();
      this.signal.addEventListener('abort', abort, { once: true });
      promise.then(
        (value) => {
          this.signal.removeEventListener('abort', abort);
          resolve(value);
        },
        (error) => {
          this.signal.removeEventListener('abort', abort);
          reject(error);
        },
      );
    });
  }

  clear(): void {
    clearTimeout(this.total);
    clearTimeout(this.idle);
    this.outer.removeEventListener('abort', this.abort);
  }

  private readonly abort = (): void => this.controller.abort(this.outer.reason);

  private readonly checkIdle = (): void => {
    const left = this.idleMs - (performance.now() - this.lastPartAt);
    if (left > 0) this.idle = setTimeout(this.checkIdle, left);
    else this.expire(`No part of the reply came for ${this.idleMs} ms.`);
  };

  private expire(message: string): void {
    this.expired ??= timeoutFault(message);
    this.controller.abort(new Error(message));
  }
}
