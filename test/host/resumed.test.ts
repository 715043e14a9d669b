import { describe, expect, it } from 'vitest';
import { ReplayDriver } from '../../src/host/replay-driver.ts';
import { effect, outcome, quiet, resuming } from '../support/driving.ts';

/** A resumed session whose effect `first` is pending, once it lives. */
function living() {
  const driven = resuming();
  driven.driver.start(() => driven.request(effect('first')));
  expect(driven.driver.replay.step()).toBe(true);
  driven.driver.catchUp();
  driven.since();
  return driven;
}

describe('D-3, D-4: a session that is resumed has one driver after the other', () => {
  it('before it lives, nothing that it is told has an effect', async () => {
    const { driver, request, since } = resuming();
    driver.start(() => request(effect('first')));
    driver.replay.step();
    driver.answer('first', outcome as never);
    driver.goOn();
    driver.release();
    await driver.suspend();
    await driver.settled();
    await quiet();
    expect([since(), driver.isBusy]).toEqual([[], false]);
  });

  it('once it lives, answers are delivered, and what is settled is over', async () => {
    const { driver, since } = living();
    driver.goOn();
    await quiet();
    expect(since()).toContain('begins first 7');
    driver.answer('first', outcome as never);
    await driver.settled();
    expect(since()).toContain('delivered first');
    expect(driver.isBusy).toBe(false);
  });

  it('once it lives, a suspension waits for what runs, and a release ends it', async () => {
    const { driver, end, signals } = living();
    driver.goOn();
    await quiet();
    let isSuspended = false;
    const suspended = driver.suspend().then(() => (isSuspended = true));
    await quiet();
    expect(isSuspended).toBe(false);
    await end('first');
    await suspended;
    const other = living();
    other.driver.goOn();
    await quiet();
    other.driver.release();
    expect([signals.get('first')?.aborted, other.signals.get('first')?.aborted]).toEqual([false, true]);
  });

  it('an effect that has ended has no mark, and a driver needs a host', () => {
    const { driver, request } = resuming();
    driver.start(() => request(effect('first')));
    driver.replay.step();
    driver.replay.mark('first', 3);
    expect([...driver.replay.begunAt]).toEqual([['first', 3]]);
    driver.replay.deliver({ key: 'first', at: 4, chance: 0, outcome: outcome as never });
    driver.replay.step();
    expect([...driver.replay.begunAt]).toEqual([]);
    expect(() => new ReplayDriver().pending).toThrow('the driver is not attached to a host');
  });
});
