import { expect, it, onTestFinished, vi } from 'vitest';
import type { Journal } from '../../src/journal/journal.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { journalConformance } from '../../src/testing/index.ts';
import { brokenJournals } from '../support/broken-journals.ts';

/** A clock that is 100 ms further each time it is read. */
function quickClock(): void {
  let at = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => {
    at += 100;
    return at;
  });
  onTestFinished(() => void vi.restoreAllMocks());
}

/** Runs the check of this name over a store. */
function checked(name: string, journal: MemoryJournal): Promise<void> {
  const one = journalConformance(() => journal).find((check) => check.name === name);
  if (one === undefined) throw new Error(`there is no check "${name}"`);
  return one.check();
}

/** The store with other methods. Its own methods call one another as before. */
function otherwise(store: MemoryJournal, own: Partial<Journal>): MemoryJournal {
  return new Proxy(store, {
    get(_, name) {
      const method = Reflect.get(own, name) ?? Reflect.get(store, name);
      return typeof method === 'function' ? method.bind(store) : method;
    },
  });
}

const faults = Object.entries(brokenJournals).flatMap(([name, stores]) =>
  Object.entries(stores).map(([fault, broken]) => [name, fault, broken] as const),
);

it.each(faults)('D-3: "%s" fails for a store that %s', async (name, _, broken) => {
  if (name.startsWith('a lease runs out')) quickClock();
  const sound = () => new MemoryJournal({ leaseMs: 1_000 });
  await checked(name, sound());
  const made = sound();
  await expect(checked(name, otherwise(made, broken(made)))).rejects.toThrow();
});

it('D-3: each check is between two processes with leases of 1 s, and closes both, whatever comes of it', async () => {
  const asked: unknown[] = [];
  let closed = 0;
  class Closing extends MemoryJournal {
    override async close() {
      closed += 1;
    }
  }
  const checks = journalConformance((options) => {
    asked.push(options);
    return new Closing(options);
  });
  expect(checks.map(({ name }) => name)).toEqual(Object.keys(brokenJournals));
  // Two stores that share nothing.
  await expect(checks[0]?.check()).rejects.toThrow();
  expect([asked, closed]).toEqual([[{ leaseMs: 1_000 }, { leaseMs: 1_000 }], 2]);
});
