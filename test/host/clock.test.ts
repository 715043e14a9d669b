import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { eventLoopTurn, sleep, systemClock } from '../../src/host/clock.ts';
import { RunningEffect } from '../../src/host/effect-context.ts';

const longestMs = 2 ** 31 - 1;

describe('the clock of the system', () => {
  beforeEach(() => void vi.useFakeTimers({ now: 1_000 }));
  afterEach(() => void vi.useRealTimers());

  it('rings once the time has passed, however long that is, unless it is cancelled', () => {
    const rung: string[] = [];
    systemClock.alarm(10, () => rung.push('soon'));
    systemClock.alarm(longestMs, () => rung.push('at the limit'));
    systemClock.alarm(2 * longestMs + 5, () => rung.push('late'));
    systemClock.alarm(20, () => rung.push('never'))();
    const cancel = systemClock.alarm(longestMs + 20, () => rung.push('nor this'));
    vi.advanceTimersByTime(9);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(rung).toEqual(['soon']);
    vi.advanceTimersByTime(longestMs - 10);
    expect(rung).toEqual(['soon', 'at the limit']);
    cancel();
    vi.advanceTimersByTime(longestMs + 4);
    expect(rung).toHaveLength(2);
    vi.advanceTimersByTime(1);
    expect(rung).toEqual(['soon', 'at the limit', 'late']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sleeps until a time, or until its signal aborts', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    expect(systemClock.now()).toBe(1_000);
    let isAwake = false;
    const slept = systemClock.sleepUntil(1_050, signal).then(() => {
      isAwake = true;
    });
    await vi.advanceTimersByTimeAsync(49);
    expect(isAwake).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await slept;
    expect(systemClock.now()).toBe(1_050);
    const cut = systemClock.sleepUntil(9_999, signal);
    controller.abort();
    await cut;
    expect([systemClock.now(), vi.getTimerCount()]).toEqual([1_050, 0]);
  });

  it('a sleep leaves neither a timer nor a listener', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const listeners = () => getEventListeners(signal, 'abort').length;
    for (const end of [() => vi.advanceTimersByTime(50), () => controller.abort()]) {
      const slept = sleep(systemClock, 50, signal);
      expect([vi.getTimerCount(), listeners()]).toEqual([1, 1]);
      end();
      await slept;
      expect([vi.getTimerCount(), listeners()]).toEqual([0, 0]);
    }
    await sleep(systemClock, 50, signal);
    await sleep(systemClock, 0);
    await sleep(systemClock, -1);
    expect([vi.getTimerCount(), listeners()]).toEqual([0, 0]);
    const unsignalled = sleep(systemClock, 1);
    vi.advanceTimersByTime(1);
    await unsignalled;
  });
});

describe('a turn of the event loop', () => {
  const given = ['setImmediate', 'MessageChannel', 'setTimeout'] as const;
  afterEach(() => void vi.unstubAllGlobals());

  it.each([
    ['setImmediate', given],
    ['MessageChannel', given.slice(1)],
    ['setTimeout', given.slice(2)],
  ])('is made with %s, if a runtime has %j', async (expected, has) => {
    const used: string[] = [];
    const { setImmediate: immediate, MessageChannel: Channel, setTimeout: timer } = globalThis;
    vi.stubGlobal(
      'setImmediate',
      has.includes('setImmediate')
        ? (task: () => void) => immediate(() => [used.push('setImmediate'), task()])
        : undefined,
    );
    vi.stubGlobal(
      'MessageChannel',
      has.includes('MessageChannel')
        ? class extends Channel {
            port = used.push('MessageChannel');
          }
        : undefined,
    );
    vi.stubGlobal('setTimeout', (task: () => void, ms: number) => timer(() => [used.push('setTimeout'), task()], ms));
    vi.resetModules();
    const fresh = await import('../../src/host/clock.ts');
    let isOver = false;
    const turn = fresh.eventLoopTurn().then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(isOver).toBe(false);
    await turn;
    expect(used).toEqual([expected]);
  });

  it('starts the port that it listens to, as browsers require, and closes it', async () => {
    const done: string[] = [];
    const queue: (() => void)[] = [];
    const port1 = {
      addEventListener: (name: string, listener: () => void) => queue.push(() => [done.push(name), listener()]),
      start: () => void setImmediate(() => [done.push('started'), ...queue.map((deliver) => deliver())]),
      close: () => done.push('closed'),
    };
    const { setImmediate } = globalThis;
    vi.stubGlobal('setImmediate', undefined);
    vi.stubGlobal(
      'MessageChannel',
      class {
        port1 = port1;
        port2 = { postMessage: () => done.push('posted') };
      },
    );
    vi.resetModules();
    const fresh = await import('../../src/host/clock.ts');
    await fresh.eventLoopTurn();
    expect(done).toEqual(['posted', 'started', 'message', 'closed']);
  });

  it('lets what waits run first', async () => {
    const order: string[] = [];
    setImmediate(() => order.push('waited'));
    await eventLoopTurn();
    expect(order).toEqual(['waited']);
  });
});

describe('an effect under way', () => {
  it('has a signal that aborts when it is cancelled, whenever it is asked for', () => {
    const one = new RunningEffect({ kind: 'wait', key: 'k' } as never, 7);
    expect([one.key, one.since, one.signal.aborted]).toEqual(['k', 7, false]);
    one.cancel();
    expect([one.cancelled, one.signal.aborted]).toEqual([true, true]);
    const other = new RunningEffect({ kind: 'wait', key: 'k' } as never, 7);
    other.cancel();
    expect([other.signal.aborted, other.signal]).toEqual([true, other.signal]);
  });
});
