import { describe, expect, it } from 'vitest';
import { manualClock } from '../../src/testing/index.ts';
import {
  allow,
  deny,
  type PastCall,
  Policies,
  readBeforeWrite,
  requires,
  type ToolPolicy,
} from '../../src/tools/policies.ts';

const never = new AbortController().signal;
const call = (name: string, input: unknown = {}, callId = 'c') => ({ callId, name, input });
const past = (name: string, input: Record<string, unknown> = {}, more: Partial<PastCall> = {}): PastCall => ({
  callId: `past-${name}`,
  name,
  input,
  executed: true,
  slug: null,
  output: { type: 'text', value: '' },
  ...more,
});

/** Policies over these answered calls, and what they reported as errors. */
function policiesOf(policies: readonly ToolPolicy[], all: PastCall[] = [], timeoutMs = 1_000) {
  const clock = manualClock();
  const errors: unknown[] = [];
  const onError = (...told: unknown[]) => errors.push(told);
  const judge = new Policies(policies, Object({ all }), { clock, timeoutMs, onError }, { user: 'ann' });
  return { clock, errors, judge };
}

const asSent = () => undefined;
const verdictOf = async (policy: ToolPolicy, name: string, input: unknown, history: PastCall[]) =>
  (await policiesOf([policy], history).judge.judge(call(name, input), asSent, never))?.reason ?? null;

describe('a policy that requires other tools first', () => {
  const policy = requires('send', { after: ['read', 'check'] });

  it('allows the call once each of them has succeeded, and any other tool always', async () => {
    const lacks = (what: string) => `send needs a successful call to ${what} first.`;
    expect(await verdictOf(policy, 'send', {}, [])).toBe(lacks('read and check'));
    expect(await verdictOf(policy, 'send', {}, [past('read')])).toBe(lacks('check'));
    expect(await verdictOf(policy, 'send', {}, [past('other'), past('check')])).toBe(lacks('read'));
    const failed = past('check', {}, { slug: 'tool_exec_failed' });
    expect(await verdictOf(policy, 'send', {}, [past('read'), failed])).toBe(lacks('check'));
    expect(await verdictOf(policy, 'send', {}, [past('read'), past('check')])).toBe(null);
    expect(await verdictOf(policy, 'other', {}, [])).toBe(null);
  });
});

describe('a policy that requires a read before a write', () => {
  const denied = 'Before write_file, call read_file with the same path.';

  it('allows the write of what was read', async () => {
    const policy = readBeforeWrite();
    const read = past('read_file', { path: 'a', lines: 3 });
    expect(await verdictOf(policy, 'write_file', { path: 'a' }, [read])).toBe(null);
    expect(await verdictOf(policy, 'write_file', { path: 'b' }, [read])).toBe(denied);
    expect(await verdictOf(policy, 'write_file', {}, [past('read_file')])).toBe(denied);
    expect(await verdictOf(policy, 'write_file', { path: 'a' }, [past('other', { path: 'a' })])).toBe(denied);
    expect(await verdictOf(policy, 'write_file', { path: 'a' }, [past('read_file', { path: 'b' }), read])).toBe(null);
    const failed = past('read_file', { path: 'a' }, { slug: 'tool_exec_failed' });
    expect(await verdictOf(policy, 'write_file', { path: 'a' }, [failed])).toBe(denied);
    expect(await verdictOf(policy, 'delete_file', { path: 'b' }, [])).toBe(null);
  });

  it('has the names that it is given', async () => {
    const policy = readBeforeWrite({ read: 'get', write: 'put', field: 'key' });
    expect(await verdictOf(policy, 'put', { key: ['a'] }, [past('get', { key: ['a'] })])).toBe(null);
    expect(await verdictOf(policy, 'put', { key: ['b'] }, [past('get', { key: ['a'] })])).toBe(
      'Before put, call get with the same key.',
    );
  });
});

describe('the policies of an agent', () => {
  it('are asked in order, with the call, the calls before it and the context, until one denies it', async () => {
    const asked: unknown[] = [];
    const told =
      (verdict: ReturnType<ToolPolicy>): ToolPolicy =>
      (...given) => {
        asked.push(given);
        return verdict;
      };
    const before = past('read', { path: 'a' });
    const { judge } = policiesOf([told(allow), told(Promise.resolve(deny('no'))), told(allow)], [before]);
    const refusal = await judge.judge(call('send', { to: 'ann' }), asSent, never);
    expect(refusal).toEqual({ slug: 'policy_denied', reason: 'no' });
    const given = [{ callId: 'c', name: 'send', input: { to: 'ann' } }, [before], { context: { user: 'ann' } }];
    expect(asked).toEqual([given, given]);
  });

  it('cannot change a past call: neither its fields nor its input, at any depth', async () => {
    const changes: ((one: PastCall) => void)[] = [
      (one) => Object.assign(one, { slug: null }),
      (one) => Object.assign(one.input, { path: 'b' }),
      (one) => (one.input.lines as number[]).push(4),
    ];
    for (const change of changes) {
      const seen: unknown[] = [];
      const careless: ToolPolicy = (_, history) => {
        seen.push(structuredClone(history[0]?.input));
        for (const one of history) change(one);
        return allow;
      };
      const { judge } = policiesOf([careless], [past('read', { path: 'a', lines: [3] })]);
      for (const callId of ['one', 'two'])
        expect(await judge.judge(call('send', {}, callId), asSent, never)).toMatchObject({ slug: 'check_failed' });
      expect(seen).toEqual([
        { path: 'a', lines: [3] },
        { path: 'a', lines: [3] },
      ]);
    }
  });

  it('may change what the user’s own objects hold, which are shared', async () => {
    const own = new Map([['a', 1]]);
    const { judge } = policiesOf([() => allow]);
    const input = { own, run: () => 1 };
    expect(await judge.judge(call('send', input), asSent, never)).toBe(null);
    expect([Object.isFrozen(input), Object.isFrozen(input.run)]).toEqual([false, false]);
  });

  it('cannot change the input for others, nor the history', async () => {
    const seen: unknown[] = [];
    const { judge } = policiesOf([
      (asked) => {
        asked.input.to = 'eve';
        return allow;
      },
      (asked, history, session) => {
        seen.push(asked.input, Object.isFrozen(history), Object.isFrozen(session));
        return allow;
      },
    ]);
    const open = () => 1;
    expect(await judge.judge(call('send', { to: 'ann', open }), asSent, never)).toBe(null);
    expect(seen).toEqual([{ to: 'ann', open }, true, true]);
  });

  it.each([
    [undefined, 'check_failed', "`A policy's verdict` is required: `{ allow: true }` or `{ allow: false, reason }`."],
    [null, 'check_failed', "`A policy's verdict` must be `{ allow: true }` or `{ allow: false, reason }`; got null."],
    ['allow', 'check_failed', "`A policy's verdict` must be"],
    [{}, 'check_failed', "`A policy's verdict` must be"],
    [{ allow: 'yes' }, 'check_failed', "`A policy's verdict` must be"],
    [{ allow: false }, 'policy_denied', 'A policy denies this call.'],
    [{ allow: false, reason: 7 }, 'policy_denied', 'A policy denies this call.'],
    [{ allow: false, reason: 'no' }, 'policy_denied', 'no'],
  ])('the verdict %j refuses the call: %s', async (verdict, slug, reason) => {
    const { judge } = policiesOf([() => verdict as never]);
    const refusal = await judge.judge(call('send'), asSent, never);
    expect(refusal).toEqual({ slug, reason: expect.stringContaining(reason) });
  });

  it('C-5: one that throws refuses the call, and so does one that takes more than half of the time', async () => {
    const broken = policiesOf([() => Promise.reject(new Error('boom'))]);
    expect(await broken.judge.judge(call('send'), asSent, never)).toEqual({
      slug: 'check_failed',
      reason: 'A policy failed on this call: boom',
    });
    const { judge, clock } = policiesOf([() => new Promise(() => {})], [], 1_000);
    let refusal: unknown;
    const judging = judge.judge(call('send'), asSent, never).then((one) => {
      refusal = one;
    });
    clock.advance(499);
    await new Promise(setImmediate);
    expect(refusal).toBe(undefined);
    clock.advance(1);
    await judging;
    expect(refusal).toEqual({
      slug: 'check_failed',
      reason: 'A policy failed on this call: it did not decide in time',
    });
  });

  it('see a past call as they judged it, and one of another process as its tool validates it, once', async () => {
    const histories: unknown[] = [];
    const all: PastCall[] = [past('old', { n: '1' })];
    let validated = 0;
    const { judge } = policiesOf(
      [
        (_, history) => {
          histories.push(history.map(({ input }) => input));
          return allow;
        },
      ],
      all,
    );
    const revalidate = async () => {
      validated += 1;
      return { valid: true as const, value: { n: 1 } };
    };
    await judge.judge(call('first', { whole: true }, 'one'), revalidate, never);
    all.push(past('first', { whole: 'as sent' }, { callId: 'one' }));
    await judge.judge(call('second', {}, 'two'), revalidate, never);
    expect(histories).toEqual([[{ n: 1 }], [{ n: 1 }, { whole: true }]]);
    expect(validated).toBe(1);
  });

  it.each([
    ['is invalid now', async () => ({ valid: false as const, reasons: 'n' }), []],
    ['has no tool any more', () => undefined, []],
    [
      'cannot be checked',
      () => {
        throw new Error('boom');
      },
      [['old', 'past-old', new Error('boom')]],
    ],
  ])('see a call as it was sent if it %s', async (_, revalidate, expected) => {
    const seen: unknown[] = [];
    const keep: ToolPolicy = (_call, history) => {
      seen.push(...history.map(({ input }) => input));
      return allow;
    };
    const { judge, errors } = policiesOf([keep], [past('old', { n: '1' })]);
    expect(await judge.judge(call('next'), revalidate as never, never)).toBe(null);
    expect(seen).toEqual([{ n: '1' }]);
    expect(errors).toEqual(expected);
  });

  it('wait for the check of a past call a quarter of the time, and then see it as it was sent', async () => {
    const { judge, clock, errors } = policiesOf([() => allow], [past('old')], 1_000);
    const judging = judge.judge(call('next'), () => new Promise(() => {}), never);
    clock.advance(249);
    await new Promise(setImmediate);
    expect(errors).toEqual([]);
    clock.advance(1);
    expect(await judging).toBe(null);
    expect(errors).toEqual([['old', 'past-old', new Error('the input check did not finish in time')]]);
  });
});
