import { deepStrictEqual, ok, rejects, strictEqual } from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { check } from '../input/check.ts';
import { aFunction } from '../input/shapes.ts';
import type { Journal, JournalEntry, SessionChange, WaitingCall } from '../journal/journal.ts';

/** Returns a journal of 1 second's lease, over the same store each time. It is closed after each check. */
export type JournalFactory = (options: { leaseMs: number }) => Journal | Promise<Journal>;

const entry = (key: string): JournalEntry => ({ scope: '', type: 'begun', key, at: 1 });
const keysIn = (entries: readonly JournalEntry[]) => entries.map((one) => (one.type === 'begun' ? one.key : one.type));

/** A share of a budget whose sum is so many requests. */
const share = (spent: number, inFlight = 0) => {
  const of = (requests: number) => ({ requests, tokens: 10 * requests, costUsd: requests / 10 });
  return { spent: of(spent), inFlight: of(inFlight), kept: of(0) };
};

type Check = (one: Journal, other: Journal, sessionId: string) => Promise<void>;

const leaseMs = 1_000;

const waitingCall: WaitingCall = { sessionId: 'the "agent"', callId: 'call-1', awaits: 'approval' };

/** Creates a session with one entry, owned by `owner`. */
const created = (journal: Journal, sessionId: string, owner = 'one') =>
  journal.create({ sessionId, agent: 'tested', metadata: {} }, { owner, entries: [entry('first')] });

const checks: Record<string, Check> = {
  'no session exceeds a shared budget, if the store keeps budgets': async (one, other, id) => {
    const [own, others] = [one.budgets, other.budgets];
    if (own === undefined || others === undefined) return;
    const most = { requests: 5, tokens: null, costUsd: 0.5 };
    strictEqual(await own.share(id, 'a'), null);
    const tries = Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? own : others).put(id, `s${index}`, share(0, 1), most),
    );
    strictEqual((await Promise.all(tries)).filter((is) => is).length, 5);
    deepStrictEqual((await others.total(id)).inFlight, { requests: 5, tokens: 50, costUsd: 0.5 });
    strictEqual(await own.put(id, 'late', share(1), most), false);
    // What has been spent is kept in any case.
    strictEqual(await others.put(id, 'late', share(1), null), true);
    strictEqual(await own.put(id, 'late', share(2), null), true);
    deepStrictEqual(await others.share(id, 'late'), share(2));
    strictEqual(await own.put(id, 'late', share(0), most), true);
    deepStrictEqual((await own.total(`${id}-no`)).spent, { requests: 0, tokens: 0, costUsd: 0 });
  },
  'the state of a gate is replaced by who read it last, if the store keeps gates': async (one, other, id) => {
    const [own, others] = [one.gates, other.gates];
    if (own === undefined || others === undefined) return;
    const first = await own.read(id);
    deepStrictEqual([first.version, first.state], [0, '']);
    ok(first.now > Date.UTC(2_025), `its clock is not in ms: ${first.now}`);
    const both = await Promise.all([own.write(id, 0, 'a'), others.write(id, 0, 'b')]);
    strictEqual(both.filter((is) => is).length, 1);
    const { version, state } = await others.read(id);
    strictEqual(state, both[0] ? 'a' : 'b');
    strictEqual(await own.write(id, version, 'c'), true);
    strictEqual(await others.write(id, version, 'd'), false);
    strictEqual(await others.write(id, 0, 'e'), false);
    strictEqual((await others.read(id)).state, 'c');
    strictEqual((await own.read(`${id}-no`)).state, '');
  },
  'a new session has its first entries, and its lease': async (one, other, id) => {
    deepStrictEqual(await one.read(id), []);
    await created(one, id);
    deepStrictEqual(keysIn(await other.read(id)), ['first']);
    strictEqual(await other.lease(id, 'other'), false);
    strictEqual(await one.lease(id, 'one'), true);
    strictEqual(await one.renew(id, 'one'), true);
    strictEqual(await other.renew(id, 'other'), false);
  },
  'a session is created once': async (one, other, id) => {
    await created(one, id);
    await rejects(created(other, id, 'other'), { code: 'session_exists' });
    deepStrictEqual(keysIn(await one.read(id)), ['first']);
  },
  'entries are appended in order, all or none, by the owner alone': async (one, other, id) => {
    await created(one, id);
    await one.append(id, { owner: 'one', after: 1, entries: [entry('second'), entry('third')] });
    const more = [entry('more')];
    await rejects(one.append(id, { owner: 'one', after: 1, entries: more }), { code: 'session_taken' });
    await rejects(one.append(id, { owner: 'one', after: 4, entries: more }), { code: 'session_taken' });
    await rejects(other.append(id, { owner: 'other', after: 3, entries: more }), { code: 'session_taken' });
    await rejects(one.append(`${id}-no`, { owner: 'one', after: 0, entries: more }), { code: 'session_taken' });
    deepStrictEqual(keysIn(await other.read(id)), ['first', 'second', 'third']);
    deepStrictEqual(keysIn(await other.read(id, 1)), ['second', 'third']);
    deepStrictEqual([await other.read(id, 3), await other.read(id, 9), await other.read(`${id}-no`, 1)], [[], [], []]);
  },
  'entries come back as they were': async (one, other, id) => {
    const odd = entry('a "quoted" line\n\u2028 with \\ and 😀 and \u0001 and \uFFFF');
    await one.create(
      { sessionId: id, agent: 'tested', metadata: {} },
      { owner: 'one', entries: [odd, entry('x'.repeat(3_000_000))] },
    );
    deepStrictEqual(await other.read(id), [odd, entry('x'.repeat(3_000_000))]);
  },
  'of many appends at the same place, one succeeds': async (one, other, id) => {
    await created(one, id);
    const tries = Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? one : other).append(id, { owner: 'one', after: 1, entries: [entry(`try ${index}`)] }),
    );
    const settled = await Promise.allSettled(tries);
    strictEqual(settled.filter(({ status }) => status === 'fulfilled').length, 1);
    strictEqual((await one.read(id)).length, 2);
  },
  'a lease that was given back can be taken; of many who try, one gets it': async (one, other, id) => {
    await created(one, id);
    await other.release(id, 'other');
    strictEqual(await other.lease(id, 'other'), false);
    await one.release(id, 'one');
    strictEqual(await one.renew(id, 'one'), false);
    const owners = Array.from({ length: 10 }, () => randomUUID());
    const got = await Promise.all(owners.map((owner, index) => (index % 2 === 0 ? one : other).lease(id, owner)));
    strictEqual(got.filter((is) => is).length, 1);
    await rejects(one.append(id, { owner: 'one', after: 1, entries: [entry('late')] }), { code: 'session_taken' });
    strictEqual(await one.lease(`${id}-no`, 'one'), false);
  },
  'a lease runs out, and its owner is shut out once another has taken it': async (one, other, id) => {
    await created(one, id);
    const began = Date.now();
    while (!(await other.lease(id, 'other'))) {
      ok(Date.now() - began < 10 * leaseMs, 'the lease did not run out');
      await new Promise(setImmediate);
    }
    ok(Date.now() - began > leaseMs / 2, 'the lease ran out at once');
    await rejects(one.append(id, { owner: 'one', after: 1, entries: [entry('late')] }), { code: 'session_taken' });
    strictEqual(await one.renew(id, 'one'), false);
    await other.append(id, { owner: 'other', after: 1, entries: [entry('mine')] });
  },
  'messages wait in order until they are taken with an append': async (one, other, id) => {
    strictEqual(await one.post(id, { type: 'session.stop' }), false);
    await created(one, id);
    strictEqual(await other.post(id, { type: 'session.steer', text: 'Be quick.' }), true);
    strictEqual(await other.post(id, { type: 'session.stop' }), true);
    const waiting = await one.inbox(id);
    deepStrictEqual(
      waiting.map(({ message }) => message),
      [{ type: 'session.steer', text: 'Be quick.' }, { type: 'session.stop' }],
    );
    const taken = waiting.slice(0, 1).map((message) => message.id);
    await one.append(id, { owner: 'one', after: 1, entries: [] });
    strictEqual((await other.inbox(id)).length, 2);
    await one.append(id, { owner: 'one', after: 1, entries: [], taken });
    deepStrictEqual(
      (await other.inbox(id)).map(({ message }) => message.type),
      ['session.stop'],
    );
  },
  'an append that is refused keeps its messages': async (one, other, id) => {
    await created(one, id);
    await other.post(id, { type: 'session.stop' });
    const taken = (await one.inbox(id)).map((message) => message.id);
    await rejects(one.append(id, { owner: 'other', after: 1, entries: [], taken }), { code: 'session_taken' });
    await rejects(one.append(id, { owner: 'one', after: 7, entries: [], taken }), { code: 'session_taken' });
    strictEqual((await other.inbox(id)).length, 1);
  },
  'a call is decided once, as long as it waits, and by what it waits for': async (one, other, id) => {
    await created(one, id);
    const { sessionId, callId } = waitingCall;
    const approve = (to: Journal, approved: boolean, named = sessionId) =>
      to.post(id, { type: 'approve', callId, approved, reason: null, sessionId: named });
    const waits = async () => (await other.list({ sessionId: id })).map(({ waiting }) => waiting);
    strictEqual(await approve(one, true), false);
    await one.append(id, { owner: 'one', after: 1, entries: [], change: { waitingCalls: [waitingCall] } });
    deepStrictEqual(await waits(), [['call-1']]);
    strictEqual(await approve(other, true, 'another'), false);
    strictEqual(await other.post(id, { type: 'answer', callId, output: 1, isError: false, sessionId }), false);
    const tries = [true, false, true, false].map((approved, index) => approve(index < 2 ? one : other, approved));
    strictEqual((await Promise.all(tries)).filter((is) => is).length, 1);
    deepStrictEqual(await waits(), [[]]);
    // Whoever runs the session does not know of the decision yet.
    await one.append(id, { owner: 'one', after: 1, entries: [], change: { waitingCalls: [waitingCall] } });
    deepStrictEqual([await approve(other, false), await waits()], [false, [[]]]);
    const taken = (await one.inbox(id)).map((message) => message.id);
    strictEqual(taken.length, 1);
    await one.append(id, { owner: 'one', after: 1, entries: [], taken, change: { waitingCalls: [] } });
    strictEqual(await approve(other, false), false);
  },
  'sessions are listed by status, agent, slug and time, the latest first': async (one, other, id) => {
    const before = Date.now();
    await created(one, id);
    const metadata = { user: 'ada', paid: true, seats: 2 };
    await one.create({ sessionId: `${id}-2`, agent: 'second', metadata }, { owner: 'one', entries: [entry('first')] });
    const change: SessionChange = { status: 'failed', slugs: ['budget_exhausted'], waitingCalls: [waitingCall] };
    await one.append(`${id}-2`, { owner: 'one', after: 1, entries: [], change });
    const ids = async (query: Parameters<Journal['list']>[0]) =>
      (await other.list(query)).map(({ sessionId }) => sessionId).filter((one_) => one_.startsWith(id));
    deepStrictEqual(await ids({ since: before }), [`${id}-2`, id]);
    deepStrictEqual(await ids({ agent: 'second' }), [`${id}-2`]);
    deepStrictEqual(await ids({ metadata: { user: 'ada', seats: 2 } }), [`${id}-2`]);
    deepStrictEqual(await ids({ metadata: { user: 'ada', seats: '2' } }), []);
    deepStrictEqual(await ids({ sessionId: id }), [id]);
    deepStrictEqual(await ids({ idPrefix: `${id}-` }), [`${id}-2`]);
    deepStrictEqual(await ids({ idPrefix: id }), [`${id}-2`, id]);
    deepStrictEqual(await ids({ status: 'failed' }), [`${id}-2`]);
    deepStrictEqual(await ids({ slug: 'budget_exhausted' }), [`${id}-2`]);
    deepStrictEqual(await ids({ status: 'running' }), [id]);
    deepStrictEqual(await ids({ since: Date.now() + 60_000 }), []);
    await one.release(id, 'one');
    deepStrictEqual(await ids({ status: 'suspended' }), [id]);
    const [row] = await other.list({ sessionId: `${id}-2` });
    ok(row !== undefined && row.createdAt >= before && row.updatedAt >= row.createdAt);
    deepStrictEqual(row.metadata, metadata);
    strictEqual(row.entries, 1);
    deepStrictEqual([row.slugs, row.waiting, row.waitingCalls], [['budget_exhausted'], ['call-1'], [waitingCall]]);
    const [first] = await other.list({ sessionId: id });
    deepStrictEqual([first?.slugs, first?.waiting, first?.waitingCalls], [[], [], []]);
    const rows = await Promise.all([id, `${id}-2`].map((sessionId) => other.list({ sessionId })));
    deepStrictEqual(
      rows.flat().map(({ agent, status }) => [agent, status]),
      [
        ['tested', 'suspended'],
        ['second', 'failed'],
      ],
    );
    strictEqual(await other.post(`${id}-2`, { type: 'session.stop' }), false);
  },
  'a session is deleted with all it had, but not while a process runs it': async (one, other, id) => {
    await created(one, id);
    await rejects(other.delete(id), { code: 'session_taken' });
    await one.release(id, 'one');
    strictEqual(await other.delete(id), true);
    strictEqual(await other.delete(id), false);
    deepStrictEqual(await one.read(id), []);
    await created(one, id);
    deepStrictEqual([keysIn(await one.read(id)), await one.inbox(id)], [['first'], []]);
  },
};

/**
 * The checks that a store of one's own must pass to be a `Journal`. Each resolves, or rejects with what is wrong. Run
 * them with any test runner: `for (const { name, check } of journalConformance(factory)) it(name, check)`. Throws
 * `invalid_options`.
 */
export function journalConformance(factory: JournalFactory): { name: string; check: () => Promise<void> }[] {
  check(aFunction, factory, 'factory', 'invalid_options');
  return Object.entries(checks).map(([name, act]) => ({
    name,
    check: async () => {
      // Two processes over one store.
      const [one, other] = [await factory({ leaseMs }), await factory({ leaseMs })];
      try {
        await act(one, other, `conformance-${randomUUID()}`);
      } finally {
        await Promise.all([one.close(), other.close()]);
      }
    },
  }));
}
