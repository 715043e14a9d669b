import { z } from 'zod';
import type { Clock } from '../host/clock.ts';
import { check } from '../input/check.ts';
import { flag } from '../input/shapes.ts';

/**
 * A clock that advances only for waits: a wait that blocks the session, such as a backoff, ends at once and is
 * recorded. Anything else, such as a tool's timeout or a budget's deadline, needs `advance` or a longer wait.
 */
export type ManualClock = Clock & {
  /** Ms of each wait so far, in order. */
  readonly waits: number[];
  /** Advances the clock: due alarms fire in order, and due held waits end. Throws `invalid_options`. */
  advance(ms: number): void;
};

type Alarm = { dueAt: number; ring: () => void };

const optionsSchema = z.strictObject({
  start: z.number({ error: 'a time in epoch ms' }).default(1_700_000_000_000),
  hold: flag.default(false),
});

const forward = 'a number of ms of at least 0';
const forwardSchema = z.number({ error: forward }).min(0, { error: forward });

/**
 * `start` is epoch ms. With `hold`, waits last until the test ends them, so it can stop or abort a waiting session.
 * Throws `invalid_options`.
 */
export function manualClock(options: { start?: number; hold?: boolean } = {}): ManualClock {
  const { start, hold } = check(optionsSchema, options, 'options', 'invalid_options');
  let now = start;
  let alarms: Alarm[] = [];
  const waits: number[] = [];
  const set = (alarm: Alarm) => {
    alarms.push(alarm);
    return () => {
      alarms = alarms.filter((one) => one !== alarm);
    };
  };
  const passUntil = (then: number) => {
    for (;;) {
      const [next] = alarms.filter(({ dueAt }) => dueAt <= then).sort((one, other) => one.dueAt - other.dueAt);
      if (next === undefined) break;
      alarms = alarms.filter((one) => one !== next);
      now = Math.max(now, next.dueAt);
      next.ring();
    }
    now = Math.max(now, then);
  };
  return {
    waits,
    now: () => now,
    advance: (ms) => passUntil(now + check(forwardSchema, ms, 'ms', 'invalid_options')),
    alarm: (delayMs, ring) => set({ dueAt: now + delayMs, ring }),
    async sleepUntil(dueAt, signal) {
      waits.push(dueAt - now);
      if (hold) {
        await new Promise<void>((resolve) => {
          if (signal.aborted) return resolve();
          set({ dueAt, ring: resolve });
          return signal.addEventListener('abort', () => resolve(), { once: true });
        });
      } else {
        passUntil(dueAt);
      }
    },
  };
}
