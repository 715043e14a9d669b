import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Allowance, nothingSpent, type Spent } from '../../machines/index.ts';
import { Grants } from '../../src/session/sub-agents/grants.ts';

const still = new AbortController().signal;
const free: Allowance = { requests: null, tokens: null, costUsd: null };

/** Grants of a session that has spent nothing itself. */
const grantsOf = (allowance: Partial<Allowance>, spent = nothingSpent) =>
  new Grants({ ...free, ...allowance }, () => spent);

/** Returns whether a promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending;
}

describe('B-7: the grants of a session', () => {
  it('are equal shares of what is left, after the request for its own report', async () => {
    const grants = grantsOf({ requests: 7, tokens: 100, costUsd: 1 });
    const taken = await Promise.all([grants.takeGrant(9, still), grants.takeGrant(9, still)]);
    const half = { requests: 3, tokens: 50, costUsd: 0.5 };
    expect(taken).toEqual([half, half]);
  });

  it.each(['requests', 'tokens', 'costUsd'] as const)('one waits for what another gives back: %s', async (kind) => {
    const grants = grantsOf({ requests: 9, tokens: 100, costUsd: 1 });
    const first = await grants.takeGrant(kind === 'requests' ? 8 : 4, still);
    expect(first?.[kind]).toBe({ requests: 8, tokens: 100, costUsd: 1 }[kind]);
    const second = grants.takeGrant(4, still);
    expect(await isSettled(second)).toBe(false);
    grants.giveBack(first ?? free);
    expect((await second)?.[kind]).toBe({ requests: 4, tokens: 100, costUsd: 1 }[kind]);
  });

  it('if not all can have one, the others wait for those that do', async () => {
    const grants = grantsOf({ requests: 2 });
    const [first, second] = [grants.takeGrant(1, still), grants.takeGrant(1, still)];
    const granted = { requests: 1, tokens: null, costUsd: null };
    expect([await isSettled(first), await isSettled(second)]).toContain(false);
    const one = await Promise.race([first, second]);
    expect(one).toEqual(granted);
    grants.giveBack(one ?? free);
    expect(await Promise.all([first, second])).toEqual([granted, granted]);
  });

  it('are refused if nothing is left and no sub-agent can give anything back', async () => {
    expect(await grantsOf({ requests: 1 }).takeGrant(4, still)).toBeNull();
    const spent: Spent = { requests: 3, tokens: 100, costUsd: 0 };
    expect(await grantsOf({ tokens: 100 }, spent).takeGrant(4, still)).toBeNull();
  });

  it('one that waits is refused once the others have spent what they had', async () => {
    let spent = nothingSpent;
    const grants = new Grants({ ...free, requests: 3 }, () => spent);
    const first = await grants.takeGrant(2, still);
    const waiting = grants.takeGrant(2, still);
    expect(await isSettled(waiting)).toBe(false);
    spent = { ...nothingSpent, requests: 3 };
    grants.giveBack(first ?? free);
    expect(await waiting).toBeNull();
  });

  it('made before a crash are reserved', async () => {
    const grants = grantsOf({ requests: 5 });
    grants.reserve({ requests: 3, tokens: null, costUsd: null });
    expect(await grants.takeGrant(4, still)).toEqual({ requests: 1, tokens: null, costUsd: null });
  });

  it.each(['tokens', 'costUsd'] as const)('reserve %s, which come back with them', async (kind) => {
    const grants = grantsOf({ [kind]: 9 });
    const some = { ...free, [kind]: 4 };
    grants.reserve(some);
    grants.reserve(some);
    const rest = await grants.takeGrant(4, still);
    expect(rest?.[kind]).toBe(1);
    grants.giveBack(some);
    expect((await grants.takeGrant(4, still))?.[kind]).toBe(4);
  });

  it('a call that was aborted leaves no listener on its signal', async () => {
    const grants = grantsOf({ requests: 2 });
    await grants.takeGrant(1, still);
    const gone = new AbortController();
    const waiting = grants.takeGrant(1, gone.signal);
    gone.abort();
    expect(await waiting).toBeNull();
    expect(getEventListeners(gone.signal, 'abort')).toEqual([]);
  });

  it('are not given to aborted calls, whether the abort comes during the wait or as the grant arrives', async () => {
    const grants = grantsOf({ requests: 3 });
    const first = await grants.takeGrant(2, still);
    const gone = new AbortController();
    const waiting = grants.takeGrant(2, gone.signal);
    expect(await isSettled(waiting)).toBe(false);
    gone.abort();
    expect(await waiting).toBeNull();
    const next = grants.takeGrant(2, still);
    grants.giveBack(first ?? free);
    expect((await next)?.requests).toBe(2);
    grants.giveBack((await next) ?? free);
    const late = new AbortController();
    late.abort();
    expect(await grants.takeGrant(2, late.signal)).toBeNull();
    expect((await grants.takeGrant(2, still))?.requests).toBe(2);
  });

  it('never add up to more than is left, whatever is taken, given back or aborted when', async () => {
    const move = fc.oneof(
      fc.record({ take: fc.integer({ min: 1, max: 6 }) }),
      fc.record({ back: fc.nat(9) }),
      fc.record({ abort: fc.nat(9) }),
    );
    const most = fc.record({ requests: fc.integer({ min: 1, max: 12 }), tokens: fc.integer({ min: 1, max: 50 }) });
    await fc.assert(
      fc.asyncProperty(most, fc.array(move, { maxLength: 25 }), async ({ requests, tokens }, moves) => {
        const grants = grantsOf({ requests, tokens });
        const held: Allowance[] = [];
        const calls: { controller: AbortController; isOver: boolean }[] = [];
        for (const one of moves) {
          if ('take' in one) {
            const call = { controller: new AbortController(), isOver: false };
            calls.push(call);
            void grants.takeGrant(one.take, call.controller.signal).then((grant) => {
              call.isOver = true;
              if (grant !== null) held.push(grant);
            });
          } else if ('back' in one) {
            const [grant] = held.splice(one.back % Math.max(1, held.length), 1);
            if (grant !== undefined) grants.giveBack(grant);
          } else {
            calls[one.abort % Math.max(1, calls.length)]?.controller.abort();
          }
          await new Promise(setImmediate);
          expect(held.reduce((sum, grant) => sum + (grant.requests ?? 0), 0)).toBeLessThanOrEqual(requests - 1);
          expect(held.reduce((sum, grant) => sum + (grant.tokens ?? 0), 0)).toBeLessThanOrEqual(tokens);
        }
        // Once all is given back, no call is left waiting.
        for (let round = 0; round < 60; round += 1) {
          for (const grant of held.splice(0)) grants.giveBack(grant);
          await new Promise(setImmediate);
        }
        expect(calls.filter(({ isOver }) => !isOver)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});
