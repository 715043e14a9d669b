import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HeldLease } from '../../src/journal/lease.ts';

const leaseMs = 900;
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

/** A lease whose journal answers so, and what it asked and lost. */
function held(renew: () => Promise<boolean> = async () => true) {
  const asked: string[] = [];
  const lost: string[] = [];
  const journal = {
    leaseMs,
    renew: (sessionId: string, owner: string) => {
      asked.push(`${sessionId} of ${owner}`);
      return renew();
    },
  };
  const lease = new HeldLease(journal, 's', 'me', (error) => lost.push((error as Error).message));
  return { lease, asked, lost };
}

describe('D-3: the lease of a session, in the process that took it', () => {
  it('is held for its time, and due to be renewed after a third of it', () => {
    const { lease } = held();
    const stateIn = (ms: number) => {
      vi.advanceTimersByTime(ms);
      return [lease.isHeld, lease.isDue];
    };
    expect([stateIn(0), stateIn(300), stateIn(1), stateIn(598), stateIn(1), stateIn(1)]).toEqual([
      [true, false],
      [true, false],
      [true, true],
      [true, true],
      [false, true],
      [false, true],
    ]);
  });

  it('counts from before a write or a renewal was sent', async () => {
    const { lease, asked } = held(async () => {
      vi.advanceTimersByTime(500);
      return true;
    });
    await lease.extend();
    expect(asked).toEqual(['s of me']);
    vi.advanceTimersByTime(399);
    expect(lease.isHeld).toBe(true);
    vi.advanceTimersByTime(1);
    expect(lease.isHeld).toBe(false);
    const written = lease.writing();
    vi.advanceTimersByTime(100);
    expect(lease.isHeld).toBe(false);
    written();
    vi.advanceTimersByTime(799);
    expect(lease.isHeld).toBe(true);
  });

  it('is recovered by one renewal for all who wait, and by another one the next time', async () => {
    const { lease, asked, lost } = held();
    vi.advanceTimersByTime(leaseMs + 1);
    await Promise.all([lease.recover(), lease.recover()]);
    expect([asked.length, lease.isHeld]).toEqual([1, true]);
    vi.advanceTimersByTime(leaseMs + 1);
    await lease.recover();
    expect([asked.length, lease.isHeld, lost]).toEqual([2, true, []]);
  });

  it.each<[string, () => Promise<boolean>, string]>([
    ['another process has it', async () => false, 'Another process has taken the session s'],
    ['the journal fails', () => Promise.reject(new Error('no disk')), 'no disk'],
    [
      'the renewal takes as long as the lease',
      async () => {
        vi.advanceTimersByTime(leaseMs);
        return true;
      },
      'did not renew the lease of s within the 900 ms that it lasts',
    ],
  ])('is lost if %s', async (_, renew, why) => {
    const { lease, lost } = held(renew);
    vi.advanceTimersByTime(leaseMs + 1);
    await lease.recover();
    expect(lost.join()).toContain(why);
  });
});
