import { tool } from 'ai';
import { afterEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { expiryIn, leftUntil } from '../../src/host/expiry.ts';
import { defineAgent, startSession } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { rehearsalModel } from '../../src/testing/index.ts';
import { report } from '../support/session.ts';

afterEach(() => void vi.useRealTimers());

const leaseMs = 1_000;

/** A session whose reply has three calls. The first one that runs stops the process for longer than the lease. */
async function stopped(journal: MemoryJournal, meanwhile: () => unknown) {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 });
  const charged: number[] = [];
  const charge = tool({
    inputSchema: z.object({ n: z.number() }),
    execute: ({ n }) => {
      charged.push(n);
      if (charged.length > 1) return;
      vi.advanceTimersByTime(leaseMs + 1);
      meanwhile();
    },
  });
  const calls = [1, 2, 3].map((n) => ({ name: 'charge', input: { n } }));
  const models = [rehearsalModel(({ prompt }) => (prompt.some(({ role }) => role === 'tool') ? report() : { calls }))];
  const agent = defineAgent({ name: 'charging', models, tools: { charge } });
  const result = await startSession(agent, { prompt: 'Go.', sessionId: 's', journal, logger: false }).result;
  return { result, charged };
}

it('D-3: a process that was stopped begins no further tool once another process has the session', async () => {
  const journal = new MemoryJournal({ leaseMs });
  const { result, charged } = await stopped(journal, () => void journal.lease('s', 'another'));
  expect(charged).toEqual([1]);
  expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
  expect(result.failure?.detail).toContain('Another process has taken the session');
});

it('D-3: nor does one that cannot ask whether another has it', async () => {
  const journal = new MemoryJournal({ leaseMs });
  const { result, charged } = await stopped(journal, () => {
    journal.renew = () => Promise.reject(new Error('the journal is unreachable'));
  });
  expect(charged).toEqual([1]);
  expect(result).toMatchObject({ status: 'suspended', slugs: ['journal_failed'] });
});

it('D-3: nor does one whose renewal gets no answer while the lease would last', async () => {
  const journal = new MemoryJournal({ leaseMs });
  const { result, charged } = await stopped(journal, () => {
    journal.renew = () => new Promise<never>(() => {});
  });
  expect(charged).toEqual([1]);
  expect(result.failure?.detail).toContain('did not renew the lease');
});

it('D-3: the lease is renewed once for all tools that wait', async () => {
  const journal = new MemoryJournal({ leaseMs });
  let renewals = 0;
  const { charged } = await stopped(journal, () => {
    const { renew } = journal;
    journal.renew = (...given) => {
      renewals += 1;
      return renew.apply(journal, given);
    };
  });
  expect([charged, renewals]).toEqual([[1, 2, 3], 1]);
});

it.each([
  ['set forward', 60_000, 0],
  ['still while the machine slept', 0, 60_000],
])('D-3: a lease has run out by either of two clocks, one of which was %s', (_, wall, steady) => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 });
  const expiry = expiryIn(leaseMs);
  expect(leftUntil(expiry)).toBe(leaseMs);
  const [date, now] = [Date.now() + wall, performance.now() + steady];
  vi.spyOn(Date, 'now').mockReturnValue(date);
  vi.spyOn(performance, 'now').mockReturnValue(now);
  expect(leftUntil(expiry)).toBeLessThan(0);
  vi.restoreAllMocks();
});

it.each([undefined, 0, -1, Number.NaN, '10'])('a journal whose lease lasts %s is refused', (lasts) => {
  const journal = Object.defineProperty(new MemoryJournal(), 'leaseMs', { value: lasts });
  const agent = defineAgent({ name: 'any', models: [rehearsalModel(() => report())] });
  expect(() => startSession(agent, { prompt: 'Go.', journal, logger: false })).toThrow('a journal, such as');
});

it('D-3: a process that still has the session runs the other tools', async () => {
  const { result, charged } = await stopped(new MemoryJournal({ leaseMs }), () => undefined);
  expect(charged).toEqual([1, 2, 3]);
  expect(result).toMatchObject({ success: true, counters: { toolCalls: { requested: 4, executed: 3, succeeded: 3 } } });
});
