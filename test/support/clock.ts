import { type Clock, systemClock } from '../../src/host/clock.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** A manual clock with real-time timeouts; waits still pass at once. */
export function withRealAlarms({ now, sleepUntil }: ManualClock): Clock {
  return { now, sleepUntil, alarm: systemClock.alarm };
}
