/** The clock as a port: tests bring one of their own and never sleep. */
export type Clock = {
  /** Epoch ms. */
  now(): number;
  /** Resolves at `dueAt` (epoch ms) or when `signal` aborts, whichever comes first. */
  sleepUntil(dueAt: number, signal: AbortSignal): Promise<void>;
};

/** The longest delay that a timer takes, in ms. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleepUntil(dueAt, signal) {
    for (let left = dueAt - Date.now(); left > 0 && !signal.aborted; left = dueAt - Date.now()) {
      await timer(Math.min(left, longestTimerMs), signal);
    }
  },
};

function timer(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timeout);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timeout = setTimeout(end, delayMs);
    signal.addEventListener('abort', end, { once: true });
  });
}
