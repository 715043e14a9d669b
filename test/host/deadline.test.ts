import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { inTime, unlessAborted, waitOut, within } from '../../src/host/deadline.ts';
import { isPromiseLike } from '../../src/platform/promises.ts';
import { manualClock } from '../../src/testing/index.ts';

const forever = () => new Promise<never>(() => {});
const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

/** Limits of 50 ms on a clock that the test moves, and a signal of the caller. */
function limited() {
  const manual = manualClock();
  const alarms = new Set<object>();
  const alarm = (delayMs: number, ring: () => void) => {
    const one = {};
    alarms.add(one);
    const end = () => alarms.delete(one);
    const cancel = manual.alarm(delayMs, () => {
      end();
      ring();
    });
    return () => {
      end();
      cancel();
    };
  };
  const clock = { ...manual, alarm };
  const controller = new AbortController();
  return { clock, alarms, controller, limits: { clock, timeoutMs: 50, signal: controller.signal } };
}

describe('D-2: a task within its limits', () => {
  it('does not start if the caller has aborted already', async () => {
    const { controller, limits } = limited();
    controller.abort('enough');
    let started = false;
    const ending = await within(limits, () => {
      started = true;
    });
    expect([ending, started]).toEqual([{ kind: 'aborted', reason: 'enough' }, false]);
  });

  it('is told of an abort, which ends it at once; what it returns later is passed on', async () => {
    const { controller, limits } = limited();
    const task = Promise.withResolvers<string>();
    const late: unknown[] = [];
    const told: unknown[] = [];
    const ending = within(
      limits,
      (signal) => {
        signal.addEventListener('abort', () => told.push(signal.reason));
        return task.promise;
      },
      { value: (value) => late.push(value) },
    );
    controller.abort('enough');
    expect(await ending).toEqual({ kind: 'aborted', reason: 'enough' });
    expect([told, late, listenersOf(limits.signal)]).toEqual([['enough'], [], 0]);
    task.resolve('too late');
    await task.promise;
    expect(late).toEqual(['too late']);
  });

  it('ends at its timeout with a reason; how it fails later is passed on', async () => {
    const { clock, limits } = limited();
    const task = Promise.withResolvers<never>();
    const late: unknown[] = [];
    let own: AbortSignal | null = null;
    const ending = within(
      limits,
      (signal) => {
        own = signal;
        return task.promise;
      },
      { error: (error) => late.push(error) },
    );
    clock.advance(50);
    expect(await ending).toEqual({ kind: 'expired' });
    expect(own).toMatchObject({ aborted: true, reason: new Error('not finished within 50 ms') });
    expect(listenersOf(limits.signal)).toBe(0);
    task.reject('broken');
    await task.promise.catch(() => {});
    expect(late).toEqual(['broken']);
  });

  it.each([
    ['at once', () => 'done'],
    ['later', async () => 'done'],
  ])('leaves neither timer nor listener when it ends %s', async (_when, task) => {
    const { clock, alarms, limits } = limited();
    expect(await within(limits, task)).toEqual({ kind: 'done', value: 'done' });
    expect([listenersOf(limits.signal), alarms.size]).toEqual([0, 0]);
    expect(await within({ clock, timeoutMs: null }, task)).toEqual({ kind: 'done', value: 'done' });
  });

  it('rejects as the task does, whether it throws or rejects', async () => {
    const { alarms, limits } = limited();
    const throws = () => {
      throw new Error('broken');
    };
    await expect(within(limits, throws)).rejects.toThrow('broken');
    await expect(within(limits, async () => throws())).rejects.toThrow('broken');
    expect([listenersOf(limits.signal), alarms.size]).toEqual([0, 0]);
  });

  it('D-2: rejects with the reason of an abort, which is no timeout', async () => {
    const { clock } = limited();
    const reason = new Error('enough');
    const aborted = inTime({ clock, timeoutMs: 50, signal: AbortSignal.abort(reason) }, 'it took too long', forever);
    await expect(aborted).rejects.toBe(reason);
  });

  it('is ended without a signal of the caller, too', async () => {
    const { clock } = limited();
    const ending = inTime({ clock, timeoutMs: 50 }, 'it took too long', forever);
    const refused = expect(ending).rejects.toThrow('it took too long');
    clock.advance(50);
    await refused;
    expect(await inTime({ clock, timeoutMs: 50 }, 'it took too long', () => 7)).toBe(7);
  });
});

describe('D-2: a promise until an abort', () => {
  it('settles as it does, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await unlessAborted(signal, Promise.resolve(7))).toBe(7);
    expect(await unlessAborted(signal, 8)).toBe(8);
    await expect(unlessAborted(signal, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(listenersOf(signal)).toBe(0);
  });

  it.each(['before', 'during'])('rejects with the reason of an abort %s it; its value is passed on', async (when) => {
    const controller = new AbortController();
    const { signal } = controller;
    const promise = Promise.withResolvers<string>();
    const late: string[] = [];
    if (when === 'before') controller.abort(new Error('enough'));
    const value = unlessAborted(signal, promise.promise, (one) => late.push(one));
    controller.abort(new Error('enough'));
    await expect(value).rejects.toThrow('enough');
    expect([late, listenersOf(signal)]).toEqual([[], 0]);
    promise.resolve('too late');
    await promise.promise;
    await Promise.resolve();
    expect(late).toEqual(['too late']);
  });
});

describe('D-4: a limit that began in another process', () => {
  it('is over after what is left of it, or at the abort', async () => {
    const { clock, alarms, controller, limits } = limited();
    let over = false;
    const waited = waitOut(limits, clock.now() - 30).then(() => {
      over = true;
    });
    clock.advance(19);
    expect(over).toBe(false);
    clock.advance(1);
    await waited;
    const unlimited = waitOut({ ...limits, timeoutMs: null }, 0);
    controller.abort();
    await unlimited;
    expect(alarms.size).toBe(0);
  });

  it('begins again, but lasts no longer, by a clock that was set back', async () => {
    const { clock, limits } = limited();
    let over = false;
    const waited = waitOut(limits, clock.now() + 3_600_000).then(() => {
      over = true;
    });
    clock.advance(49);
    await Promise.resolve();
    expect(over).toBe(false);
    clock.advance(1);
    await waited;
  });

  it('is over at once if nothing is left', async () => {
    const { clock, limits } = limited();
    const waited = waitOut(limits, clock.now() - 1_000);
    clock.advance(0);
    await waited;
  });
});

it.each<[unknown, boolean]>([
  [null, false],
  ['then', false],
  [{}, false],
  [Object.fromEntries([['then', 7]]), false],
  [() => {}, false],
  [Object.fromEntries([['then', () => {}]]), true],
  [Promise.resolve(), true],
])('%s counts as a promise: %s', (value, isOne) => {
  expect(isPromiseLike(value)).toBe(isOne);
});
