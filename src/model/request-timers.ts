import type { Fault } from '../../machines/index.ts';
import { timeoutFault } from './faults.ts';

/** The two timeouts of a request, and one signal for them and for the effect's own abort. */
export class RequestTimers {
  private readonly controller = new AbortController();
  private timeout: NodeJS.Timeout;
  private readonly timeoutMs: number;
  private idleTimeoutMs: number;
  private readonly outer: AbortSignal;
  private readonly startedAt = performance.now();
  private lastPartAt = this.startedAt;
  /** The timeout that ended the request. */
  expired: Fault | null = null;

  constructor({ timeoutMs, idleTimeoutMs }: { timeoutMs: number; idleTimeoutMs: number }, outer: AbortSignal) {
    this.outer = outer;
    this.timeoutMs = timeoutMs;
    this.idleTimeoutMs = idleTimeoutMs;
    this.timeout = setTimeout(this.check, Math.min(timeoutMs, idleTimeoutMs));
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

  /** A whole response is awaited: it comes at once, so that it cannot be idle. */
  expectWhole(): void {
    this.idleTimeoutMs = Number.POSITIVE_INFINITY;
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
    clearTimeout(this.timeout);
    this.outer.removeEventListener('abort', this.abort);
  }

  private readonly abort = (): void => this.controller.abort(this.outer.reason);

  private readonly check = (): void => {
    const now = performance.now();
    const totalLeft = this.timeoutMs - (now - this.startedAt);
    const idleLeft = this.idleTimeoutMs - (now - this.lastPartAt);
    if (totalLeft <= 0) this.expire(`No whole reply came within ${this.timeoutMs} ms.`);
    else if (idleLeft <= 0) this.expire(`No part of the reply came for ${this.idleTimeoutMs} ms.`);
    else this.timeout = setTimeout(this.check, Math.min(totalLeft, idleLeft));
  };

  private expire(message: string): void {
    this.expired ??= timeoutFault(message);
    this.controller.abort(new Error(message));
  }
}
