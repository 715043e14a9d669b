import { describe, expect, it, onTestFinished } from 'vitest';
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

/** A journal in a file, opened anew: what another process would have. */
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
    await expect
      .poll(async () => JSON.parse((await (opened(file).gates as GateStore).read('account')).state || '{}'))
      .toMatchObject({
        processes: {},
        closedUntil: expect.any(Number),
      });
    await expect.poll(() => times.length).toBe(1);
    await succeeded([...first, ...many(other, 1)]);
    expect(times).toHaveLength(5);
    // Clocks in whole ms.
    expect(Math.min(...times.slice(1))).toBeGreaterThan(until - 5);
  });

  it('P-7i: holds back nothing when its journal does not answer, and says so', async () => {
    await using server = await startModelServer(lookThenReport);
    const away = () => Promise.reject(new Error('the store is away'));
    const told: string[] = [];
    const onEvent = (event: SessionEvent) => void (event.type === 'observer.failed' && told.push(event.message));
    const agent = agentAt(server.url, { gates: { read: away, write: away } });
    await succeeded([startSession(agent, { prompt: 'Go.', logger: false, onEvent })]);
    expect(told).toEqual(['the store is away', 'the store is away']);
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
  function two(own: Partial<GateLimits>) {
    const kept = memoryGates();
    const time = { now: 1_000_000_000_500 };
    const store: GateStore = { ...kept, read: async (name) => ({ ...(await kept.read(name)), now: time.now }) };
    const all = { ...noGateLimits, ...own };
    const gates = [new SharedGate('g', store, () => all), new SharedGate('g', store, () => all)] as const;
    onTestFinished(async () => {
      // Whatever is in flight keeps a timer.
      for (const gate of gates) while (Number(Reflect.get(gate, 'inFlight')) > 0) await gate.leave(0, null);
    });
    return { time, gates };
  }

  /** Whether a request gets in now. */
  async function isLetIn(gate: SharedGate, tokens = 0): Promise<boolean> {
    const leaving = new AbortController();
    const entered = gate.enter(tokens, clock, leaving.signal).then(
      () => true,
      () => false,
    );
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
    leaving.abort();
    return await entered;
  }

  it('P-7b: the requests of a minute, over all processes', async () => {
    const { time, gates } = two({ requestsPerMinute: 3 });
    for (const gate of [gates[0], gates[1], gates[0]]) await gate.enter(0, clock, signal);
    expect(await isLetIn(gates[1])).toBe(false);
    // What went out within a second counts until a minute after its end.
    time.now += 60_400;
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 100;
    expect([await isLetIn(gates[1]), await isLetIn(gates[0]), await isLetIn(gates[1])]).toEqual([true, true, true]);
    expect(await isLetIn(gates[0])).toBe(false);
  });

  it('P-7b: the tokens of a minute, as they were counted', async () => {
    const { gates } = two({ tokensPerMinute: 1_000 });
    await gates[0].enter(600, clock, signal);
    expect(await isLetIn(gates[1], 500)).toBe(false);
    await gates[0].leave(-200, null);
    expect(await isLetIn(gates[1], 500)).toBe(true);
    expect(await isLetIn(gates[0], 500)).toBe(false);
  });

  it('a request larger than the limit goes out alone', async () => {
    const { gates } = two({ tokensPerMinute: 1_000 });
    expect(await isLetIn(gates[0], 5_000)).toBe(true);
    expect(await isLetIn(gates[1], 1)).toBe(false);
  });

  it('P-7h: places of a process that died are free after 30 s', async () => {
    const { time, gates } = two({ concurrency: 2 });
    await gates[0].enter(0, clock, signal);
    await gates[0].enter(0, clock, signal);
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 29_000;
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 1_000;
    expect(await isLetIn(gates[1])).toBe(true);
  });

  it('the pause after a refusal', async () => {
    const { time, gates } = two({});
    await gates[0].enter(0, clock, signal);
    await gates[0].leave(0, 5_000);
    expect(await isLetIn(gates[1])).toBe(false);
    time.now += 5_000;
    expect(await isLetIn(gates[1])).toBe(true);
  });
});
