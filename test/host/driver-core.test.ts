import { describe, expect, it } from 'vitest';
import type { Effect } from '../../machines/index.ts';
import { DriverCore, type Outcome } from '../../src/host/driver-core.ts';
import { Host } from '../../src/host/host.ts';

const effect = (key: string): Effect => ({ kind: 'close', key, request: {} });
const outcome = {} as Outcome;

/** A driver's core with running effects, the signals that they got, and what its owner was told. */
async function driven(...keys: string[]) {
  const host = new Host();
  const signals = new Map<string, AbortSignal>();
  const ends = new Map<string, (outcome: Outcome) => void>();
  const told: string[] = [];
  const owner = {
    now: () => 7,
    chance: () => 0.5,
    command: (event: string) => void told.push(`command ${event}`),
    delivering: () => void told.push('delivering'),
    describeDefect: (error: unknown) => `described ${error}`,
    late: (key: string) => void told.push(`late ${key}`),
  };
  const perform = (one: Effect, { signal }: { signal: AbortSignal }) => {
    signals.set(one.key, signal);
    return new Promise<Outcome>((resolve) => ends.set(one.key, resolve));
  };
  const core = new DriverCore<string>(host, perform, owner, (key) => void told.push(`settled ${key}`));
  const results: unknown[] = [];
  for (const key of keys) {
    host.request(effect(key), { send: () => {} });
    core.drain();
    const next = core.pending.shift();
    if (next !== undefined) core.begin(next, 7, (delivery) => results.push(delivery));
  }
  const end = async (key: string) => {
    ends.get(key)?.(outcome);
    for (let turn = 0; turn < 3; turn += 1) await Promise.resolve();
  };
  const isAborted = (key: string) => signals.get(key)?.aborted;
  return { host, core, told, results, end, isAborted };
}

describe('D-2: the core of a driver', () => {
  it('settles an effect with its result, and does not abort the signal of one that has ended', async () => {
    const { core, told, results, end, isAborted } = await driven('a', 'b');
    await end('a');
    expect(results).toEqual([{ key: 'a', at: 7, chance: 0.5, outcome: {} }]);
    core.deliver(core.outcomeOf('a', outcome));
    expect(told).toEqual(['delivering', 'settled a']);
    core.cancelAll();
    expect([isAborted('a'), isAborted('b')]).toEqual([false, true]);
    await end('b');
    expect(results).toHaveLength(1);
  });

  it('reports a second result for a key as late', async () => {
    const { core, told } = await driven('a');
    core.deliver(core.outcomeOf('a', outcome));
    core.deliver(core.outcomeOf('a', outcome));
    expect(told).toEqual(['delivering', 'settled a', 'delivering', 'late a']);
  });

  it('aborts the signal of an effect that was answered from outside, or cancelled', async () => {
    const { host, core, told, isAborted } = await driven('a', 'b');
    core.deliver(core.outcomeOf('a', outcome));
    host.cancel('b');
    core.drain();
    expect([isAborted('a'), isAborted('b')]).toEqual([true, true]);
    expect(told).toEqual(['delivering', 'settled a', 'settled b']);
  });

  it('passes a command on', async () => {
    const { core, told } = await driven();
    core.deliver({ at: 7, event: 'stop' });
    expect(told).toEqual(['delivering', 'command stop']);
  });
});
