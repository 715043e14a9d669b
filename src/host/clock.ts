/** The clock as a port: tests pass one that they control, and never sleep. */
export type Clock = {
  /** Epoch ms. */
  now(): number;
  /** Resolves at `dueAt` (epoch ms) or when `signal` aborts: for a wait that blocks the session. */
  sleepUntil(dueAt: number, signal: AbortSignal): Promise<void>;
  /** Calls `ring` once `delayMs` have passed, unless the returned function cancels it: for a limit on other work. */
  alarm(delayMs: number, ring: () => void): () => void;
};

/** The longest delay that a timer supports, in ms. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  sleepUntil: (dueAt, signal) => sleep(systemClock, dueAt - Date.now(), signal),
  alarm(delayMs, ring) {
    let timeout: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      timeout = setTimeout(
        () => (leftMs > longestTimerMs ? arm(leftMs - longestTimerMs) : ring()),
        Math.min(leftMs, longestTimerMs),
      );
    };
    arm(delayMs);
    return () => clearTimeout(timeout);
  },
};

/** Taken at once, so that the fake timers of a user's test hold up no session. */
const { setImmediate, setTimeout: setTimer, MessageChannel } = globalThis;

/** Lets the process do what else it has to do, such as to read a socket. */
export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (setImmediate !== undefined) setImmediate(resolve);
    else if (MessageChannel !== undefined) afterMessage(new MessageChannel(), resolve);
    else setTimer(resolve, 0);
  });
}

/** A browser slows down the timers of a hidden tab, but no messages. */
function afterMessage({ port1, port2 }: InstanceType<typeof MessageChannel>, resolve: () => void): void {
  const received = () => {
    port1.close();
    resolve();
  };
  port1.addEventListener('message', received, { once: true });
  port1.start();
  port2.postMessage(null);
}

/** Resolves after `delayMs`, by a timer that does not keep the process alive. */
export function restingSleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer: unknown = setTimeout(resolve, delayMs);
    if (timer instanceof Object && 'unref' in timer && typeof timer.unref === 'function') timer.unref();
  });
}

/** Resolves after `delayMs`, or when `signal` aborts. This does not advance a manual clock. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (delayMs <= 0 || signal?.aborted) {
      resolve();
      return;
    }
    const end = () => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.alarm(delayMs, end);
    signal?.addEventListener('abort', end, { once: true });
  });
}
