import { describe, expect, it } from 'vitest';
import type { Effect } from '../../machines/index.ts';
import { effectPolicy } from '../../src/session/recovery/after-crash.ts';
import type { Catalog } from '../../src/tools/catalog.ts';
import { estimateOutputTokens } from '../../src/vocabulary/tokens.ts';

const tools: Record<string, { afterCrash?: string; isClientSide?: boolean }> = {
  plain: {},
  answered: { afterCrash: 'answer' },
  repeated: { afterCrash: 'repeat' },
  continued: { afterCrash: 'continue' },
  outside: { isClientSide: true },
};
const catalog = { get: (name: string) => tools[name] } as unknown as Catalog;
const call = (name: string, callId = 'c') =>
  ({ kind: 'tool', key: 'k', request: { name, callId } }) as unknown as Effect;
const followedCalls = { has: (callId: string) => callId === 'followed' };
const begun = { followedCalls, conversation: { summaryFrom: null } };
const other = (kind: Effect['kind']) => ({ kind, key: 'k', request: {} }) as unknown as Effect;

describe('D-4: what becomes of an effect when its process dies', () => {
  const { interrupted } = effectPolicy(catalog, begun, () => false);

  it('a request in flight is a fault; its price is not known', () => {
    expect(interrupted(other('model'))).toEqual({
      reply: null,
      fault: {
        kind: 'interrupted',
        message: 'The process ended while the request was in flight.',
        status: null,
        retryAfterMs: null,
      },
      calls: [],
      textReport: null,
      usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      costUsd: 0,
      measured: null,
    });
  });

  it('a tool that ran is answered as interrupted and not run again, unless it may be', () => {
    const said = 'interrupted, outcome unknown: the process ended while the tool ran, and it was not run again.';
    const output = { type: 'error-text' as const, value: said };
    for (const name of ['plain', 'answered', 'outside', 'unknown'])
      expect(interrupted(call(name))).toMatchObject({
        slug: 'interrupted',
        result: { success: false },
        output,
        kept: null,
        tokens: estimateOutputTokens(output),
      });
    for (const name of ['repeated', 'continued']) expect(interrupted(call(name))).toBeNull();
    // Its server has it still.
    expect(interrupted(call('plain', 'followed'))).toBeNull();
  });

  it('all else is performed again', () => {
    for (const kind of ['prepare', 'approval', 'wait', 'close'] as const) expect(interrupted(other(kind))).toBeNull();
  });
});

describe('D-4: what a suspension waits for', () => {
  it('tools and requests, but not people, timers or sub-agents', () => {
    const { isAwaited } = effectPolicy(catalog, begun, () => false);
    for (const name of ['plain', 'answered', 'repeated', 'unknown']) expect(isAwaited(call(name))).toBe(true);
    for (const name of ['continued', 'outside']) expect(isAwaited(call(name))).toBe(false);
    expect(isAwaited(call('plain', 'followed'))).toBe(false);
    for (const kind of ['model', 'prepare', 'close'] as const) expect(isAwaited(other(kind))).toBe(true);
    for (const kind of ['wait', 'approval'] as const) expect(isAwaited(other(kind))).toBe(false);
    expect(effectPolicy(catalog, begun, () => true).isAwaited(other('close'))).toBe(false);
  });
});
