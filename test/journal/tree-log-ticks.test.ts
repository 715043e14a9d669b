import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SessionMessage } from '../../src/journal/journal.ts';
import { delta, logged, stepped } from '../support/tree-logs.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

const stop = { type: 'session.stop' } as SessionMessage;
const leaseMs = 40;
/** A log looks at its journal four times in the time of a lease. */
const tickMs = leaseMs / 4;
const tick = (times = 1) => vi.advanceTimersByTimeAsync(times * tickMs);

/** A log that has begun. */
async function begun() {
  const all = logged({ leaseMs });
  all.log.note(stepped());
  await all.log.write();
  await tick(0);
  return all;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('D-3: a journal is looked at while a session runs', () => {
  it('four times in the time of its lease, and not any more once it is closed', async () => {
    const { journal, log } = await begun();
    const { inbox } = journal;
    let asked = 0;
    journal.inbox = (sessionId) => {
      asked += 1;
      return inbox.call(journal, sessionId);
    };
    log.listen();
    await vi.advanceTimersByTimeAsync(tickMs - 1);
    expect(asked).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toBe(1);
    await tick(2);
    expect([asked, vi.getTimerCount()]).toEqual([3, 1]);
    log.close();
    expect(vi.getTimerCount()).toBe(0);
    const { renewals } = journal;
    await log.renew();
    expect([journal.renewals, log.isHeld]).toEqual([renewals, true]);
  });

  it('and writes what was sighted, but no deltas alone', async () => {
    const { journal, log } = await begun();
    log.note(delta(2, 'a'));
    await tick();
    expect(journal.appends).toHaveLength(1);
    log.note({
      ...{ scope: '', type: 'sighted', seq: 3, at: 3 },
      sighting: { type: 'effect.late', key: 'k' },
    });
    await tick();
    expect(journal.appends).toHaveLength(2);
  });

  it('nor once it was closed during a look', async () => {
    const { journal, log } = await begun();
    const looks = Promise.withResolvers<[]>();
    journal.inbox = () => looks.promise;
    log.listen();
    await tick();
    log.close();
    looks.resolve([]);
    await tick();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('its first look may fail, which is told; that it was closed ends the session', async () => {
    const { journal, log, tree } = logged({ leaseMs });
    let isClosed = false;
    Object.defineProperty(journal, 'isClosed', { get: () => isClosed });
    journal.inbox = () => Promise.reject(new Error('unreachable'));
    log.listen();
    log.note(stepped());
    await log.write();
    await tick();
    expect([tree.troubles.length, tree.failures.length, log.isClosed]).toEqual([1, 0, false]);
    isClosed = true;
    await tick();
    expect([tree.troubles.length, tree.failures.length, log.isClosed]).toEqual([1, 1, true]);
  });

  it('D-2: messages are taken in only once the session listens, and those known by then at once', async () => {
    const { journal, log, got } = await begun();
    await journal.post('s', stop);
    await tick(3);
    expect(got).toEqual([]);
    log.listen(await log.messages());
    expect(got).toEqual([stop]);
  });

  it('a write renews the lease, so that only a session that writes nothing renews it itself', async () => {
    const { journal, log } = await begun();
    for (let seq = 2; seq < 10; seq += 1) {
      log.note(stepped(seq));
      await log.write();
      await tick();
    }
    expect(journal.renewals).toBe(0);
    await tick(4);
    expect(journal.renewals).toBeGreaterThan(0);
  });
});

describe('D-3: what is written', () => {
  it('a step is written at the next look, with its deltas, which alone would wait', async () => {
    const { log, entries } = await begun();
    log.note(stepped(2));
    log.note(delta(3, 'x'));
    await tick();
    expect(entries()).toHaveLength(3);
    log.note(delta(4, 'y'));
    await tick();
    expect(entries()).toHaveLength(3);
  });

  it('a message with the entries that hold it, that nothing waits any more, and an end without entries', async () => {
    const { journal, log, tree, entries } = await begun();
    await journal.post('s', stop);
    log.note(stepped(2));
    log.took(1);
    await log.write();
    expect([entries().length, await journal.inbox('s')]).toEqual([2, []]);
    for (const calls of [waitingCalls('s', ['a']), []]) {
      tree.waiting = calls;
      await log.write();
      expect(journal.appends.at(-1)?.change).toEqual({ waitingCalls: calls });
    }
    await log.end({ status: 'succeeded', slugs: [] });
    expect(journal.appends.at(-1)).toMatchObject({ entries: [], change: { status: 'succeeded' } });
  });
});
