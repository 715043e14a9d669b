import { getEventListeners } from 'node:events';
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

  it('counts from the last part, even if the clock was changed before it or after it', () => {
    const { timers: before, pass: passBefore, change: changeBefore } = timersWith(100);
    passBefore(50);
    changeBefore(-30);
    before.touch();
    passBefore(99);
    expect(before.expired).toBeNull();
    passBefore(1);
    expect(before.expired).not.toBeNull();
    const { timers: after, pass: passAfter, change: changeAfter } = timersWith(100);
    passAfter(50);
    after.touch();
    passAfter(60);
    after.touch();
    changeAfter(30);
    passAfter(99);
    expect(after.expired).toBeNull();
    passAfter(1);
    expect(after.expired).not.toBeNull();
  });

  it('after two changes in a row, waits once more rather than ring at once', () => {
    const { timers, pass, change } = timersWith(100);
    pass(50);
    change(-80);
    timers.touch();
    change(100);
    pass(149);
    expect(timers.expired).toBeNull();
    pass(1);
    expect(timers.expired).not.toBeNull();
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

describe('the end of a request', () => {
  function timersUnder(outer: AbortSignal) {
    const clock = manualClock();
    return { clock, timers: new RequestTimers({ clock, timeoutMs: 1_000, idleTimeoutMs: 100 }, outer) };
  }

  it('comes with its whole timeout, even if parts arrive', async () => {
    const { clock, timers } = timersUnder(new AbortController().signal);
    timers.sent();
    for (let part = 0; part < 19; part += 1) {
      clock.advance(50);
      timers.touch();
    }
    expect(timers.expired).toBeNull();
    clock.advance(50);
    expect(timers.expired).toMatchObject({
      kind: 'timeout',
      message: 'No complete reply arrived within 1000 ms.',
      status: null,
      retryAfterMs: null,
    });
    expect(timers.signal.reason).toMatchObject({ message: 'No complete reply arrived within 1000 ms.' });
    // The first timeout is the one that ended it.
    clock.advance(1_000);
    expect(timers.expired).toMatchObject({ message: 'No complete reply arrived within 1000 ms.' });
    await expect(timers.orAborted(new Promise(() => {}))).rejects.toThrow('within 1000 ms');
  });

  it("D-2: comes with the effect's abort, before it or during it, and is no timeout", () => {
    const before = AbortSignal.abort('earlier');
    expect(timersUnder(before).timers.signal.reason).toBe('earlier');
    expect(getEventListeners(before, 'abort')).toEqual([]);
    const controller = new AbortController();
    const { timers } = timersUnder(controller.signal);
    expect(timers.signal.aborted).toBe(false);
    controller.abort('now');
    expect(timers.signal.reason).toBe('now');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    expect(timers.expired).toBeNull();
  });

  it('comes when it is cancelled', () => {
    const { timers } = timersUnder(new AbortController().signal);
    timers.cancel();
    expect(timers.signal.reason).toMatchObject({ message: 'the request was cancelled' });
    expect(timers.expired).toBeNull();
  });

  it('leaves no timer and no listener', () => {
    const controller = new AbortController();
    const { clock, timers } = timersUnder(controller.signal);
    timers.sent();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    timers.clear();
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
    clock.advance(10_000);
    expect([timers.expired, timers.signal.aborted]).toEqual([null, false]);
  });

  it('comes no sooner if the request was not sent yet, and other alarms can be set and cancelled', () => {
    const { clock, timers } = timersUnder(new AbortController().signal);
    const rung: string[] = [];
    timers.after(10, () => rung.push('kept'));
    timers.after(10, () => rung.push('cancelled'))();
    clock.advance(999);
    expect(rung).toEqual(['kept']);
    expect(timers.expired).toBeNull();
    clock.advance(1);
    expect(timers.expired).not.toBeNull();
  });

  it('a value that comes after the abort goes to `late`', async () => {
    const { timers } = timersUnder(new AbortController().signal);
    expect(await timers.orAborted('at once')).toBe('at once');
    const late: string[] = [];
    const { promise, resolve } = Promise.withResolvers<string>();
    const waiting = timers.orAborted(promise, (value) => late.push(value));
    timers.cancel();
    await expect(waiting).rejects.toThrow('the request was cancelled');
    resolve('late');
    await promise;
    expect(late).toEqual(['late']);
  });
});
