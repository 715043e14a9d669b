import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../../machines/contract/context.ts';
import { emptySize } from '../../../machines/index.ts';
import { attemptInput, fitted, nextTarget, requestFits } from '../../../machines/turn/turn.rules.ts';
import { context, failed } from '../../support/turns.ts';

const small = { windowTokens: 1_000 };
const large = { windowTokens: 100_000 };
const size = { ...emptySize, counted: 50_000 };
/** Two targets with these windows, and what else is known of them. */
const withTargets = (one: object, two: object, over: object = {}) => {
  const before = context();
  const targets = before.targets.map((state, index) => ({ ...state, ...(index === 0 ? one : two) }));
  return { ...before, targets, size, ...over };
};
const limitedUntil = 50_000;

describe('T-6 P-2 P-3: the next target', () => {
  it('is the first whose window the request fits', () => {
    expect(nextTarget(withTargets(small, large))).toEqual({ kind: 'free', target: 1 });
    expect(nextTarget(withTargets(large, small))).toEqual({ kind: 'free', target: 0 });
    expect(requestFits(withTargets(small, large))).toBe(true);
  });

  it('is waited for, rather than one that the request does not fit', () => {
    const waits = withTargets(small, { ...large, limitedUntil }, { at: 1 });
    expect(nextTarget(waits)).toEqual({ kind: 'wait', target: 1, dueAt: limitedUntil });
  });

  it('is any where it fits none, and then no request is sent', () => {
    const full = withTargets(small, small);
    expect(nextTarget(full)).toEqual({ kind: 'free', target: 0 });
    expect(requestFits(full)).toBe(false);
  });

  it('is not waited for past the deadline, also where the request fits none', () => {
    const budget = { ...context().budget, deadlineAt: 40_000 };
    const late = { limitedUntil };
    expect(nextTarget(withTargets({ ...small, ...late }, { ...small, ...late }, { at: 1, budget }))).toEqual({
      kind: 'beyond',
      dueAt: limitedUntil,
    });
  });
});

describe('T-6: the next request', () => {
  it('counts the notice of its own attempt, if it has one', () => {
    const most = (over: object) => {
      const fits = (counted: number) =>
        requestFits(withTargets({ windowTokens: 4_000 }, small, { size: { ...size, counted }, ...over }));
      return Array.from({ length: 4_000 }, (_, counted) => counted).findLast(fits);
    };
    const told = { last: failed({ slugs: ['text_only'] }) };
    const { notice } = attemptInput(context({ ...told, attempt: 2 }));
    expect(notice).toContain('This is attempt 2 of 3.');
    expect(most({ last: null, attempt: 0 })).toBe(3_900);
    expect(most(told)).toBe(3_900 - Math.ceil(estimateTokens(notice ?? '') * 1.25));
  });

  it('tells of what it leaves out: results, or old text', () => {
    const results = [{ callId: 'old', tokens: 3_000 }];
    const left = (over: object) =>
      fitted(withTargets({ windowTokens: 4_000 }, small, { size: { ...emptySize, ...over } }), 0).facts;
    expect(left({ counted: 1_000 })).toEqual([]);
    expect(left({ estimated: 500, counted: 5_000, text: { tokens: 3_000, counted: true } })).toMatchObject([
      { type: 'results.omitted', callIds: [] },
    ]);
    expect(left({ counted: 5_000, results })).toMatchObject([
      { type: 'results.omitted', callIds: ['old'], textTokens: 0 },
    ]);
  });
});
