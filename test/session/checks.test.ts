import { describe, expect, it } from 'vitest';
import type { Message } from '../../machines/index.ts';
import { type AgentDefinition, allow, defineAgent, deny, replace } from '../../src/index.ts';
import { Checks } from '../../src/session/effects/checks.ts';
import { manualClock, rehearsalModel } from '../../src/testing/index.ts';
import { replySaying } from '../support/replies.ts';

const never = new AbortController().signal;

function checksOf(definition: Partial<AgentDefinition>) {
  const agent = defineAgent({ name: 'checked', models: [rehearsalModel([])], ...definition });
  const clock = manualClock();
  const contextFor = () => ({ user: 'ada' });
  const parts = { agent, speaker: () => null, clock, timeoutMs: 1_000, contextFor, secrets: ['orchid.summit'] };
  return { checks: new Checks(parts), clock };
}

const given: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'Hello.' }] }];
const reply = replySaying('Said.');
const at = { turn: 1, attempt: 2 };
/** What a check without types may return. */
const untyped = (verdict: unknown) => ({ checkReply: () => verdict as typeof allow });

describe('G-1 G-2 G-3: a check decides by a verdict alone', () => {
  it.each([
    undefined,
    null,
    true,
    'yes',
    {},
    { allow: 'yes' },
    { allow: 1 },
    { allow: null, reason: 'no' },
    { allow: false },
    { allow: false, reason: 7 },
    { allow: 'no', reason: 'no' },
    { reason: 'no' },
  ])('%j is not a verdict, so nothing passes', async (verdict) => {
    expect(await checksOf(untyped(verdict)).checks.reply(reply, at, never)).toMatchObject({
      kind: 'unchecked',
      reason: expect.stringMatching(
        /^checkReply\(\) failed: `its verdict` (is required:|must be) `allow`, `deny\(reason\)` or `replace\(value\)`/,
      ),
    });
  });

  it('whether replies are checked is known before there is one', () => {
    expect(checksOf({}).checks.replies).toBe(false);
    expect(checksOf(untyped(allow)).checks.replies).toBe(true);
  });

  it('allowed, a value passes as it is', async () => {
    const passing = checksOf({ checkInput: () => allow, checkReply: () => allow, checkReport: () => allow }).checks;
    expect(await passing.input(given, never)).toEqual({ kind: 'passed', value: null });
    expect(await passing.reply(reply, at, never)).toEqual({ kind: 'passed', value: reply });
    expect(await passing.report({ valid: true, content: 'Done.' }, never)).toEqual({ valid: true, content: 'Done.' });
    expect(await checksOf({}).checks.input(given, never)).toEqual({ kind: 'passed', value: null });
  });

  it('denied, its reason is told, without secrets', async () => {
    const denying = checksOf({
      checkInput: () => deny('It says orchid.summit.'),
      checkReport: () => deny('No.'),
    }).checks;
    expect(await denying.input(given, never)).toEqual({ kind: 'denied', reason: 'It says [redacted].' });
    expect(await denying.report({ valid: true, content: 'x' }, never)).toEqual({
      valid: false,
      slug: 'report_denied',
      reasons: 'No.',
    });
  });

  it('replaced, only what fits takes its place', async () => {
    const input = (value: unknown) =>
      checksOf({ checkInput: () => replace(value as never) }).checks.input(given, never);
    expect(await input([{ role: 'user', content: 'Other.' }])).toEqual({
      kind: 'passed',
      value: [{ role: 'user', content: [{ type: 'text', text: 'Other.' }] }],
    });
    for (const bad of ['Other.', []])
      expect(await input(bad)).toMatchObject({
        kind: 'unchecked',
        reason: expect.stringContaining('checkInput() failed: `value` must be an array of messages with content; got'),
      });
    const text = (value: unknown) => checksOf(untyped(replace(value))).checks.reply(reply, at, never);
    expect(await text('Other.')).toMatchObject({ kind: 'passed', value: { content: [{ text: 'Other.' }] } });
    expect(await text(7)).toEqual({
      kind: 'unchecked',
      reason: 'checkReply() failed: `value` must be a string; got 7.',
    });
    const report = (value: unknown) =>
      checksOf({ checkReport: () => replace(value) }).checks.report({ valid: true, content: 'x' }, never);
    expect(await report('Other.')).toEqual({ valid: true, content: 'Other.' });
    expect(await report(' ')).toMatchObject({
      valid: false,
      slug: 'check_failed',
      reasons: expect.stringMatching(/^checkReport\(\) failed: what it put in its place is no report: ./),
    });
  });

  it('a report that its format refused is not checked again', async () => {
    const refused = { valid: false, slug: 'report_invalid', reasons: 'It is empty.' } as const;
    const { checks } = checksOf({ checkReport: () => allow });
    expect(await checks.report(refused as never, never)).toBe(refused);
  });

  it('one that is late or throws checks nothing', async () => {
    const { checks, clock } = checksOf({ checkReply: () => new Promise(() => {}) });
    const late = checks.reply(reply, at, never);
    await new Promise(setImmediate);
    clock.advance(1_000);
    expect(await late).toEqual({ kind: 'unchecked', reason: 'checkReply() failed: it did not decide within 1000 ms' });
    const throwing = checksOf({ checkReply: () => Promise.reject(new Error('no orchid.summit')) }).checks;
    expect(await throwing.reply(reply, at, never)).toEqual({
      kind: 'unchecked',
      reason: 'checkReply() failed: no [redacted]',
    });
  });

  it('it gets copies, the place of the reply, and the context', async () => {
    const seen: unknown[] = [];
    const checkReply: AgentDefinition['checkReply'] = (checked, { context, signal }) => {
      seen.push({ ...checked, reply: structuredClone(checked.reply) }, context, signal.aborted);
      checked.reply.content.length = 0;
      return allow;
    };
    expect(await checksOf({ checkReply }).checks.reply(reply, at, never)).toEqual({ kind: 'passed', value: reply });
    expect(seen).toEqual([{ text: 'Said.', reply, turn: 1, attempt: 2 }, { user: 'ada' }, false]);
    expect(reply.content).toHaveLength(1);
  });
});
