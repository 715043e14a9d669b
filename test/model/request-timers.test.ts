import { describe, expect, it } from 'vitest';
import { RequestTimers } from '../../src/model/request-timers.ts';
import { manualClock } from '../../src/testing/index.ts';

/** Timers over a clock whose time of day can be changed, as an operator or a time server does. */
function timersWith(idleTimeoutMs: number) {
  const passing = manualClock();
  let changedBy = 0;
  const clock = { ...passing, now: () => passing.now() + changedBy };
  const timers = new RequestTimers({ clock, timeoutMs: 1_000_000, idleTimeoutMs }, new AbortController().signal);
  timers.sent();
  return { timers, pass: passing.advance, change: (ms: number) => (changedBy += ms) };
}

describe('the idle timeout of a request', () => {
  it('expires exactly its duration after the last part, however many came', () => {
    const { timers: atOnce, pass: passAtOnce } = timersWith(100);
    atOnce.touch();
    passAtOnce(99);
    expect(atOnce.expired).toBeNull();
    passAtOnce(1);
    expect(atOnce.expired).not.toBeNull();
    const { timers, pass } = timersWith(100);
    for (const gap of [1, 99, 100 - 1, 40, 60, 0, 99]) {
      pass(gap);
      timers.touch();
    }
    pass(99);
    expect(timers.expired).toBeNull();
    pass(1);
    expect(timers.expired).toMatchObject({ kind: 'timeout', message: 'No part of the reply arrived for 100 ms.' });
    expect(timers.signal.aborted).toBe(true);
  });

  it('ends no reply whose parts arrive in time, even if the clock is changed', () => {
    for (const ms of [3_600_000, -3_600_000, 150, -150, 20, -20]) {
      const { timers, pass, change } = timersWith(100);
      pass(50);
      timers.touch();
      change(ms);
      for (let part = 0; part < 10; part += 1) {
        pass(90);
        expect(timers.expired).toBeNull();
        timers.touch();
      }
      pass(200);
      expect(timers.expired).not.toBeNull();
    }
  });

  it('begins as the request goes out', () => {
    const clock = manualClock();
    const timers = new RequestTimers({ clock, timeoutMs: 1_000, idleTimeoutMs: 100 }, new AbortController().signal);
    clock.advance(500);
    timers.sent();
    clock.advance(99);
    expect(timers.expired).toBeNull();
    clock.advance(1);
    expect(timers.expired).toMatchObject({ kind: 'timeout' });
  });

  it('does not ring once a whole response is expected', () => {
    const { timers, pass } = timersWith(100);
    timers.touch();
    timers.expectWhole();
    pass(1_000);
    expect(timers.expired).toBeNull();
  });
});
