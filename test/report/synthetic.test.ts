import { expect, it } from 'vitest';
import { type Failure, type Reply, type Slug, slugTable } from '../../machines/index.ts';
import type { AttemptRecord, TurnRecord } from '../../src/observe/records.ts';
import { syntheticReport } from '../../src/report/synthetic.ts';
import { replySaying } from '../support/replies.ts';
import { counters } from '../support/session.ts';

const attempt = (slugs: Slug[], reply: Reply | null = null): AttemptRecord => ({
  attempt: 1,
  target: 'one:two',
  status: 'failed',
  slugs,
  notice: null,
  reply,
  fault: null,
  usage: null,
  costUsd: null,
  calls: [],
  startedAt: 0,
  endedAt: 1,
});
const turn = (...attempts: AttemptRecord[]): TurnRecord => ({
  turn: 1,
  isLastTurn: false,
  status: 'exhausted',
  attempts,
});
const why = (...slugs: Slug[]): Failure => ({ slugs, retryAt: null, detail: null });
const clean = (text: string) => text.replaceAll('planted', '[redacted]');

it('F-5: says what was tried, why it failed and how often, what to do, and what the model said last', () => {
  const text = syntheticReport(
    'failed',
    `Find planted ${'a'.repeat(600)}`,
    { slugs: ['no_targets', 'rate_limited'], retryAt: Date.UTC(2026, 0, 1), detail: 'busy, planted' },
    counters({ turns: 2, requests: 3, failedAttempts: 1, toolCalls: { executed: 1 } }),
    [
      turn(attempt(['empty_response'], replySaying('first')), attempt(['rate_limited', 'empty_response'])),
      turn(attempt(['rate_limited'], replySaying('The planted word.')), attempt([], replySaying(' \n'))),
      turn(attempt(['rate_limited'])),
    ],
    clean,
  );
  const advice = (['no_targets', 'rate_limited'] as const).flatMap((slug) => slugTable[slug].advice ?? []);
  expect(text.split('\n\n')).toEqual([
    'The session failed: no report was accepted.',
    `Prompt: Find [redacted] ${'a'.repeat(500 - 'Find [redacted] '.length)}`,
    `Reasons: no_targets (${slugTable.no_targets.person}); rate_limited (${slugTable.rate_limited.person}).`,
    'Last fault: busy, [redacted]',
    'Attempted: 2 turns, 3 requests, 1 failed attempt, 1 executed tool call.',
    'Failed attempts by reason: empty_response x 2, rate_limited x 3.',
    'The provider accepts requests again at 2026-01-01T00:00:00.000Z.',
    ...advice,
    'Last text from the model:\nThe [redacted] word.',
  ]);
  expect(advice.length).toBeGreaterThan(0);
});

it.each([
  ['aborted', 'The session was aborted before a report was accepted.'],
  ['suspended', 'The session was suspended before a report was accepted.'],
] as const)('F-5: says no more than there is, of a session that was %s', (status, opening) => {
  const text = syntheticReport(
    status,
    null,
    why(status),
    counters({ turns: 1, requests: 0 }),
    [turn(attempt([]))],
    clean,
  );
  expect(text.split('\n\n').slice(0, 3)).toEqual([
    opening,
    `Reasons: ${status} (${slugTable[status].person}).`,
    'Attempted: 1 turn, 0 requests, 0 failed attempts, 0 executed tool calls.',
  ]);
  expect(text.split('\n\n').slice(3)).toEqual([slugTable[status].advice ?? []].flat());
});

it('F-5: the last text is cut at 4,000 bytes, after its secrets are removed', () => {
  const said = `${'b'.repeat(3_995)}planted${'c'.repeat(100)}`;
  const text = syntheticReport(
    'failed',
    null,
    why('retries_exhausted'),
    counters({}),
    [turn(attempt([], replySaying(said)))],
    clean,
  );
  expect(text.split('\n').at(-1)).toBe(`${'b'.repeat(3_995)}[reda`);
});
