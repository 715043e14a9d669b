import type { Clock } from '../host/clock.ts';

/** A clock that stands still but for waiting: whoever waits finds the time passed at once, and it is written down. */
export type ManualClock = Clock & {
  /** Ms of each wait so far, in order. */
  readonly waits: number[];
  advance(ms: number): void;
};

/** `start` is epoch ms. With `hold`, nobody's wait ends by itself, so that a test can abort one. */
export function manualClock({ start = 1_700_000_000_000, hold = false } = {}): ManualClock {
  let now = start;
  const waits: number[] = [];
  return {
    waits,
    now: () => now,
    advance(ms) {
      now += ms;
    },
    async sleepUntil(dueAt, signal) {
      waits.push(dueAt - now);
      if (hold) await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      else now = Math.max(now, dueAt);
    },
  };
}
