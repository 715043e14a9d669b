import { describe, expect, it } from 'vitest';
import { judge, outputOf } from '../../../machines/attempt/attempt.rules.ts';
import type { Reading, Verdict } from '../../../machines/attempt/attempt.types.ts';
import { brokenReading, readOutcome } from '../../../machines/attempt/reading.rules.ts';
import { faultKinds } from '../../../machines/contract/faults.ts';
import {
  callFacts,
  type Fault,
  faultSlug,
  nothingSpent,
  type Slug,
  slugs,
  slugTable,
} from '../../../machines/index.ts';
import type { AnswerSummary } from '../../../machines/tool-call/tool-call.types.ts';
import { attemptInput, outcome, reply, text } from '../../graph/levels/attempt.ts';

const reading = (over: Partial<Reading>): Reading => ({
  ...brokenReading(''),
  defect: null,
  complete: true,
  began: true,
  ...over,
});
const fault = (kind: Fault['kind']): Fault => ({ kind, message: '', status: null, retryAfterMs: null });
const answer = (executed: boolean, slug: Slug | null): AnswerSummary => ({
  executed,
  slug,
  tokens: 0,
  spent: nothingSpent,
  at: null,
});
const call: Reading['calls'][number] = {
  callId: 'a',
  name: 't',
  tool: 'real',
  within: null,
  progress: '',
  disposition: { kind: 'run', isClientSide: false },
};
const failed = (...names: Slug[]): Verdict => ({ status: 'failed', slugs: names });
const accepted = { index: 0, source: 'tool_call' } as const;

it.each([
  ['text', 'all', null],
  ['text', 'report', 'text_fallback'],
  ['report', 'report', 'text_fallback'],
] as const)(
  'F-4 T-2: text beside a call that the provider still runs, finish %s, permitted %s: %s',
  (finish, permission, source) => {
    const web = { type: 'tool-call', callId: 'a', name: 'web', input: '{}', providerExecuted: true } as const;
    const calls = [{ ...callFacts('a', 'web', 'provider'), wholeInput: true, provided: 'missing' as const }];
    const textReport = { valid: true, content: 'So.' } as const;
    const replied = outcome({ reply: reply([text('text', 'So.'), web]), calls, textReport });
    const read = readOutcome({ at: 0, chance: 0, outcome: replied }, { ...attemptInput, finish, permission });
    expect(read.accepted?.source ?? null).toBe(source);
  },
);

describe('the verdict of an attempt', () => {
  it.each<[string, Partial<Reading>, AnswerSummary[], Verdict]>([
    ['a report was accepted', { accepted }, [answer(false, null)], { status: 'finished', slugs: [] }],
    [
      'a report was accepted and another call was aborted',
      { accepted, calls: [call] },
      [answer(false, 'aborted')],
      { status: 'finished', slugs: [] },
    ],
    [
      'an answer was aborted',
      { calls: [call, call] },
      [answer(true, null), answer(false, 'aborted')],
      { status: 'aborted', slugs: ['aborted'] },
    ],
    ['a tool was executed', { calls: [call] }, [answer(true, null)], { status: 'progressed', slugs: [] }],
    [
      'the reply is incomplete, without a fault',
      { complete: false, calls: [call] },
      [answer(false, 'stream_interrupted')],
      { status: 'failed', slugs: ['stream_interrupted'] },
    ],
    [
      'a tool was executed and failed',
      { calls: [call] },
      [answer(true, 'tool_exec_failed')],
      { status: 'progressed', slugs: [] },
    ],
    [
      'one of two calls was executed',
      { calls: [call, call] },
      [answer(false, 'unknown_tool'), answer(true, null)],
      { status: 'progressed', slugs: [] },
    ],
    [
      'no call was executed',
      { calls: [call, call] },
      [answer(false, 'unknown_tool'), answer(false, 'tool_limit')],
      failed('unknown_tool', 'tool_limit'),
    ],
    [
      'the same reason twice',
      { calls: [call, call] },
      [answer(false, 'unknown_tool'), answer(false, 'unknown_tool')],
      failed('unknown_tool'),
    ],
    ['progress only', { calls: [call] }, [answer(false, null)], failed('progress_only')],
    ['nothing', { holds: 'nothing' }, [], failed('empty_response')],
    ['reasoning', { holds: 'reasoning' }, [], failed('reasoning_only')],
    ['text', { holds: 'text' }, [], failed('text_only')],
    ['a call as text', { holds: 'call' }, [], failed('call_as_text')],
    [
      'a call as text, truncated',
      { holds: 'call', cut: 'response_truncated' },
      [],
      failed('call_as_text', 'response_truncated'),
    ],
    ['a text without end', { holds: 'text', complete: false, cut: 'degenerate_reply' }, [], failed('degenerate_reply')],
    ['other content', { holds: 'other' }, [], failed('no_tools')],
    ['truncated text', { holds: 'text', cut: 'response_truncated' }, [], failed('text_only', 'response_truncated')],
    ['nothing, truncated', { holds: 'nothing', cut: 'response_truncated' }, [], failed('response_truncated')],
    ['nothing, filtered', { holds: 'nothing', cut: 'content_filtered' }, [], failed('content_filtered')],
    [
      'a rejected text',
      { holds: 'text', rejected: [{ index: null, slug: 'final_report_schema_fail', reasons: '' }] },
      [],
      failed('text_only', 'final_report_schema_fail'),
    ],
    ['a fault before the stream', { complete: false, began: false, fault: fault('auth') }, [], failed('provider_auth')],
    [
      'a fault in the stream',
      { complete: false, fault: fault('server') },
      [],
      failed('stream_interrupted', 'provider_error'),
    ],
    [
      'a tool was executed and the reply is incomplete',
      { complete: false, fault: fault('network'), calls: [call] },
      [answer(true, null)],
      failed('stream_interrupted', 'network_error'),
    ],
    ['a defect', { defect: 'oops', complete: false }, [], failed('internal_error')],
  ])('T-1 T-2 T-4: %s', (_what, over, answers, verdict) => {
    expect(judge(reading(over), answers)).toEqual(verdict);
  });
});

describe('slugs', () => {
  it('S-1: slugs are unique, each fault kind has its own, and no two notices share a sentence', () => {
    expect(new Set(slugs).size).toBe(slugs.length);
    expect(new Set(faultKinds.map(faultSlug)).size).toBe(faultKinds.length);
    const sentences = Object.values(slugTable).map((row) => row.happened);
    expect(new Set(sentences).size).toBe(sentences.length);
  });
});

describe('T-2: what is no mistake of the model, and what is', () => {
  const reply1 = reading({ calls: [call] });

  it.each<[Slug | null, boolean, Verdict['status']]>([
    ['tool_denied', false, 'progressed'],
    ['approval_timeout', false, 'progressed'],
    ['stopped', false, 'progressed'],
    ['budget_exhausted', false, 'progressed'],
    [null, true, 'progressed'],
    ['tool_exec_failed', true, 'progressed'],
    ['tool_not_permitted', true, 'failed'],
    ['policy_denied', false, 'failed'],
    ['unknown_tool', false, 'failed'],
  ])('an answer %s (executed: %s): %s', (slug, executed, status) => {
    expect(judge(reply1, [answer(executed, slug)]).status).toBe(status);
  });

  it('C-5: a stream that broke off after it began is one, unless its call is malformed', () => {
    const broken = (kind: Fault['kind'], began: boolean) => judge(reading({ fault: fault(kind), began }), []).slugs;
    expect(broken('network', true)).toEqual(['stream_interrupted', 'network_error']);
    expect(broken('network', false)).toEqual(['network_error']);
    expect(broken('malformed_call', true)).toEqual(['malformed_tool_call']);
  });

  it('T-4: an open reply is progress if it is complete, whatever its calls', () => {
    expect(judge(reading({ holds: 'open' }), []).status).toBe('progressed');
    expect(judge(reading({ holds: 'open', complete: false }), []).status).toBe('failed');
    expect(judge(reading({ holds: 'open', calls: [call] }), [answer(false, 'policy_denied')]).status).toBe(
      'progressed',
    );
  });

  it('T-6: the sizes of answers are those of the calls in the conversation: a batch’s holds those inside it', () => {
    const one = (callId: string, over: Partial<Reading['calls'][number]> = {}) => ({ ...call, callId, ...over });
    const calls = [
      one('web', { tool: 'provider' }),
      one('batch', { tool: 'batch' }),
      one('in 1', { within: 1 }),
      one('in 2', { within: 1 }),
      one('alone'),
    ];
    const answers = calls.map((_, index) => ({ ...answer(true, null), tokens: index * 100 }));
    const { results } = outputOf({ ...attemptInput, reading: reading({ calls }), answers });
    const sizes = new Map(results.map(({ callId, tokens }) => [callId, tokens]));
    expect([...sizes.keys()]).toEqual(['batch', 'alone']);
    expect(sizes.get('batch')).toBeGreaterThanOrEqual(100 + 200 + 300);
    expect(sizes.get('batch')).toBeLessThan(100 + 200 + 300 + 30);
    expect(sizes.get('alone')).toBeLessThan(400 + 10);
  });
});
