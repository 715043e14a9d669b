import { describe, expect, it } from 'vitest';
import { noRepeats, type PastCall, PawlError } from '../../src/index.ts';
import { counters, report, runOverWire } from '../support/session.ts';

const past = (name: string, q: unknown, value = 'same', more: Partial<PastCall> = {}): PastCall => ({
  ...{ callId: 'c', name, input: { q }, executed: true, slug: null, output: { type: 'text', value } },
  ...more,
});
const judge = (history: PastCall[], name = 'look', q: unknown = 1, options: object = {}) =>
  noRepeats(options)({ callId: 'c', name, input: { q } }, history, { context: undefined });
const times = (count: number, ...calls: PastCall[]) => Array.from({ length: count }, () => calls).flat();

describe('noRepeats', () => {
  it.each<[string, PastCall[], object?]>([
    ['the same answer three times', times(3, past('look', 1))],
    ['after others', [past('look', 2), ...times(3, past('look', 1))]],
    ['a circle of two', times(3, past('look', 1), past('read', 1))],
    ['a circle of four', times(3, past('look', 1), past('read', 1), past('look', 2), past('read', 2))],
    ['calls between that never ran', times(3, past('look', 1), past('nope', 1, 'no', { executed: false }))],
    ['calls between to a tool that is exempt', times(3, past('look', 1), past('poll', 1)), { except: ['poll'] }],
    ['as often as it is told to', times(2, past('look', 1)), { after: 2 }],
  ])('denies after %s', (_name, history, options = {}) => {
    const { after = 3 } = options as { after?: number };
    expect(judge(history, 'look', 1, options)).toEqual({
      allow: false,
      reason: `You have had this answer ${after} times. Do something else, or report what you have.`,
    });
  });

  it.each<[string, PastCall[], object?]>([
    ['nothing', []],
    ['the same answer twice', times(2, past('look', 1))],
    ['other answers', [past('look', 1), past('look', 1, 'other'), past('look', 1)]],
    ['other inputs', [past('look', 1), past('look', 2), past('look', 1)]],
    ['another tool', times(3, past('read', 1))],
    ['a circle of five', times(3, past('look', 1), ...[2, 3, 4, 5].map((q) => past('look', q)))],
    ['something else in between', [...times(3, past('look', 1)), past('read', 1)]],
    ['a tool that is exempt', times(5, past('look', 1)), { except: ['look'] }],
  ])('allows after %s', (_name, history, options = {}) => {
    expect(judge(history, 'look', 1, options)).toEqual({ allow: true });
  });

  it.each([{ after: 0 }, { after: 'three' }, { except: [''] }, { often: 3 }])('refuses %j', (options) => {
    expect(() => noRepeats(options as never)).toThrow(PawlError);
  });

  it('ends a circle of a session, and tells the model', async () => {
    const { result, requests } = await runOverWire({
      script: ({ body }) =>
        JSON.stringify(body.messages).includes('You have had this answer 3 times')
          ? report()
          : { calls: [{ name: 'look', input: { q: 1 } }] },
      definition: { tools: { look: () => 'seen' }, toolPolicies: [noRepeats()], limits: { maxRetries: 2 } },
    });
    expect(requests).toHaveLength(5);
    expect(result.counters).toEqual(
      counters({
        ...{ turns: 4, attempts: 5, failedAttempts: 1, notices: 1, tokens: result.counters.tokens, costUsd: null },
        ...{ slugs: { policy_denied: 1 }, reports: { attempted: 1 } },
        toolCalls: {
          ...{ requested: 5, answered: 5, executed: 3, succeeded: 3, acknowledged: 1 },
          rejected: { policy_denied: 1 },
        },
      }),
    );
  });
});
