import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  emptySize,
  estimateTokens,
  fairGrants,
  guardContext,
  leftForSubAgents,
  nothingSpent,
  requestsLeft,
  sent,
  stubTokens,
} from '../../../machines/index.ts';

describe('for arbitrary sizes and budgets', () => {
  it('B-7: grants never exceed what is left, and share it fairly', () => {
    const limit = fc.option(fc.nat(200));
    const sum = fc.record({ requests: fc.nat(100), tokens: fc.nat(100), costUsd: fc.nat(100) });
    fc.assert(
      fc.property(
        fc.record({ requests: limit, tokens: limit, costUsd: limit }),
        sum,
        sum,
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 }),
        (allowance, spent, reserved, bounds) => {
          const left = leftForSubAgents(allowance, spent, reserved);
          const grants = fairGrants(left, bounds);
          for (const name of ['requests', 'tokens', 'costUsd'] as const) {
            const granted = grants.reduce((total, grant) => total + (grant?.[name] ?? 0), 0);
            const most = left[name] ?? Number.POSITIVE_INFINITY;
            expect(granted).toBeLessThanOrEqual(most + 1e-9);
          }
          for (const [index, grant] of grants.entries()) {
            expect(grant?.requests ?? 1).toBeGreaterThanOrEqual(1);
            expect(grant?.requests ?? 1).toBeLessThanOrEqual(bounds[index] ?? 0);
          }
          // Whoever gets less than its bound gets no less than an equal share.
          const share = Math.floor((left.requests ?? Number.POSITIVE_INFINITY) / bounds.length);
          for (const [index, grant] of grants.entries()) {
            if (grant !== null) expect(grant.requests).toBeGreaterThanOrEqual(Math.min(share, bounds[index] ?? 0));
          }
          // One request stays for the report of the session that calls.
          if (allowance.requests !== null)
            expect(left.requests).toBeLessThanOrEqual(Math.max(0, allowance.requests - 1));
        },
      ),
    );
  });

  it('B-7: shares that were spent leave nothing, although sums of fractions are inexact', () => {
    for (const [costUsd, shares] of [
      [1, 10],
      [0.7, 3],
      [100, 7],
      [1e-6, 9],
    ] as const) {
      const allowance = { requests: null, tokens: null, costUsd };
      const bounds = Array.from({ length: shares }, () => 4);
      const grants = fairGrants(leftForSubAgents(allowance, nothingSpent, nothingSpent), bounds);
      const spent = grants.reduce((sum, grant) => sum + (grant?.costUsd ?? 0), 0);
      const all = { ...nothingSpent, costUsd: spent };
      expect(leftForSubAgents(allowance, all, nothingSpent).costUsd).toBe(0);
      expect(requestsLeft({ ...allowance, deadlineAt: null }, all, 0)).toBe('one');
      const most = { ...nothingSpent, costUsd: costUsd * (1 - 1e-8) };
      expect(requestsLeft({ ...allowance, deadlineAt: null }, most, 0)).toBe('many');
      expect(leftForSubAgents(allowance, most, nothingSpent).costUsd).toBeGreaterThan(0);
    }
  });

  const sizedResult = fc.record({ tokens: fc.nat(4_000), fresh: fc.boolean() });
  type Found = { tokens: number; fresh: boolean; callId: string };
  const heldIn = (results: readonly Found[], isCounted: { read: boolean; fresh: boolean }) => ({
    results: results.filter(({ fresh }) => !fresh),
    fresh: { results: results.filter(({ fresh }) => fresh), counted: isCounted.fresh },
    text: { tokens: 0, counted: isCounted.read },
  });

  it('T-6: what the context guard lets through fits, whatever the error of the estimates, and nothing is lost', () => {
    fc.assert(
      fc.property(
        fc.record({ base: fc.nat(8_000), text: fc.nat(4_000), notice: fc.nat(200), seed: fc.nat() }),
        fc.array(sizedResult, { maxLength: 20 }),
        fc.record({ read: fc.boolean(), fresh: fc.boolean() }),
        fc.integer({ min: 100, max: 12_000 }),
        fc.double({ min: -0.25, max: 0.25, noNaN: true }),
        ({ base, text, notice }, found, isCounted, windowTokens, error) => {
          const results = found.map((one, index) => ({ ...one, callId: String(index) }));
          const sum = (some: typeof results) => some.reduce((total, { tokens }) => total + tokens, 0);
          // The true size of each result and text is off by `error`, which the provider's own count includes.
          const real = (tokens: number) => tokens * (1 + error);
          const seen = results.filter(({ fresh }) => (fresh ? isCounted.fresh : isCounted.read));
          const unseen = results.filter((one) => !seen.includes(one));
          const size = {
            ...{ counted: Math.ceil(base + real(sum(seen))), estimated: sum(unseen), steering: text },
            ...heldIn(results, isCounted),
            ...{ omitted: ['earlier'], omittedText: 0 },
          };
          const window = { windowTokens, reserveTokens: 50 };
          const { kind, omit, omitText } = guardContext(window, size, notice);
          const left = sent(size, { omit, omitText });
          const held = [...left.results, ...left.fresh.results].map(({ callId }) => callId);
          expect([...left.omitted, ...held].toSorted()).toEqual(
            ['earlier', ...results.map(({ callId }) => callId)].toSorted(),
          );
          if (kind === 'full') return;
          const gone = results.filter(({ callId }) => omit.includes(callId));
          const request = base + real(sum(results) - sum(gone) + text + notice + omit.length * stubTokens);
          expect(request).toBeLessThanOrEqual(windowTokens - Math.min(50, Math.floor(windowTokens / 4)) + 2);
          expect(guardContext(window, left, notice).omit).toEqual([]);
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('T-6: fresh results are left out last, the largest first', () => {
    fc.assert(
      fc.property(fc.array(sizedResult, { maxLength: 20 }), fc.nat(20_000), (found, counted) => {
        const results = found.map((one, index) => ({ ...one, callId: String(index) }));
        const size = { ...emptySize, counted, ...heldIn(results, { read: true, fresh: false }) };
        const { omit } = guardContext({ windowTokens: 9_000, reserveTokens: 0 }, size);
        const of = (callId: string) => results[Number(callId)];
        const firstFresh = omit.findIndex((callId) => of(callId)?.fresh);
        const fresh = firstFresh === -1 ? [] : omit.slice(firstFresh);
        expect(fresh.every((callId) => of(callId)?.fresh)).toBe(true);
        const sizes = fresh.map((callId) => of(callId)?.tokens ?? 0);
        expect(sizes).toEqual(sizes.toSorted((one, other) => other - one));
      }),
    );
  });

  it('T-6: a text is estimated at four UTF-8 bytes a token', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(estimateTokens(text)).toBe(Math.ceil(new TextEncoder().encode(text).length / 4));
      }),
    );
  });
});
