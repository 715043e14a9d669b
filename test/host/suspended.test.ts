import { describe, expect, it } from 'vitest';
import { command, driving, effect, outcome, quiet, resuming } from '../support/driving.ts';
import { until } from '../support/journaled.ts';

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
    const { driver, request } = resuming();
    driver.start(() => request(effect('a')));
    driver.replay.step();
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
