import { describe, expect, it } from 'vitest';
import { type DriverLog, JournaledDriver } from '../../src/host/journaled.ts';
import { command, driving, effect, outcome, quiet, resuming, settled } from '../support/driving.ts';

describe('D-3: the journaled driver writes before it acts', () => {
  it('marks an effect before it begins, and delivers a result once it is durable', async () => {
    const { driver, request, since, end, hold, release } = driving();
    driver.start(() => request(effect('a')));
    await quiet();
    expect(since()).toEqual(['start', 'step', 'begun a 7', 'begins a 7']);
    hold();
    await end('a');
    expect([since(), driver.isBusy]).toEqual([[], true]);
    let isSettled = false;
    const settling = driver.settled().then(() => {
      isSettled = true;
    });
    await quiet();
    expect(isSettled).toBe(false);
    await release();
    expect([since(), driver.isBusy]).toEqual([['delivered a', 'step'], false]);
    await settling;
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
    const driver = new JournaledDriver(log, { interrupted: () => null, isAwaited: () => true });
    expect(() => driver.command(command('stop'))).toThrow('the driver is not attached to a host');
  });
});

describe('D-4: the journaled driver replays and continues', () => {
  it('takes no command and begins nothing while it replays; then what was marked continues from its first mark', async () => {
    const { driver, request, since, onCommand } = resuming({ interrupted: ['tool'] });
    onCommand({ go: [effect('again'), effect('tool'), effect('new')] });
    driver.start(() => request(effect('first')));
    driver.command(command('ignored'));
    expect(driver.replay.step()).toBe(true);
    driver.replay.mark('first', 3);
    driver.replay.mark('first', 5);
    driver.replay.deliver(settled('first'));
    driver.replay.deliver({ at: 4, event: command('go') });
    expect(driver.replay.step()).toBe(true);
    expect(driver.replay.step()).toBe(true);
    expect(driver.replay.step()).toBe(false);
    driver.replay.mark('again', 5);
    driver.replay.mark('again', 8);
    driver.replay.mark('tool', 6);
    expect(driver.replay.pending.map(({ key }) => key)).toEqual(['again', 'tool', 'new']);
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
    const { driver, request, since } = resuming();
    driver.start(() => request(effect('a')));
    driver.replay.step();
    driver.replay.deliver(settled('a'));
    driver.catchUp();
    expect(since()).toEqual(['step']);
    expect(driver.replay.pending).toEqual([]);
  });

  it.each([
    [[], false],
    [[effect('a')], true],
    [[effect('p', 'prepare')], false],
    [[effect('c', 'close')], false],
    [[effect('a'), effect('c', 'close')], false],
  ])('its tools are needed again, unless nothing is pending or they were not open: %j', (effects, needs) => {
    const { driver, request } = resuming();
    driver.start(() => {
      for (const one of effects) request(one);
    });
    driver.replay.step();
    expect(driver.needsTools).toBe(needs);
  });
});
