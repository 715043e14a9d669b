import { describe, expect, it } from 'vitest';
import { type CompactOutcome, emptySize, noUsage, type SessionInput } from '../../../machines/index.ts';
import { afterCompaction, compactionIsDue, compactRequest } from '../../../machines/session/compaction.rules.ts';
import { freshSession, turnInput } from '../../../machines/session/session.rules.ts';
import type { SessionContext } from '../../../machines/session/session.types.ts';

const input: SessionInput = {
  bound: { maxTurns: 5, maxRetries: 3 },
  maxToolCalls: 5,
  targets: ['one', 'two'],
  finish: 'report',
  budget: { requests: null, tokens: null, costUsd: null, deadlineAt: null },
  window: { windowTokens: 1_000, reserveTokens: 0 },
  windows: { two: 4_000 },
  plansTurns: false,
  compactsAt: 0.5,
  at: 7,
};
const context = (over: Partial<SessionContext> = {}): SessionContext => ({ ...freshSession(input), turn: 2, ...over });
const counted = (tokens: number) => ({ ...emptySize, counted: tokens });
const due = (over: Partial<SessionContext>) => compactionIsDue(context(over));

describe('T-9: a compaction is due', () => {
  it('from its share of the room of the target in use on, and only above it', () => {
    expect([due({ size: counted(500) }), due({ size: counted(501) })]).toEqual([false, true]);
    expect([due({ size: counted(2_000), current: 1 }), due({ size: counted(2_001), current: 1 })]).toEqual([
      false,
      true,
    ]);
    expect(due({ size: counted(501), current: 9 })).toBe(false);
    // An estimate may be off by a quarter.
    expect(due({ size: { ...emptySize, estimated: 401 } })).toBe(true);
  });

  it('T-9c: once the conversation has grown by a tenth of the room', () => {
    expect(due({ size: counted(700), compactedTokens: 600 })).toBe(false);
    expect(due({ size: counted(701), compactedTokens: 600 })).toBe(true);
  });

  it('where it was asked for, however small the request is, and never for an agent without', () => {
    expect(due({ compactRequested: true })).toBe(true);
    expect(due({ compactRequested: true, compactsAt: null })).toBe(false);
    expect(due({ size: counted(900), compactsAt: null })).toBe(false);
  });

  it('T-9b: while a turn and more than one request are left', () => {
    const budget = { ...input.budget, requests: 4 };
    const spent = (requests: number) => ({ requests, tokens: 0, costUsd: 0 });
    expect(due({ compactRequested: true, turn: 5 })).toBe(false);
    expect(due({ compactRequested: true, budget, spent: spent(2) })).toBe(true);
    expect(due({ compactRequested: true, budget, spent: spent(3) })).toBe(false);
  });
});

describe('T-9: a compaction', () => {
  const asked = { target: 'one', usage: { ...noUsage, input: 30, output: 4 }, guessedTokens: 6, costUsd: 0.5 };
  const done: CompactOutcome = {
    ...{ ok: true, ranges: [[1, 3]], message: 'Before.', asked, tokens: 100, oldText: 9 },
    results: [
      { callId: 'old', tokens: 5 },
      { callId: 'new', tokens: 6 },
    ],
  };
  const taken = (outcome: CompactOutcome, over: Partial<SessionContext> = {}) =>
    afterCompaction(context({ compactRequested: true, ...over }), { delivered: { at: 99, chance: 0, outcome } });

  it('is asked for the next turn, the target in use and its window', () => {
    expect(compactRequest(context({ current: 1 }))).toEqual({ turn: 3, target: 1, windowTokens: 4_000 });
    expect(compactRequest(context({ current: 9 })).windowTokens).toBeNull();
  });

  it('leaves a request of the size that was measured; what the model has not read stays fresh, and so does steering', () => {
    const size = { ...counted(900), steering: 11, fresh: { results: [{ callId: 'new', tokens: 6 }], counted: true } };
    const { change, facts } = taken(done, { size });
    expect(facts).toEqual([{ type: 'conversation.compacted', turn: 3, ranges: [[1, 3]], message: 'Before.', asked }]);
    expect(change).toEqual({
      at: 99,
      compactRequested: false,
      spent: { requests: 1, tokens: 40, costUsd: 0.5 },
      summarised: 3,
      compactedTokens: 139,
      size: {
        ...emptySize,
        estimated: 100,
        steering: 11,
        results: [{ callId: 'old', tokens: 5 }],
        fresh: { results: [{ callId: 'new', tokens: 6 }], counted: false },
        text: { tokens: 9, counted: false },
      },
    });
  });

  it('T-9d: that failed leaves the conversation, and is tried again once that has grown', () => {
    const free = { ...asked, costUsd: null };
    const { change, facts } = taken({ ok: false, detail: 'empty', asked: free }, { size: counted(600) });
    expect(facts).toEqual([{ type: 'compaction.failed', turn: 3, detail: 'empty', asked: free }]);
    expect(change).toEqual({
      ...{ at: 99, compactRequested: false, compactedTokens: 600, summarised: 3 },
      spent: { requests: 1, tokens: 40, costUsd: 0 },
    });
    expect(taken({ ok: false, detail: 'none', asked: null }, { size: counted(600) }).change).toEqual({
      ...{ at: 99, compactRequested: false, compactedTokens: 600 },
    });
  });

  it('B-2: by a summary takes one of the attempts of its turn, and of no other', () => {
    const attempts = (over: Partial<SessionContext>) => turnInput(context(over)).maxAttempts;
    expect([attempts({ summarised: 2 }), attempts({ summarised: 1 }), attempts({})]).toEqual([2, 3, 3]);
    expect(attempts({ summarised: 2, maxRetries: 1 })).toBe(1);
  });
});
