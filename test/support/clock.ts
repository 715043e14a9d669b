import { type Clock, systemClock } from '../../src/host/clock.ts';
import type { ManualClock } from '../../src/testing/index.ts';

/** The same clock with timeouts in real time: waits still pass at once. */
export function withRealAlarms({ now, sleepUntil }: ManualClock): Clock {
  return { now, sleepUntil, alarm: systemClock.alarm };
}
