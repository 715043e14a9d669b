import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Effect } from '../../machines/index.ts';
import type { DriverStep } from '../../src/host/driver.ts';
import { EventLoop, eventLoop } from '../../src/host/event-loop.ts';
import { Host } from '../../src/host/host.ts';
import { JournaledDriver } from '../../src/host/journaled.ts';
import { memoryDriver } from '../../src/host/memory.ts';
import { defineAgent, type Journal, runSession, sqliteJournal } from '../../src/index.ts';
import { assertInvariants, rehearsalModel } from '../../src/testing/index.ts';
import { counters, tokensOf } from '../support/session.ts';

/** From now on, every look at the time takes a millisecond, so the work of a session takes some on any machine. */
async function slowMachine(): Promise<void> {
  await new Promise(setImmediate);
  // The mocked time starts at the real time, so that a slice that has already begun still ends.
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 1;
    return now;
  });
}

/** Counts the turns of the event loop until `over`. */
async function loopTurns(over: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  void over.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    await new Promise(setImmediate);
    turns += 1;
  }
  return turns;
}

afterEach(() => void vi.restoreAllMocks());

const owner = {
  now: () => 0,
  chance: () => 0,
  command: () => {},
  delivering: () => {},
  describeDefect: String,
  late: () => {},
};

/** Starts sessions whose model and tool answer at once. Returns how many turns each has begun, at each turn of one. */
function startMany(count: number, turns: number, journal?: Journal) {
  const begun = Array.from({ length: count }, () => 0);
  const seen: number[][] = [];
  const results = begun.map((_, session) => {
    const model = rehearsalModel(({ prompt }) => {
      const done = prompt.filter(({ role }) => role === 'tool').length === turns - 1;
      return { calls: [done ? { name: 'final_report', input: { content: 'Done.' } } : { name: 'look' }] };
    });
    const agent = defineAgent({
      name: 'quick',
      models: [model],
      tools: { look: () => 'seen' },
      limits: { maxTurns: turns },
    });
    return runSession(agent, {
      prompt: 'Go.',
      logger: false,
      ...(journal !== undefined && { journal }),
      onEvent: ({ type }) => {
        if (type !== 'turn.started') return;
        begun[session] = (begun[session] ?? 0) + 1;
        seen.push([...begun]);
      },
    });
  });
  return { results: Promise.all(results), seen };
}

/** The counters of a session that looks once a turn and reports on the last. */
function countersOf(turns: number, maxTurns = turns) {
  const looks = turns - 1;
  return counters({
    turns,
    attempts: turns,
    tokens: tokensOf(turns),
    costUsd: null,
    toolCalls: { requested: turns, executed: looks, acknowledged: 1, answered: turns, succeeded: looks },
    reports: { attempted: 1 },
    notices: turns === maxTurns ? 1 : 0,
    tree: { toolCalls: turns, costUsd: null },
  });
}

describe('D-2: the event loop is shared', () => {
  for (const kind of ['in memory', 'with a journal']) {
    it(`sessions whose models answer at once yield to the loop and advance together: ${kind}`, async () => {
      await slowMachine();
      const journal = kind === 'in memory' ? undefined : sqliteJournal(':memory:');
      const { results, seen } = startMany(20, 10, journal);
      // 20 sessions of 10 turns look at the time at least twice a turn, and a slice lasts five looks.
      expect(await loopTurns(results)).toBeGreaterThan(50);
      for (const result of await results) {
        assertInvariants(result);
        expect(result.counters).toEqual(countersOf(10));
      }
      const ahead = seen.map((turns) => Math.max(...turns) - Math.min(...turns));
      expect(Math.max(...ahead)).toBeLessThanOrEqual(4);
      await journal?.close();
    });
  }

  it('effects in memory that end at once, each after the other, yield to the loop', async () => {
    await slowMachine();
    const host = new Host();
    const over = Promise.withResolvers<void>();
    const request = (left: number): void =>
      host.request(
        { kind: 'close', key: `close-${left}`, request: {} },
        { send: () => (left === 0 ? over.resolve() : request(left - 1)) },
      );
    memoryDriver(host, async () => ({}), owner).start(() => request(50));
    expect(await loopTurns(over.promise)).toBeGreaterThan(5);
  });

  it('a slice is over when its 5 ms are', async () => {
    await new Promise(setImmediate);
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const loop = new EventLoop();
    const due = [0, 4.9, 5, 5.1].map((at) => {
      now = at;
      return loop.isDue;
    });
    expect(due).toEqual([false, false, true, true]);
  });

  it('all that wait share a slice, however many they are', async () => {
    await new Promise(setImmediate);
    let now = 0;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const loop = new EventLoop();
    let turns = 0;
    let isOver = false;
    const count = async () => {
      for (; !isOver; turns += 1) await new Promise(setImmediate);
    };
    // Each works for 2 of the 5 ms of a slice, whenever it continues.
    const continued: number[] = [];
    const work = async () => {
      for (let times = 0; times < 3; times += 1) {
        await loop.turn();
        now += 2;
        continued.push(turns);
      }
    };
    void count();
    await Promise.all(Array.from({ length: 30 }, work));
    isOver = true;
    const inEach = [...Map.groupBy(continued, (turn) => turn).values()].map(({ length }) => length);
    expect(continued).toHaveLength(90);
    expect(Math.max(...inEach)).toBeLessThanOrEqual(3);
  });

  it('one session takes fewer turns of the loop than it has', async () => {
    const { results } = startMany(1, 50);
    expect(await loopTurns(results)).toBeLessThan(50);
    for (const { counters } of await results) expect(counters).toEqual(countersOf(50));
  });

  it('each session keeps its async context, however often it waits', async () => {
    await slowMachine();
    const tenant = new AsyncLocalStorage<number>();
    const seen: [number, number | undefined][] = [];
    const results = Array.from({ length: 10 }, (_, own) =>
      tenant.run(own, () => {
        const model = rehearsalModel(({ prompt }) => {
          const done = prompt.filter(({ role }) => role === 'tool').length === 5;
          return { calls: [done ? { name: 'final_report', input: { content: 'Done.' } } : { name: 'look' }] };
        });
        const look = () => void seen.push([own, tenant.getStore()]);
        return runSession(defineAgent({ name: 'quick', models: [model], tools: { look } }), {
          prompt: 'Go.',
          logger: false,
        });
      }),
    );
    for (const result of await Promise.all(results)) {
      assertInvariants(result);
      expect(result.counters).toEqual(countersOf(6, 10));
    }
    expect(seen).toHaveLength(50);
    expect(seen.filter(([own, store]) => own !== store)).toEqual([]);
  });

  it('the fake timers of a test hold up no session, then or later', async () => {
    await slowMachine();
    vi.useFakeTimers({ toFake: ['setImmediate', 'setTimeout', 'queueMicrotask'] });
    const faked = await startMany(3, 5).results;
    vi.useRealTimers();
    const later = await startMany(3, 5).results;
    for (const { counters } of [...faked, ...later]) expect(counters).toEqual(countersOf(5));
  });

  it('a session that is let go of while it waits begins nothing more', async () => {
    await slowMachine();
    const begun: string[] = [];
    const host = new Host();
    const nothing = async () => {};
    const policy = { interrupted: () => null, isAwaited: () => true };
    const log = {
      start: nothing,
      // The lease is found to be lost in the turn of the loop that the driver waits for.
      begun: async () => {
        while (!eventLoop.isDue);
        setImmediate(() => driver.release());
      },
      delivered: nothing,
      applying: ({ take }: DriverStep) => take(),
      failed: (error: unknown) => expect(error).toBeUndefined(),
    };
    const perform = async ({ key }: Effect) => {
      begun.push(key);
      return {};
    };
    const driver = new JournaledDriver(log, policy).attach(host, perform, owner);
    driver.start(() => host.request({ kind: 'close', key: 'close', request: {} }, { send: () => {} }));
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    expect(begun).toEqual([]);
  });
});

it('D-2: a session has to wait while another does, though it has worked for no time', async () => {
  const loop = new EventLoop();
  expect(loop.isDue).toBe(false);
  const turn = loop.turn();
  expect(loop.isDue).toBe(true);
  await turn;
  expect(loop.isDue).toBe(false);
});
