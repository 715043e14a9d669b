import { type ManualClock, manualClock } from '../../src/testing/index.ts';

/** A manual clock, and how many of its alarms nothing has cancelled. */
export function countedClock(): { clock: ManualClock; alarms: () => number } {
  const manual = manualClock();
  const set = new Set<() => void>();
  const alarm: ManualClock['alarm'] = (delayMs, ring) => {
    const cancel = manual.alarm(delayMs, ring);
    set.add(cancel);
    return () => {
      set.delete(cancel);
      cancel();
    };
  };
  return { clock: { ...manual, alarm }, alarms: () => set.size };
}
