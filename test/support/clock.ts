import { type Clock, systemClock } from '../../src/host/clock.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** A manual clock with real-time timeouts; waits still pass at once. */
export function withRealAlarms({ now, sleepUntil }: ManualClock): Clock {
  return { now, sleepUntil, alarm: systemClock.alarm };
}

/** A clock with the same time; `armed` resolves with the delay of its first alarm below `mostMs`. */
export function watchedClock(clock: ManualClock, mostMs: number): { clock: Clock; armed: Promise<number> } {
  const { promise, resolve } = Promise.withResolvers<number>();
  const alarm: Clock['alarm'] = (delayMs, ring) => {
    if (delayMs < mostMs) resolve(delayMs);
    return clock.alarm(delayMs, ring);
  };
  return { clock: { ...clock, alarm }, armed: promise };
}
