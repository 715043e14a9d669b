import { describe, expect, it } from 'vitest';
import { emptySize, noUsage } from '../../../machines/index.ts';
import { afterAttempt, brokenAttempt, exclusionFacts } from '../../../machines/turn/turn.rules.ts';
import { fault } from '../../support/replies.ts';
import { context, failed } from '../../support/turns.ts';

const size = { ...emptySize, counted: 70, estimated: 7 };
const measured = { tokens: 300, failed: 200, counted: true, oldText: 40 };

describe('T-6 B-7: what a turn knows after an attempt', () => {
  it.each([
    ['an attempt that measured nothing leaves the size as it was', { measured: null }, [70, 7]],
    ['a reply that failed is not in the next request', { measured }, [200, 0]],
    ['one that did not is', { status: 'progressed' as const, measured }, [300, 0]],
    ['what no provider counted is estimated', { measured: { ...measured, counted: false } }, [0, 200]],
  ])('%s', (_, over, expected) => {
    const { size: after } = afterAttempt(context({ size }), failed(over));
    expect([after?.counted, after?.estimated]).toEqual(expected);
  });

  it('an attempt has spent what was counted and what was guessed', () => {
    const usage = { ...noUsage, input: 100, output: 20 };
    const { spent } = afterAttempt(context(), failed({ usage, guessedTokens: 3, costUsd: null }));
    expect(spent).toEqual({ requests: 1, tokens: 123, costUsd: 0 });
  });

  it('a broken attempt reports its target, or an empty name without one', () => {
    const targetsOf = (current: number) =>
      brokenAttempt(context({ current }), { error: 'x' }).facts.map((fact) => 'target' in fact && fact.target);
    expect([targetsOf(1), targetsOf(9)]).toEqual([['two'], ['']]);
  });

  it('a piece that a target refused is told, and nothing else of a request that was invalid', () => {
    const refused = (over: object) =>
      exclusionFacts(context({ last: failed({ fault: { ...fault('invalid_request'), ...over } }) }));
    const { message } = fault('invalid_request');
    expect(refused({ piece: { message: 1, part: 0 } })).toEqual([
      { type: 'piece.replaced', turn: 2, attempt: 1, target: 'one', piece: { message: 1, part: 0 }, detail: message },
    ]);
    expect(refused({})).toEqual([]);
    const server = { ...fault('server'), piece: { message: 1, part: 0 } } as never;
    expect(exclusionFacts(context({ last: failed({ fault: server }) }))).toEqual([]);
  });
});
