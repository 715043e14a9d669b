import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  afterFault,
  backoffMs,
  chooseTarget,
  collapsed,
  composeNotice,
  count,
  emptyCounters,
  type Fault,
  freshTargets,
  historyName,
  longestWaitMs,
  type Message,
  orderFrom,
  parseToolInput,
  repairConversation,
  requestsLeft,
  slugs,
  type TargetState,
} from '../../../machines/index.ts';

describe('the rules', () => {
  it('B-4: a collapse sets maxTurns to min(maxTurns, turn + 1), and repeating it changes nothing', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 0, max: 50 }), (maxTurns, turn) => {
        const to = collapsed(maxTurns, turn);
        expect(to).toBeLessThanOrEqual(maxTurns);
        expect(to).toBe(Math.min(maxTurns, turn + 1));
        expect(collapsed(to, turn)).toBe(to);
      }),
    );
  });

  it('P-3: backoff has equal jitter from 1 s, grows with each fault and stays within 60 s', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.double({ min: 0, max: 0.999999, noNaN: true }),
        (faults, chance) => {
          const wait = backoffMs(faults, chance);
          expect(wait).toBeGreaterThanOrEqual(1_000);
          expect(wait).toBeLessThanOrEqual(longestWaitMs);
          expect(backoffMs(faults + 1, chance)).toBeGreaterThanOrEqual(wait);
          expect(backoffMs(faults, 0) * 2).toBeGreaterThanOrEqual(wait);
        },
      ),
    );
  });

  const target = (over: Partial<TargetState>): TargetState => ({
    name: 't',
    status: 'living',
    limitedUntil: 0,
    faults: 0,
    windowTokens: null,
    mended: false,
    ...over,
  });

  it.each([
    ['takes the starting target if it is free', [target({}), target({}), target({})], 1, { kind: 'free', target: 1 }],
    [
      'wraps around past the end',
      [target({}), target({ status: 'out' }), target({ limitedUntil: 50 })],
      1,
      { kind: 'free', target: 0 },
    ],
    [
      'waits for the earliest if all are limited',
      [target({ limitedUntil: 50 }), target({ limitedUntil: 30 })],
      0,
      { kind: 'wait', target: 1, dueAt: 30 },
    ],
    [
      'waits for the first in order on a tie',
      [target({ limitedUntil: 30 }), target({ limitedUntil: 30 })],
      1,
      { kind: 'wait', target: 1, dueAt: 30 },
    ],
    [
      'finds none in time if even the earliest is too far off',
      [target({ limitedUntil: 70_000 })],
      0,
      { kind: 'beyond', dueAt: 70_000 },
    ],
    ['finds none if all are out', [target({ status: 'out' })], 0, { kind: 'none' }],
  ])('P-2 P-3: chooseTarget %s', (_what, targets, from, expected) => {
    expect(chooseTarget(targets, orderFrom(targets, from), 0, 10)).toEqual(expected);
  });

  it.each<[Fault['kind'], Partial<TargetState>]>([
    ['auth', { status: 'out' }],
    ['quota', { status: 'out' }],
    ['invalid_request', { status: 'out' }],
    ['rate_limited', { limitedUntil: 2_500, faults: 1 }],
    ['server', { limitedUntil: 2_500, faults: 1 }],
    ['network', { limitedUntil: 2_500, faults: 1 }],
    ['timeout', { limitedUntil: 2_500, faults: 1 }],
    ['content_filter', {}],
    ['malformed_call', {}],
  ])('P-2 P-3: a %s fault changes the target state as expected', (kind, expected) => {
    const fault: Fault = { kind, message: '', status: null, retryAfterMs: null };
    const [state] = afterFault(freshTargets(['t']), 0, fault, 1_000, 0.5);
    expect(state).toEqual(target(expected));
  });

  it.each([
    ['', 'empty'],
    [' \n', 'empty'],
    ['{}', 'object'],
    ['{"a":{"b":[1]}}', 'object'],
    ['null', 'malformed'],
    ['[]', 'malformed'],
    ['"x"', 'malformed'],
    ['1', 'malformed'],
    ['{', 'malformed'],
    ['{"a":1}{"b":2}', 'malformed'],
    ['{"a":{"__proto__":1}}', 'malformed'],
    ['{"\\u005f_proto__":1}', 'malformed'],
  ])('C-5: input %j is classified as %s', (text, state) => {
    expect(parseToolInput(text).state).toBe(state);
  });

  it('C-2 C-6: every tool name becomes one that providers accept', () => {
    fc.assert(
      fc.property(fc.string(), (name) => {
        expect(historyName(name)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
      }),
    );
  });

  it.each([
    [{ requests: 5 }, { requests: 3 }, 'many'],
    [{ requests: 5 }, { requests: 4 }, 'one'],
    [{ requests: 5 }, { requests: 5 }, 'none'],
    [{ tokens: 10 }, { tokens: 10 }, 'one'],
    [{ costUsd: 1 }, { costUsd: 0.99 }, 'many'],
    [{ deadlineAt: 100 }, {}, 'one'],
  ] as const)('B-4: with budget %j and %j spent, requests left: %s', (budget, spent, left) => {
    const whole = { requests: null, tokens: null, costUsd: null, deadlineAt: null, ...budget };
    expect(requestsLeft(whole, { requests: 0, tokens: 0, costUsd: 0, ...spent }, 100)).toBe(left);
  });

  it('N-1 N-2: a notice is composed only after a failure or on the last turn', () => {
    const occasion = {
      denial: null,
      permits: null,
      lastTurnSlugs: [],
      finish: 'report',
      turn: 1,
      attempt: 2,
      maxAttempts: 3,
    } as const;
    expect(composeNotice({ ...occasion, failed: [], reportOnly: false })).toBeNull();
    for (const slug of slugs) {
      expect(composeNotice({ ...occasion, failed: [slug], reportOnly: false })).toMatch(
        /^system notice: .*attempt 2 of 3\.$/,
      );
    }
    expect(composeNotice({ ...occasion, failed: [], reportOnly: true })).toMatch(
      /^system notice: This is the last turn\. .*final_report/,
    );
  });

  it('S-4: counters start at zero and count each fact', () => {
    const counters = emptyCounters();
    count(counters, { type: 'attempt.started', turn: 1, attempt: 1, target: 't', notice: 'n', offer: 'all' });
    const { tree } = emptyCounters();
    const expected = { ...emptyCounters(), attempts: 1, requests: 1, notices: 1, tree: { ...tree, requests: 1 } };
    expect(counters).toEqual(expected);
  });
});

describe('conversation repair', () => {
  const id = fc.constantFrom('a', 'b', 'c', '');
  const part = fc.oneof(
    fc.record({ type: fc.constant('text' as const), text: fc.constantFrom('', ' ', 'hello') }),
    fc.record({ type: fc.constant('reasoning' as const), text: fc.constant('hm') }),
    fc.record({
      type: fc.constant('tool-call' as const),
      toolCallId: id,
      toolName: fc.constantFrom('search', '', 'a b'),
      input: fc.constant({}),
      providerExecuted: fc.constantFrom(true, false),
    }),
  );
  const result = fc.record({
    type: fc.constant('tool-result' as const),
    toolCallId: id,
    toolName: fc.constant('search'),
    output: fc.record({ type: fc.constant('text' as const), value: fc.constantFrom('1', '2') }),
  });
  const message: fc.Arbitrary<Message> = fc.oneof(
    fc.record({
      role: fc.constant('user' as const),
      content: fc.array(fc.record({ type: fc.constant('text' as const), text: fc.constantFrom('', 'hi') })),
    }),
    fc.record({ role: fc.constant('assistant' as const), content: fc.array(part, { maxLength: 4 }) }),
    fc.record({ role: fc.constant('tool' as const), content: fc.array(result, { maxLength: 4 }) }),
  );

  it('C-6: arbitrary messages become well formed, and a second repair changes nothing', async () => {
    const { expectWellFormed } = await import('../../support/session.ts');
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), (messages) => {
        const once = repairConversation(messages);
        expectWellFormed(once.messages);
        const twice = repairConversation(once.messages);
        expect(twice.messages).toEqual(once.messages);
        expect(twice.repairs).toEqual({ answered: 0, orphansDropped: 0, emptyDropped: 0, renamed: 0 });
      }),
      { numRuns: 500 },
    );
  });
});
