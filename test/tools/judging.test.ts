import { describe, expect, it } from 'vitest';
import { allow, deny, type PolicyCall, readBeforeWrite, requires, type ToolPolicy } from '../../src/index.ts';
import type { AnsweredCall } from '../../src/observe/calls/past-calls.ts';
import { manualClock } from '../../src/testing/index.ts';
import { Policies } from '../../src/tools/policies.ts';

const still = new AbortController().signal;

/** The policies of a session with these answered calls, and the errors that they reported. */
function judging(policies: readonly ToolPolicy[], all: AnsweredCall[] = []) {
  const clock = manualClock();
  const errors: unknown[] = [];
  const onError = (name: string, callId: string, error: unknown) => void errors.push([name, callId, error]);
  const judge = new Policies(policies, { all }, { clock, timeoutMs: 100, onError }, 'the context');
  return { clock, errors, judge };
}

const past = (name: string, input: AnsweredCall['input'], slug: AnsweredCall['slug'] = null): AnsweredCall => {
  const about = { canUndo: false, key: `key of ${name}`, speaker: null };
  return {
    callId: `past ${name}`,
    name,
    input,
    executed: slug === null,
    slug,
    output: { type: 'text', value: '' },
    ...about,
  };
};
const call = (name: string, input: unknown = {}) => ({ callId: 'now', name, input });
const asSent = () => undefined;

/** How a call with this input is judged by one policy, after these answered calls. */
const judged = (
  policy: ToolPolicy,
  { name, input = {} }: { name: string; input?: unknown },
  all: AnsweredCall[] = [],
) => judging([policy], all).judge.judge(call(name, input), asSent, still);

describe('C-5: policies do not reach each other', () => {
  it('one that changes the call it is given changes it for no other, and for no later call', async () => {
    const seen: unknown[] = [];
    const changes: ToolPolicy = (given) => {
      given.name = 'other';
      given.input.path = 'changed';
      return allow;
    };
    const looks: ToolPolicy = ({ name, input }, history) => {
      seen.push([name, input, ...history.map((one) => one.input)]);
      return allow;
    };
    const all: AnsweredCall[] = [];
    const { judge } = judging([changes, looks], all);
    expect(await judge.judge(call('write', { path: 'a' }), asSent, still)).toBeNull();
    all.push({ ...past('write', { path: 'a' }), callId: 'now' });
    expect(await judge.judge({ ...call('write', { path: 'b' }), callId: 'next' }, asSent, still)).toBeNull();
    expect(seen).toEqual([
      ['write', { path: 'a' }],
      ['write', { path: 'b' }, { path: 'a' }],
    ]);
  });
});

describe('C-5: a policy that requires other calls', () => {
  const needsBoth = requires('write', { after: ['look', 'ask'] });
  const denied = (missing: string) => ({
    slug: 'policy_denied',
    reason: `write needs a successful call to ${missing} first.`,
  });

  it.each<[string, AnsweredCall[], unknown]>([
    ['none', [], denied('look and ask')],
    ['one of them', [past('look', {})], denied('ask')],
    ['another', [past('sing', {})], denied('look and ask')],
    ['both, of which one failed', [past('look', {}), past('ask', {}, 'check_failed')], denied('ask')],
    ['both', [past('ask', {}), past('look', {})], null],
  ])('after %s', async (_what, all, verdict) => {
    expect(await judged(needsBoth, { name: 'write' }, all)).toEqual(verdict);
    expect(await judged(needsBoth, { name: 'sing' }, all)).toBeNull();
  });
});

describe('C-5: a policy of reading before writing', () => {
  const denied = {
    slug: 'policy_denied',
    reason: 'Before write_file, call read_file with the same path.',
  };
  it.each<[string, AnsweredCall[], unknown]>([
    ['nothing', [], denied],
    ['another path', [past('read_file', { path: 'b' })], denied],
    ['another tool', [past('list_files', { path: 'a' })], denied],
    ['a failed read', [past('read_file', { path: 'a' }, 'check_failed')], denied],
    ['the same path', [past('read_file', { path: 'a' })], null],
  ])('after %s', async (_what, all, verdict) => {
    expect(await judged(readBeforeWrite(), { name: 'write_file', input: { path: 'a' } }, all)).toEqual(verdict);
  });

  it('denies a write without a path, even after a read without one', async () => {
    const all = [past('read_file', {})];
    expect(await judged(readBeforeWrite(), { name: 'write_file' }, all)).toEqual(denied);
    expect(await judged(readBeforeWrite(), { name: 'sing' }, all)).toBeNull();
  });
});

describe('C-5: the verdict of a policy', () => {
  it.each([null, undefined, 'yes', 7, {}, { allow: 'yes' }, []])(
    '%j is none: the call does not run',
    async (verdict) => {
      const refusal = await judged(() => verdict as never, { name: 'write' });
      expect(refusal).toMatchObject({ slug: 'check_failed' });
      expect(refusal?.reason).toMatch(
        /^`A policy's verdict` (must be|is required):? `\{ allow: true \}` or `\{ allow: false, reason \}`/,
      );
    },
  );

  it('a denial without a reason gets one', async () => {
    expect(await judged(() => ({ allow: false }) as never, { name: 'write' })).toEqual({
      slug: 'policy_denied',
      reason: 'A policy denies this call.',
    });
    expect(await judged(() => deny('No.'), { name: 'write' })).toEqual({ slug: 'policy_denied', reason: 'No.' });
  });

  it('one that takes more than half of the time for checks is none', async () => {
    const { clock, judge } = judging([() => new Promise<never>(() => {})]);
    const refusal = judge.judge(call('write'), asSent, still);
    clock.advance(49);
    expect(await Promise.race([refusal, Promise.resolve('undecided')])).toBe('undecided');
    clock.advance(1);
    expect(await refusal).toMatchObject({ slug: 'check_failed', reason: expect.stringContaining('in time') });
  });
});

describe('C-5: what policies see of earlier calls', () => {
  it('each once, in order, with the input that was judged or is validated again', async () => {
    const seen: unknown[] = [];
    const all: AnsweredCall[] = [];
    const { errors, judge } = judging(
      [
        (_call, history, session) => {
          seen.push([history.map(({ name, input }) => [name, input]), session.context]);
          return allow;
        },
      ],
      all,
    );
    const revalidate = ({ name }: AnsweredCall) => {
      if (name === 'broken') throw new Error('no schema');
      return name === 'gone' ? undefined : { valid: true as const, value: { filled: true } };
    };
    all.push(past('one', { raw: 1 }), past('gone', { raw: 2 }), past('broken', { raw: 3 }));
    await judge.judge(call('first', { raw: 4 }), revalidate, still);
    all.push({ ...past('first', { raw: 4 }), callId: 'now' });
    await judge.judge({ ...call('second'), callId: 'then' }, revalidate, still);
    const earlier = [
      ['one', { filled: true }],
      ['gone', { raw: 2 }],
      ['broken', { raw: 3 }],
    ];
    expect(seen).toEqual([
      [earlier, 'the context'],
      [[...earlier, ['first', { raw: 4 }]], 'the context'],
    ]);
    expect(errors).toEqual([['broken', 'past broken', new Error('no schema')]]);
  });

  it('as it was sent, if its check does not end in a quarter of the time', async () => {
    const { clock, errors, judge } = judging([() => allow], [past('one', { raw: 1 })]);
    const refusal = judge.judge(call('first'), () => new Promise<never>(() => {}), still);
    clock.advance(25);
    expect(await refusal).toBeNull();
    expect(errors).toEqual([['one', 'past one', new Error('the input check did not finish in time')]]);
  });

  it('a copy of the input of the call, in which only what cannot be copied is shared', async () => {
    const given = { list: [1], act: () => 7 };
    const inputs: PolicyCall['input'][] = [];
    const changing: ToolPolicy = ({ input }) => {
      inputs.push({ ...input });
      (input.list as number[]).push(2);
      return allow;
    };
    expect(await judged(changing, { name: 'first', input: given })).toBeNull();
    expect(inputs[0]?.act).toBe(given.act);
    expect(given.list).toEqual([1]);
  });
});
