import { isPromiseLike } from '../platform/promises.ts';
import type { Clock } from './clock.ts';

/**
 * A task's limits: `timeoutMs` (null: no time limit), and `signal`, which aborts it. When the time is up, `moreMs` says how
 * much more the task has; 0 for none.
 */
export type TaskLimits = {
  clock: Clock;
  timeoutMs: number | null;
  signal?: AbortSignal | undefined;
  moreMs?: () => number;
};

/** Receives the outcome of a task that passed its limit. */
export type Late<T> = { value?: (value: T) => void; error?: (error: unknown) => void };

export type TaskEnd<T> = { kind: 'done'; value: T } | { kind: 'expired' } | { kind: 'aborted'; reason: unknown };

/**
 * Runs `task` within its limits. At a limit, the task's signal aborts and this resolves at once; if the task ignores
 * the signal, `late` gets its eventual outcome. Does not start the task if `signal` is already aborted. Rejects if
 * the task does.
 */
export function within<T>(
  { clock, timeoutMs, signal, moreMs = () => 0 }: TaskLimits,
  task: (signal: AbortSignal) => T | PromiseLike<T>,
  late: Late<T> = {},
): Promise<TaskEnd<T>> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      resolve({ kind: 'aborted', reason: signal.reason });
      return;
    }
    const controller = new AbortController();
    let over = false;
    let cancel = () => {};
    const leave = () => {
      over = true;
      cancel();
      signal?.removeEventListener('abort', abort);
    };
    const abort = () => {
      leave();
      controller.abort(signal?.reason);
      resolve({ kind: 'aborted', reason: signal?.reason });
    };
    const expire = () => {
      const more = moreMs();
      if (more > 0) {
        cancel = clock.alarm(more, expire);
        return;
      }
      leave();
      controller.abort(new Error(`not finished within ${timeoutMs} ms`));
      resolve({ kind: 'expired' });
    };
    signal?.addEventListener('abort', abort);
    if (timeoutMs !== null) cancel = clock.alarm(timeoutMs, expire);
    const settle = (value: T) => {
      if (over) return late.value?.(value);
      leave();
      resolve({ kind: 'done', value });
    };
    const fail = (error: unknown) => {
      if (over) return late.error?.(error);
      leave();
      reject(error);
    };
    try {
      const running = task(controller.signal);
      if (isPromiseLike(running)) running.then(settle, fail);
      else settle(running);
    } catch (error) {
      fail(error);
    }
  });
}

/** Settles like `promise`, or rejects with the signal's reason as soon as it aborts; then `late` gets the value. */
export function unlessAborted<T>(
  signal: AbortSignal,
  promise: T | PromiseLike<T>,
  late: (value: T) => void = () => {},
): Promise<T> {
  return new Promise((resolve, reject) => {
    let over = false;
    const abort = () => {
      over = true;
      reject(signal.reason);
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    // A model without types may answer at once.
    Promise.resolve(promise).then(
      (value) => {
        signal.removeEventListener('abort', abort);
        if (over) late(value);
        else resolve(value);
      },
      (error) => {
        signal.removeEventListener('abort', abort);
        reject(error);
      },
    );
  });
}

/** `within` for just the value: rejects with `message` when the time is up, or with the reason of an abort. */
export async function inTime<T>(
  limits: TaskLimits,
  message: string,
  task: (signal: AbortSignal) => T | PromiseLike<T>,
): Promise<T> {
  const ending = await within(limits, task);
  if (ending.kind === 'done') return ending.value;
  throw ending.kind === 'aborted' ? ending.reason : new Error(message);
}

/**
 * Waits until a limit that began at `since` (epoch ms), maybe in another process, is over, or its signal aborts. If
 * the clock was set back, it begins again.
 */
export async function waitOut({ clock, timeoutMs, signal }: TaskLimits, since: number): Promise<void> {
  const left = timeoutMs === null ? null : Math.max(0, since + timeoutMs - Math.max(clock.now(), since));
  await within({ clock, timeoutMs: left, signal }, () => new Promise<never>(() => {}));
}
