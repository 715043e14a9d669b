import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../../src/host/clock.ts';
import {
  type Agent,
  defineAgent,
  type GateStore,
  type Session,
  type SessionEvent,
  sqliteJournal,
  startSession,
} from '../../src/index.ts';
import { memoryGates } from '../../src/shared/gate-store.ts';
import { type GateLimits, noGateLimits } from '../../src/shared/pace.ts';
import { SharedGate } from '../../src/shared/shared-gate.ts';
import { assertInvariants, manualClock, type RecordedRequest, startModelServer } from '../../src/testing/index.ts';
import { freshFile } from '../support/journaled.ts';
import { wireModel } from '../support/session.ts';

type Keeper = { readonly gates?: GateStore };
const limits = { concurrency: 3 };

function agentAt(url: string, journal: Keeper, entry: { limits?: Partial<GateLimits> } = { limits }): Agent {
  const gate = { name: 'account', journal };
  return defineAgent({
    name: 'gated',
    models: [{ model: wireModel('openai', url), gate, ...entry }],
    tools: { look: () => 'seen' },
  });
}

/** A journal in a file, opened again: what another process would have. */
function opened(file: string) {
  const journal = sqliteJournal(file);
  onTestFinished(() => journal.close());
  return journal;
}

const many = (agent: Agent, count: number): Session[] =>
  Array.from({ length: count }, () => startSession(agent, { prompt: 'Do it.', logger: false }));

async function succeeded(sessions: readonly Session[]) {
  const all = await Promise.all(sessions.map(({ result }) => result));
  for (const one of all) assertInvariants(one);
  expect(all.map(({ status }) => status)).toEqual(all.map(() => 'succeeded'));
  return all;
}

const lookThenReport = ({ body }: Pick<RecordedRequest, 'body'>) =>
  body.messages.some(({ role }) => role === 'tool')
    ? { calls: [{ name: 'final_report', input: { content: 'done' } }] }
    : { calls: [{ name: 'look', input: {} }] };

describe('P-7g: a gate that processes share in a journal', () => {
  it('keeps its concurrency over all of them', async () => {
    let [inFlight, most] = [0, 0];
    await using server = await startModelServer(async (request) => {
      inFlight += 1;
      most = Math.max(most, inFlight);
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
      inFlight -= 1;
      return await lookThenReport(request);
    });
    const file = freshFile();
    const [one, other] = [agentAt(server.url, opened(file)), agentAt(server.url, opened(file))];
    const all = await succeeded([...many(one, 6), ...many(other, 6)]);
    expect(most).toBe(3);
    expect(server.requests).toHaveLength(24);
    expect(all.map(({ counters }) => counters.admissions)).toEqual(all.map(() => 2));
    // Nothing is in flight any more.
    const { state } = await (opened(file).gates as GateStore).read('account');
    expect(JSON.parse(state).processes).toEqual({});
  });

  it('P-7a: keeps the pause after a refusal that another process met', async () => {
    const times: number[] = [];
    let until = 0;
    await using server = await startModelServer((request) => {
      times.push(performance.now());
      if (times.length > 1) return lookThenReport(request);
      until = performance.now() + 700;
      return { status: 429, headers: { 'retry-after-ms': '700' } };
    });
    const file = freshFile();
    const [one, other] = [agentAt(server.url, opened(file), {}), agentAt(server.url, opened(file), {})];
    const first = many(one, 1);
    const kept = async () => JSON.parse((await (opened(file).gates as GateStore).read('account')).state || '{}');
    await expect.poll(async () => (await kept()).closedUntil).toBeGreaterThan(0);
    await expect.poll(() => times.length).toBe(1);
    await succeeded([...first, ...many(other, 1)]);
    expect(times).toHaveLength(5);
    // Clocks in whole ms.
    expect(Math.min(...times.slice(1))).toBeGreaterThan(until - 5);
  });

  it('P-7i: sends the requests when its journal does not answer, and reports that', async () => {
    await using server = await startModelServer(lookThenReport);
    const away = () => Promise.reject(new Error('the store is away'));
    const told: string[] = [];
    const onEvent = (event: SessionEvent) => void (event.type === 'observer.failed' && told.push(event.message));
    const agent = agentAt(server.url, { gates: { read: away, write: away } });
    await succeeded([startSession(agent, { prompt: 'Go.', logger: false, onEvent })]);
    // Then the store is left alone for a while.
    expect(told).toEqual(['the store is away']);
  });

  it('P-7i: nor when it never answers: the process goes on alone', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    try {
      const kept = memoryGates();
      let isHung = true;
      const read = (name: string) => (isHung ? new Promise<never>(() => {}) : kept.read(name));
      const gate = new SharedGate('g', { ...kept, read }, () => ({ ...noGateLimits, concurrency: 1 }));
      const { signal } = new AbortController();
      const first = gate.enter(0, systemClock, signal).catch((error) => error.message);
      const leaving = new AbortController();
      const aborted = gate.enter(0, systemClock, leaving.signal).catch((error) => error);
      leaving.abort('enough');
      expect(await aborted).toBe('enough');
      await vi.advanceTimersByTimeAsync(2_000);
      expect(await first).toBe('the store of the gate g did not answer within 2000 ms');
      expect(await gate.enter(0, systemClock, signal)).toBeNull();
      isHung = false;
      await vi.advanceTimersByTimeAsync(30_000);
      const place = await gate.enter(0, systemClock, signal);
      expect(place).not.toBeNull();
      if (place !== null) await gate.leave(place, { tokens: 0, closeMs: null });
    } finally {
      vi.useRealTimers();
    }
  });

  it('P-7i: requests that end while it hangs wait for it once, together, and one of them reports it', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    try {
      const kept = memoryGates();
      let isHung = false;
      const read = (name: string) => (isHung ? new Promise<never>(() => {}) : kept.read(name));
      const gate = new SharedGate('g', { ...kept, read }, () => noGateLimits);
      const { signal } = new AbortController();
      const places = await Promise.all(Array.from({ length: 12 }, () => gate.enter(0, systemClock, signal)));
      isHung = true;
      const ended = places.map((place) => place && gate.leave(place, { tokens: 0, closeMs: null }));
      const next = gate.enter(0, systemClock, signal);
      const settled = Promise.allSettled([...ended, next]);
      await vi.advanceTimersByTimeAsync(2_000);
      expect((await settled).filter(({ status }) => status === 'rejected')).toHaveLength(1);
      expect(await next).toBeNull();
      isHung = false;
      // What could not be given back is free for the others after 30 s.
      await vi.advanceTimersByTimeAsync(30_000);
      const other = new SharedGate('g', kept, () => ({ ...noGateLimits, concurrency: 1 }));
      const place = await other.enter(0, systemClock, signal);
      expect(place).not.toBeNull();
      if (place !== null) await other.leave(place, { tokens: 0, closeMs: null });
    } finally {
      vi.useRealTimers();
    }
  });

  it('P-7c: keeps the order of priorities, since one request at a time asks the journal', async () => {
    const order: string[] = [];
    await using server = await startModelServer(async ({ body }) => {
      order.push(/say (\w+)/.exec(JSON.stringify(body))?.[1] ?? '');
      for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
      return { calls: [{ name: 'final_report', input: { content: 'done' } }] };
    });
    const agent = agentAt(server.url, opened(freshFile()), { limits: { concurrency: 1 } });
    const say = (word: string, priority: number) =>
      startSession(agent, { prompt: `say ${word}`, priority, logger: false });
    await succeeded([say('low1', 0), say('low2', 0), say('low3', 0), say('high', 5)]);
    expect(order.indexOf('high')).toBeLessThanOrEqual(1);
  });

  it('is refused at once if the journal keeps no gates', () => {
    expect(() => agentAt('http://127.0.0.1:1', {})).toThrow(
      /`models\[0\].gate` must be a name, or \{ name, journal \} with a journal that keeps gates/,
    );
  });
});

describe('P-7g: what is kept of a shared gate', () => {
  const signal = new AbortController().signal;
  const clock = manualClock();

  /** Two processes at one store, whose clock is set by hand. */
  function two(own: Partial<GateLimits>, change: (kept: GateStore) => Partial<GateStore> = () => ({})) {
    const kept = memoryGates();
    const time = { now: 1_000_000_000_500 };
    const timed: GateStore = { ...kept, read: async (name) => ({ ...(await kept.read(name)), now: time.now }) };
    const store = { ...timed, ...change(timed) };
    const all = { ...noGateLimits, ...own };
    const gates = [new SharedGate('g', store, () => all), new SharedGate('g', store, () => all)] as const;
    const places: (() => Promise<void>)[] = [];
    // Whatever is in flight keeps a timer.
    onTestFinished(async () => {
      for (const leave of places) await leave();
    });
    const enter = async (gate: SharedGate, tokens = 0, until = signal) => {
      const place = await gate.enter(tokens, clock, until);
      let isOpen = true;
      const leave = async (end: Parameters<SharedGate['leave']>[1] = { tokens, closeMs: null }) => {
        if (isOpen && place !== null) await gate.leave(place, end);
        isOpen = false;
      };
      places.push(leave);
      return leave;
    };
    /** Whether a request gets in now. */
    const isLetIn = async (gate: SharedGate, tokens = 0): Promise<boolean> => {
      const leaving = new AbortController();
      const entered = enter(gate, tokens, leaving.signal).then(
        () => true,
        () => false,
      );
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
      leaving.abort();
      return await entered;
    };
    return { time, gates, enter, isLetIn, kept };
  }

  it('P-7b: the requests of a minute, over all processes, but for those that were refused', async () => {
    const { time, gates, enter, isLetIn } = two({ requestsPerMinute: 3 });
    const [leave] = [await enter(gates[0]), await enter(gates[1]), await enter(gates[0])];
    expect(await isLetIn(gates[1])).toBe(false);
    await leave({ tokens: null, closeMs: null });
    expect(await isLetIn(gates[1])).toBe(true);
    // What went out within a second counts until a minute after its end.
    time.now += 60_400;
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 100;
    expect([await isLetIn(gates[1]), await isLetIn(gates[0]), await isLetIn(gates[1])]).toEqual([true, true, true]);
    expect(await isLetIn(gates[0])).toBe(false);
  });

  it('P-7b: the tokens of a minute, as they were counted, in the second in which they went out', async () => {
    const { time, gates, enter, isLetIn } = two({ tokensPerMinute: 1_000 });
    const leave = await enter(gates[0], 900);
    expect(await isLetIn(gates[1], 200)).toBe(false);
    time.now += 30_000;
    await leave({ tokens: 100, closeMs: null });
    expect(await isLetIn(gates[1], 900)).toBe(true);
    expect(await isLetIn(gates[0], 1)).toBe(false);
    // The first hundred leave the minute, and the nine hundred do not.
    time.now += 31_000;
    expect(await isLetIn(gates[0], 101)).toBe(false);
    expect(await isLetIn(gates[0], 100)).toBe(true);
  });

  it('a request larger than the limit goes out alone', async () => {
    const { gates, isLetIn } = two({ tokensPerMinute: 1_000 });
    expect(await isLetIn(gates[0], 5_000)).toBe(true);
    expect(await isLetIn(gates[1], 1)).toBe(false);
  });

  it('P-7h: places of a process that died are free after 30 s', async () => {
    const { time, gates, enter, isLetIn } = two({ concurrency: 2 });
    await enter(gates[0]);
    await enter(gates[0]);
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 29_000;
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 1_000;
    expect(await isLetIn(gates[1])).toBe(true);
  });

  it('no place is lost when one is taken while another is given back, however slow the store', async () => {
    const slowly = (kept: GateStore): Partial<GateStore> => ({
      write: async (...args) => {
        const written = await kept.write(...args);
        for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
        return written;
      },
    });
    const { gates, enter, kept } = two({ concurrency: 2 }, slowly);
    const first = await enter(gates[0]);
    const second = enter(gates[0]);
    await Promise.all([first(), second]);
    const [inFlight] = Object.values<{ inFlight: number }>(JSON.parse((await kept.read('g')).state).processes);
    expect(inFlight).toMatchObject({ inFlight: 1 });
  });

  it('the pause after a refusal', async () => {
    const { time, gates, enter, isLetIn } = two({});
    const leave = await enter(gates[0]);
    await leave({ tokens: null, closeMs: 5_000 });
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 5_000;
    expect(await isLetIn(gates[1])).toBe(true);
  });
});
