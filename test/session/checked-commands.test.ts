import { describe, expect, it } from 'vitest';
import { PawlError } from '../../src/index.ts';
import { approvalDecision, checkedAnswer, graceOf, position, steering } from '../../src/session/commands.ts';
import { answerOne, approveOne, theOne } from '../../src/session/deciding.ts';
import type { SubSession } from '../../src/session/sub-agents/sub-session.ts';
import { waitingCalls } from '../support/waiting-calls.ts';

const code = 'invalid_options';
/** Any value that a caller without types may give. */
const untyped = (value: unknown) => value as never;

/** Returns the message of the error for bad input. */
function problemOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof PawlError && error.code === code) return error.message;
    throw error;
  }
  return 'accepted';
}

describe('the commands of a session, checked', () => {
  it('a steering text is a string that is not blank', () => {
    expect(steering(' go on ')).toEqual({ type: 'session.steer', text: ' go on ' });
    expect(problemOf(() => steering(' \n'))).toBe('`text` must be a string that is not blank; got " \\n".');
    expect(problemOf(() => steering(7))).toBe('`text` must be a string that is not blank; got 7.');
    expect(problemOf(() => steering(undefined))).toContain('`text` is required');
  });

  it('a position is an integer from 1', () => {
    expect([1, 7].map(position)).toEqual([1, 7]);
    for (const bad of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', null])
      expect(problemOf(() => position(bad))).toContain('`seq` must be an integer of at least 1; got');
  });

  it('a suspension waits 10 s, or as long as it is told', () => {
    expect([graceOf({}), graceOf({ graceMs: 0 }), graceOf({ graceMs: 7.5 })]).toEqual([10_000, 0, 7.5]);
    expect(graceOf({ graceMs: Number.POSITIVE_INFINITY })).toBe(Number.POSITIVE_INFINITY);
    for (const bad of [-1, Number.NaN, '5', null])
      expect(problemOf(() => graceOf({ graceMs: untyped(bad) }))).toContain(
        '`options.graceMs` must be a number of at least 0',
      );
    expect(problemOf(() => graceOf(untyped(null)))).toContain('`options` must be');
    expect(problemOf(() => graceOf(untyped({ gracems: 1 })))).toContain('Unknown option `options.gracems`');
  });

  it('a decision says whether it approves; truthy is not enough', () => {
    const none = { reason: null, input: null, sessionId: null };
    expect(approvalDecision({ approved: true })).toEqual({ approved: true, ...none });
    expect(approvalDecision({ approved: false, reason: 'no', sessionId: 's' })).toEqual({
      approved: false,
      reason: 'no',
      input: null,
      sessionId: 's',
    });
    for (const bad of [undefined, null, {}, { approved: 'yes' }, { approved: 1 }, { approved: true, reason: 7 }])
      expect(problemOf(() => approvalDecision(untyped(bad)))).toMatch(
        /^`decision(\.approved|\.reason)?` (must be|is required)/,
      );
    expect(problemOf(() => approvalDecision(untyped({ approved: true, sessionId: 4 })))).toContain('a session id');
    expect(problemOf(() => approvalDecision(untyped({ approved: false, resaon: 'x' })))).toContain(
      'Unknown option `decision.resaon`. Options: approved',
    );
  });

  it("the answer to a client-side tool's call is JSON", () => {
    const plain = { isError: false };
    const given = { when: new Date(0), none: undefined, list: [1] };
    expect(checkedAnswer(given, {})).toEqual({
      answer: { output: { when: '1970-01-01T00:00:00.000Z', list: [1] }, isError: false },
      sessionId: null,
    });
    expect(checkedAnswer(undefined, plain).answer).toEqual({ output: null, isError: false });
    expect(checkedAnswer('no', { isError: true, sessionId: 's' })).toEqual({
      answer: { output: 'no', isError: true },
      sessionId: 's',
    });
    const endless: unknown[] = [];
    endless.push(endless);
    expect(problemOf(() => checkedAnswer(endless, {}))).toContain('`output` must be JSON: ');
    expect(() => checkedAnswer(endless, {})).toThrow(expect.objectContaining({ cause: expect.any(TypeError) }));
    expect(problemOf(() => checkedAnswer(1n, {}))).toContain('`output` must be JSON: ');
    expect(problemOf(() => checkedAnswer(1, untyped({ isError: 'no' })))).toContain('options.isError');
    expect(problemOf(() => checkedAnswer(1, untyped({ sessionId: 7 })))).toMatch(/options\.sessionId.*a session id/);
    expect(problemOf(() => checkedAnswer(1, untyped({ isFinal: true })))).toContain('isFinal');
  });
});

/** A session that waits for these calls, of its own tools or of client-side ones. */
function sessionWith(sessionId: string, approvals: string[], answers: string[] = []) {
  const told: unknown[] = [];
  const session = {
    sessionId,
    waiting: () => waitingCalls(sessionId, approvals, answers),
    tree: () => [session],
    decide: (...decision: unknown[]) => told.push(decision) > 0 && approvals.includes(`${decision[0]}`),
    answerCall: (...answer: unknown[]) => told.push(answer) > 0 && answers.includes(`${answer[0]}`),
  };
  return { session: session as unknown as SubSession, told };
}

describe('the session of a tree that a command is for', () => {
  const [above, below] = [sessionWith('above', ['a', 'same']), sessionWith('below', ['b', 'same'], ['c'])];
  const root = { ...above.session, tree: () => [above.session, below.session] } as SubSession;

  it('is the one that waits for the call; with several, the one that is named', () => {
    const approved = (callId: string, sessionId: string | null) =>
      theOne(root, { callId, sessionId, awaits: 'approval' });
    const answered = (callId: string, sessionId: string | null) =>
      theOne(root, { callId, sessionId, awaits: 'answer' });
    expect(approved('a', null)).toBe(above.session);
    expect(approved('b', null)).toBe(below.session);
    expect(answered('c', 'below')).toBe(below.session);
    expect(approved('same', null)).toBeUndefined();
    expect(approved('same', 'below')).toBe(below.session);
    expect(approved('b', 'above')).toBeUndefined();
    expect(approved('unknown', null)).toBeUndefined();
    expect(approved('c', null)).toBeUndefined();
    expect(answered('a', null)).toBeUndefined();
  });

  it('is the only one that gets the decision or the answer', () => {
    expect(approveOne(root, 'b', { approved: false, reason: 'no' })).toBe(true);
    expect(answerOne(root, 'c', 1, {})).toBe(true);
    expect(below.told).toEqual([
      ['b', { approved: false, input: null, reason: 'no' }],
      ['c', { output: 1, isError: false }],
    ]);
    expect(approveOne(root, 'same', { approved: true })).toBe(false);
    expect(answerOne(root, 'unknown', 1, {})).toBe(false);
    // It waits for an approval, not an answer.
    expect(answerOne(root, 'a', 1, {})).toBe(false);
    expect(above.told).toEqual([]);
  });
});
