import { describe, expect, it } from 'vitest';
import type { Delivery, Effect } from '../../machines/index.ts';
import type { Outcome } from '../../src/host/driver-core.ts';
import { Host } from '../../src/host/host.ts';
import { type DriverLog, JournaledDriver } from '../../src/host/journaled.ts';
import { until } from '../support/journaled.ts';

const outcome = { done: true } as unknown as Outcome;
const effect = (key: string, kind = 'tool'): Effect => ({ kind, key, request: {} }) as unknown as Effect;
const settled = (key: string): Delivery => ({ key, at: 7, chance: 0.5, outcome: outcome as never });

/** Lets everything run that waits for nothing. */
async function quiet(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
}

/** A journaled driver whose log says what it does, in order; writes can be held back. */
function driving({ isReplay = false, interrupted = [] as string[], awaited = true } = {}) {
  const told: string[] = [];
  const held: (() => void)[] = [];
  let holds = false;
  let fails: Error | null = null;
  const written = async (what: string) => {
    if (fails !== null) throw fails;
    if (holds) await new Promise<void>((resolve) => held.push(resolve));
    told.push(what);
  };
  const log: DriverLog = {
    start: () => written('start'),
    begun: (keys, at) => written(`begun ${keys.join(' ')} ${at}`),
    delivered: (deliveries) =>
      written(`delivered ${deliveries.map((one) => ('key' in one ? one.key : one.event)).join(' ')}`),
    applying: (step) => {
      told.push('step');
      step();
    },
    failed: (error) => void told.push(`failed ${(error as Error).message}`),
  };
  const policy = {
    interrupted: ({ key }: Effect) => (interrupted.includes(key) ? outcome : null),
    isAwaited: () => awaited,
  };
  const ends = new Map<string, () => void>();
  const signals = new Map<string, AbortSignal>();
  const host = new Host();
  let requests: Record<string, Effect[]> = {};
  const request = (one: Effect) => host.request(one, { send: () => {} });
  const driver = new JournaledDriver(log, policy, isReplay).attach(
    host,
    (one, { signal, since }) => {
      told.push(`begins ${one.key} ${since}`);
      signals.set(one.key, signal);
      return new Promise((resolve) => ends.set(one.key, () => resolve(outcome)));
    },
    {
      now: () => 7,
      chance: () => 0.5,
      command: (event) => {
        told.push(`command ${event}`);
        for (const one of requests[String(event)] ?? []) request(one);
        if (String(event) === 'cancel b') host.cancel('b');
      },
      delivering: () => {},
      describeDefect: String,
      late: (key) => void told.push(`late ${key}`),
    },
  );
  const end = async (key: string) => {
    ends.get(key)?.();
    await quiet();
  };
  return {
    ...{ driver, told, host, request, end, signals },
    onCommand: (given: typeof requests) => (requests = given),
    hold: () => (holds = true),
    isHeld: () => held.length > 0,
    release: async (whole = true) => {
      holds = !whole;
      for (const resume of held.splice(0)) resume();
      await quiet();
    },
    fail: (error: Error) => (fails = error),
    since: () => told.splice(0),
  };
}

const command = (name: string) => name as never;

describe('D-3: the journaled driver writes before it acts', () => {
  it('marks an effect before it begins, and delivers a result once it is durable', async () => {
    const { driver, request, since, end, hold, release } = driving();
    driver.start(() => request(effect('a')));
    await quiet();
    expect(since()).toEqual(['start', 'step', 'begun a 7', 'begins a 7']);
    hold();
    await end('a');
    expect([since(), driver.isBusy]).toEqual([[], true]);
    await release();
    expect([since(), driver.isBusy]).toEqual([['delivered a', 'step'], false]);
    await driver.settled();
  });

  it('a command that comes during a mark is delivered before the effect begins, and may cancel it', async () => {
    const { driver, request, since, hold, release } = driving();
    hold();
    driver.start(() => {
      request(effect('a'));
      request(effect('b'));
    });
    await quiet();
    await release(false);
    expect(since()).toEqual(['start', 'step']);
    driver.command(command('cancel b'));
    await release();
    expect(since()).toEqual(['begun a b 7', 'delivered cancel b', 'step', 'command cancel b', 'begins a 7']);
  });

  it('commands that come together are one delivery, and an effect requested then is marked with the others', async () => {
    const { driver, since, onCommand } = driving();
    onCommand({ one: [effect('a')], two: [effect('b')] });
    driver.start(() => {});
    await quiet();
    since();
    driver.command(command('one'));
    driver.command(command('two'));
    await quiet();
    expect(since()).toEqual([
      ...['delivered one two', 'step', 'command one', 'step', 'command two'],
      ...['begun a b 7', 'begins a 7', 'begins b 7'],
    ]);
  });

  it('a key that was answered from outside is delivered, and its result is late', async () => {
    const { driver, request, since, end, signals } = driving();
    driver.start(() => request(effect('a')));
    await quiet();
    since();
    driver.answer('a', outcome);
    await quiet();
    expect(since()).toEqual(['delivered a', 'step']);
    expect(signals.get('a')?.aborted).toBe(true);
    driver.answer('a', outcome);
    await end('a');
    expect(since()).toEqual(['delivered a', 'step', 'late a']);
  });

  it('reports a write that fails, and does nothing more', async () => {
    const { driver, request, since, fail } = driving();
    driver.start(() => request(effect('a')));
    fail(new Error('no disk'));
    await quiet();
    expect(since()).toEqual(['start', 'step', 'failed no disk']);
  });

  it('refuses a command before it is attached to a host', () => {
    const log = { start: () => Promise.resolve() } as DriverLog;
    const driver = new JournaledDriver(log, { interrupted: () => null, isAwaited: () => true }, false);
    expect(() => driver.command(command('stop'))).toThrow('the driver is not attached to a host');
  });
});

describe('D-4: the journaled driver replays and continues', () => {
  it('takes no command and begins nothing while it replays; then what was marked continues from its first mark', async () => {
    const { driver, request, since, onCommand } = driving({ isReplay: true, interrupted: ['tool'] });
    onCommand({ go: [effect('again'), effect('tool'), effect('new')] });
    driver.start(() => request(effect('first')));
    driver.command(command('ignored'));
    expect(driver.replayStep()).toBe(true);
    driver.replayMark('first', 3);
    driver.replayMark('first', 5);
    driver.replayDelivery(settled('first'));
    driver.replayDelivery({ at: 4, event: command('go') });
    expect(driver.replayStep()).toBe(true);
    expect(driver.replayStep()).toBe(true);
    expect(driver.replayStep()).toBe(false);
    driver.replayMark('again', 5);
    driver.replayMark('again', 8);
    driver.replayMark('tool', 6);
    expect(driver.pendingEffects.map(({ key }) => key)).toEqual(['again', 'tool', 'new']);
    expect(driver.interrupted).toEqual(['tool']);
    expect(driver.needsTools).toBe(true);
    expect(since()).toEqual(['command go']);
    driver.catchUp();
    driver.command(command('late'));
    await quiet();
    expect([since(), driver.isBusy]).toEqual([[], false]);
    driver.goOn();
    expect(driver.isBusy).toBe(true);
    await quiet();
    expect(since()).toEqual([
      ...['delivered late', 'step', 'command late', 'delivered tool', 'step', 'begun new 7'],
      ...['begins again 5', 'begins new 7'],
    ]);
  });

  it('steps whose deliveries were written, but not what followed, are taken when it has caught up', async () => {
    const { driver, request, since } = driving({ isReplay: true });
    driver.start(() => request(effect('a')));
    driver.replayStep();
    driver.replayDelivery(settled('a'));
    driver.catchUp();
    expect(since()).toEqual(['step']);
    expect(driver.pendingEffects).toEqual([]);
  });

  it.each([
    [[], false],
    [[effect('a')], true],
    [[effect('p', 'prepare')], false],
    [[effect('c', 'close')], false],
    [[effect('a'), effect('c', 'close')], false],
  ])('its tools are needed again, unless nothing is pending or they were not open: %j', (effects, needs) => {
    const { driver, request } = driving({ isReplay: true });
    driver.start(() => {
      for (const one of effects) request(one);
    });
    driver.replayStep();
    expect(driver.needsTools).toBe(needs);
  });
});

describe('D-4: the journaled driver suspends and lets go', () => {
  it('begins no further effect, and waits for those that are awaited', async () => {
    const { driver, request, since, end, onCommand } = driving();
    onCommand({ more: [effect('b')] });
    driver.start(() => request(effect('a')));
    await quiet();
    since();
    let isIdle = false;
    const idle = driver.suspend().then(() => (isIdle = true));
    driver.command(command('more'));
    await quiet();
    expect([since(), isIdle]).toEqual([['delivered more', 'step', 'command more'], false]);
    await end('a');
    await idle;
    expect(since()).toEqual(['delivered a', 'step']);
  });

  it('an effect that is marked still begins; one that is not awaited does not hold it up', async () => {
    const { driver, request, since, hold, release } = driving({ awaited: false });
    driver.start(() => request(effect('a')));
    hold();
    await release();
    expect(since()).toEqual(['start', 'step', 'begun a 7', 'begins a 7']);
    await driver.suspend();
    const marking = driving({ awaited: false });
    marking.driver.start(() => marking.request(effect('a')));
    await Promise.resolve();
    marking.hold();
    await quiet();
    const idle = marking.driver.suspend();
    await marking.release();
    await idle;
    expect(marking.since().at(-1)).toBe('begins a 7');
  });

  it('what is requested while the last mark is written does not begin', async () => {
    const { driver, since, hold, isHeld, release, onCommand } = driving({ awaited: false });
    onCommand({ first: [effect('a')], more: [effect('b')] });
    driver.start(() => {});
    await quiet();
    since();
    hold();
    driver.command(command('first'));
    await until(isHeld);
    await release(false);
    await until(isHeld);
    const idle = driver.suspend();
    driver.command(command('more'));
    await release();
    await idle;
    expect(since()).toEqual([
      ...['delivered first', 'step', 'command first', 'begun a 7'],
      ...['delivered more', 'step', 'command more', 'begins a 7'],
    ]);
    expect(driver.pendingEffects).toEqual([effect('b')]);
  });

  it('a session that was let go of does not become one that is suspended', async () => {
    const { driver, since } = driving();
    driver.start(() => {});
    await quiet();
    since();
    driver.release();
    void driver.suspend();
    driver.command(command('stop'));
    await quiet();
    expect([since(), driver.isBusy]).toEqual([[], false]);
  });

  it('after a replay alone it is idle at once', async () => {
    const { driver, request } = driving({ isReplay: true });
    driver.start(() => request(effect('a')));
    driver.replayStep();
    driver.catchUp();
    await driver.suspend();
    expect(driver.isBusy).toBe(false);
  });

  it('once it is let go of, signals abort and nothing is delivered', async () => {
    const { driver, request, since, signals, end } = driving();
    driver.start(() => request(effect('a')));
    await quiet();
    since();
    const idle = driver.suspend();
    driver.release();
    await idle;
    expect(signals.get('a')?.aborted).toBe(true);
    driver.command(command('stop'));
    driver.answer('a', outcome);
    await end('a');
    expect([since(), driver.isBusy]).toEqual([[], false]);
  });
});
