import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { Rows } from '../../src/inspect/recorded/rows.ts';
import { linesOf, type Said } from '../support/row-tree.ts';

const fact = (one: Fact, scope = '') => ({ scope, fact: one });
const begun = fact({ type: 'session.started', maxTurns: 4, maxRetries: 3, targets: ['a', 'b'] });
const of = { turn: 1, attempt: 1, target: 'a' };
const turn = fact({ type: 'turn.started', turn: 1, isLastTurn: false });
const attempt = fact({ type: 'attempt.started', ...of, notice: null, offer: 'all' });
const requested = fact({
  type: 'tool.requested',
  kind: 'real',
  turn: 1,
  attempt: 1,
  index: 0,
  callId: 'c1',
  name: 'read',
});
const replied = (input: number, costUsd: number | null, scope = '') => {
  const usage = { input, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
  return fact({ type: 'attempt.replied', ...of, reply: null, fault: null, calls: [], usage, costUsd }, scope);
};

describe('S-8: what the lines of a session spent', () => {
  const spentBy = (...told: Said[]) => {
    const rows = new Rows();
    linesOf(rows, told);
    return rows.byId.map(({ kind, scope, spent }) => [kind, scope, spent?.tokens ?? null, spent?.costUsd ?? null]);
  };
  const child = (id: string) => [
    fact({ type: 'session.started', maxTurns: 1, maxRetries: 1, targets: ['a'] }, id),
    fact({ type: 'attempt.started', ...of, notice: null, offer: 'all' }, id),
    replied(9, 0.5, id),
  ];

  it('that of a sub-agent is that of its call, and of everything above it, once', () => {
    const told = [begun, turn, attempt, requested, ...child('c1'), replied(99, null)];
    expect(spentBy(...told)).toEqual([
      ['session', '', 110, null],
      ['turn', '', 110, null],
      ['attempt', '', 110, null],
      ['call', '', 10, 0.5],
      ['session', 'c1', 10, 0.5],
      ['attempt', 'c1', 10, 0.5],
    ]);
    // A call that is not known is not counted twice.
    expect(spentBy(begun, ...child('c9'))[0]).toEqual(['session', '', 10, 0.5]);
  });

  it('that of a summary is that of the session alone', () => {
    const usage = { input: 4, output: 1, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
    const asked = { target: 'a', usage, guessedTokens: 0, costUsd: 0.25 };
    const told = [begun, turn, attempt, replied(9, 0.5)];
    expect(spentBy(...told, fact({ type: 'compaction.failed', turn: 2, detail: 'no', asked })).slice(0, 3)).toEqual([
      ['session', '', 15, 0.75],
      ['turn', '', 10, 0.5],
      ['attempt', '', 10, 0.5],
    ]);
  });
});
