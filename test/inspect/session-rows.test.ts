import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import type { Row } from '../../src/inspect/recorded/row-list.ts';
import { Rows } from '../../src/inspect/recorded/rows.ts';
import type { Sighting } from '../../src/observe/events.ts';
import { linesOf, type Said } from '../support/row-tree.ts';

const fact = (one: Fact, scope = '') => ({ scope, fact: one });
const seen = (one: Sighting, scope = '') => ({ scope, sighting: one });
const begun = fact({ type: 'session.started', maxTurns: 4, maxRetries: 3, targets: ['a', 'b'] });
const turn = (number: number, isLastTurn = false) => fact({ type: 'turn.started', turn: number, isLastTurn });
const of = { turn: 1, attempt: 1, target: 'a' };
const attempt = (number = 1, notice: string | null = null) =>
  fact({ type: 'attempt.started', ...of, attempt: number, notice, offer: 'all' });
const call = { turn: 1, attempt: 1, index: 0, callId: 'c1', name: 'read' };
const requested = fact({ type: 'tool.requested', kind: 'real', ...call });
const answered = { executed: true, result: { success: true, value: 1, message: '' }, tokens: 1, kept: null } as const;
const answer = (slug: 'tool_exec_failed' | null, index = 0) =>
  fact({ type: 'tool.answered', ...call, ...answered, index, slug, output: { type: 'text', value: '' } });
const failure = { slugs: ['aborted' as const], retryAt: null, detail: 'by a person' };

/** The lines below the session's own. */
const below = (...told: Said[]) =>
  linesOf(new Rows(), [begun, ...told])
    .slice(1)
    .map((line) => line.trimStart());

describe('S-8: the list of what happened in a session', () => {
  it('turns hold attempts, attempts hold calls, and each ends with its fact', () => {
    const told = [
      begun,
      turn(1),
      attempt(1),
      fact({ type: 'attempt.failed', ...of, slugs: ['empty_response'], detail: null }),
      attempt(2, 'Say something.'),
      requested,
      fact({ type: 'tool.started', ...call }),
      answer(null),
      fact({ type: 'attempt.finished', ...of, attempt: 2 }),
      fact({ type: 'turn.finished', turn: 1, attempts: 2 }),
      turn(2, true),
      fact({ type: 'turn.progressed', turn: 2, attempts: 0 }),
      fact({ type: 'session.succeeded', turns: 2 }),
    ];
    const rows = new Rows();
    expect(linesOf(rows, told)).toEqual([
      'session session (at most 4 turns × 3 attempts, on a, b) 1-13 done',
      '  turn turn 1 2-10 done',
      '    attempt attempt 1 (a) !empty_response 3-4 failed',
      '    attempt attempt 2 (a) 5-9 done',
      '      call read 6-8 done',
      '  turn turn 2 (the last: only the report) 11-12 done',
      '  end succeeded 13-13 done',
    ]);
    expect(rows.byId.map(({ id, turn, attempt, callId, notice }) => [id, turn, attempt, callId, notice])).toEqual([
      [0, 0, 0, null, null],
      [1, 1, 0, null, null],
      [2, 1, 1, null, null],
      [3, 1, 2, null, 'Say something.'],
      [4, 1, 1, 'c1', null],
      [5, 2, 0, null, null],
      [6, 0, 0, null, null],
    ]);
  });

  it.each<[string, Fact[], string[]]>([
    [
      'a turn that is exhausted failed, with its slugs',
      [{ type: 'turn.exhausted', turn: 1, attempts: 3, slugs: ['text_only'] }],
      ['turn turn 1 !text_only 2-3 failed'],
    ],
    ['a turn that is aborted failed', [{ type: 'turn.aborted', turn: 1, attempts: 3 }], ['turn turn 1 2-3 failed']],
    ['a turn that succeeds is done', [{ type: 'turn.progressed', turn: 1, attempts: 1 }], ['turn turn 1 2-3 done']],
    [
      'a wait for a target ends when it is over',
      [
        { type: 'wait.started', turn: 1, attempt: 2, target: 'a', dueAt: 9_000 },
        { type: 'wait.ended', turn: 1, attempt: 2 },
      ],
      ['turn turn 1 2- running', 'wait waits for a 3-4 done'],
    ],
    [
      'results left out, in their turn',
      [{ type: 'results.omitted', turn: 1, attempt: 1, callIds: ['c1', 'c2'], textTokens: 0 }],
      ['turn turn 1 2- running', 'note results left out (c1, c2) 3-3 done'],
    ],
  ])('%s', (_, facts, lines) => {
    expect(below(turn(1), ...facts.map((one) => fact(one)))).toEqual(lines);
  });

  it.each<[string, Fact, string]>([
    ['an attempt that finishes is done', { type: 'attempt.finished', ...of }, 'attempt attempt 1 (a) 2-3 done'],
    ['an attempt that succeeds is done', { type: 'attempt.progressed', ...of }, 'attempt attempt 1 (a) 2-3 done'],
    ['an attempt that is aborted failed', { type: 'attempt.aborted', ...of }, 'attempt attempt 1 (a) 2-3 failed'],
    [
      'an attempt that fails has its slugs',
      { type: 'attempt.failed', ...of, slugs: ['text_only', 'empty_response'], detail: null },
      'attempt attempt 1 (a) !text_only !empty_response 2-3 failed',
    ],
  ])('%s, in the session if no turn began', (_, end, line) => {
    expect(below(attempt(), fact(end))).toEqual([line]);
  });

  it('the fault of a reply stands in place of its target, and a reply without one changes nothing', () => {
    const usage = { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 };
    const replied = { type: 'attempt.replied' as const, ...of, reply: null, calls: [], usage, costUsd: null };
    const fault = { kind: 'server', message: 'no luck', status: 503, retryAfterMs: null } as const;
    expect(below(attempt(), fact({ ...replied, fault }))).toEqual(['attempt attempt 1 (a: no luck) 2- running']);
    expect(below(attempt(), fact({ ...replied, fault: null }))).toEqual(['attempt attempt 1 (a) 2- running']);
  });

  it.each<[string, Said[], string]>([
    ['runs', [fact({ type: 'tool.started', ...call })], 'call read 3- running'],
    ['succeeds', [answer(null)], 'call read 3-4 done'],
    ['fails with a slug', [answer('tool_exec_failed')], 'call read !tool_exec_failed 3-4 failed'],
    [
      'waits for approval',
      [fact({ type: 'tool.approvalRequested', ...call })],
      'call read (waits for approval) 3- waiting',
    ],
    [
      'is approved',
      [fact({ type: 'tool.approvalRequested', ...call }), fact({ type: 'tool.approved', ...call, reason: null })],
      'call read (approved) 3- running',
    ],
    [
      'is denied',
      [fact({ type: 'tool.approvalRequested', ...call }), fact({ type: 'tool.denied', ...call, reason: null })],
      'call read (denied) 3- waiting',
    ],
    [
      'is denied with a reason',
      [fact({ type: 'tool.denied', ...call, reason: 'no' })],
      'call read (denied: no) 3- running',
    ],
    [
      'is handed out',
      [seen({ type: 'tool.handedOut', callId: 'c1', name: 'read', input: {} })],
      'call read (waits for an answer) 3- waiting',
    ],
    [
      'is answered while it waits',
      [seen({ type: 'tool.handedOut', callId: 'c1', name: 'read', input: {} }), answer(null)],
      'call read 3-5 done',
    ],
    [
      'keeps that it was approved',
      [fact({ type: 'tool.approved', ...call, reason: null }), answer(null)],
      'call read (approved) 3-5 done',
    ],
    ['is not that of another index', [answer(null, 1)], 'call read 3- running'],
  ])('a call %s', (_, told, line) => {
    expect(below(attempt(), requested, ...told)).toEqual(['attempt attempt 1 (a) 2- running', line]);
  });

  it('a call that was handed out is marked, and the call of the next attempt is another', () => {
    const rows = new Rows();
    const handedOut = seen({ type: 'tool.handedOut', callId: 'c1', name: 'read', input: {} });
    linesOf(rows, [begun, attempt(), requested, handedOut, attempt(2), requested]);
    const calls = rows.byId.filter(({ kind }) => kind === 'call');
    expect(calls.map(({ isHandedOut, state }) => [isHandedOut, state])).toEqual([
      [true, 'waiting'],
      [false, 'running'],
    ]);
  });

  it('calls that no attempt made stand in the session', () => {
    expect(below(requested, answer(null))).toEqual(['call read 2-3 done']);
  });

  it.each<[string, Fact, string]>([
    [
      'collapse',
      { type: 'session.collapsed', turn: 1, from: 4, to: 2, reason: 'final_report_rejected' },
      'note collapse (at most 2 turns instead of 4 (final_report_rejected) · B-4)',
    ],
    ['steering', { type: 'session.steered', text: 'Left.' }, 'note steered (Left.)'],
    ['stop', { type: 'session.stopping' }, 'note stop requested (the next turn is the last)'],
    ['abort', { type: 'session.aborting', reason: 'why' }, 'note abort requested (why)'],
  ])('stands in the session: %s', (_, one, line) => {
    expect(below(turn(1), attempt(), fact(one))).toEqual([
      'turn turn 1 2- running',
      'attempt attempt 1 (a) 3- running',
      `${line} 4-4 done`,
    ]);
  });

  it.each<[string, Fact, string]>([
    [
      'an excluded target, with its slug',
      { type: 'target.excluded', target: 'a', slug: 'provider_auth', detail: 'No such key.' },
      'note no more requests to a (No such key.) !provider_auth',
    ],
    [
      'progress',
      { type: 'progress.reported', turn: 1, attempt: 1, callId: 'c', message: 'half' },
      'note progress (half)',
    ],
    [
      'a rejected report, with its slug',
      {
        type: 'report.rejected',
        turn: 1,
        attempt: 1,
        callId: null,
        slug: 'final_report_schema_fail',
        reasons: 'No title.',
      },
      'note report rejected (No title.) !final_report_schema_fail',
    ],
    [
      'an accepted report',
      { type: 'report.accepted', turn: 1, attempt: 1, callId: null, source: 'tool_call', content: 'x' },
      'note report accepted (tool_call)',
    ],
  ])('stands in its attempt, or in the session without one: %s', (_, one, line) => {
    expect(below(attempt(), fact(one))).toEqual(['attempt attempt 1 (a) 2- running', `${line} 3-3 done`]);
    expect(linesOf(new Rows(), [begun, fact(one)])[1]).toBe(`  ${line} 2-2 done`);
  });

  it.each<[string, Fact, string]>([
    ['succeeded', { type: 'session.succeeded', turns: 1 }, 'end succeeded 3-3 done'],
    [
      'failed',
      { type: 'session.failed', turns: 1, failure: { ...failure, detail: null } },
      'end failed !aborted 3-3 failed',
    ],
    ['aborted', { type: 'session.aborted', turns: 1, failure }, 'end aborted (by a person) !aborted 3-3 failed'],
  ])('the end of a session: %s, and a wait ends with it', (_, end, line) => {
    const wait = fact({ type: 'wait.started', turn: 1, attempt: 1, target: 'a', dueAt: 9_000 });
    const rows = new Rows();
    const lines = linesOf(rows, [begun, wait, fact(end)]);
    expect(lines.slice(1)).toEqual(['  wait waits for a 2-3 done', `  ${line}`]);
    expect(rows.root).toMatchObject({
      ended: 3,
      state: line.split(' ').at(-1),
      slugs: 'failure' in end ? ['aborted'] : [],
    });
    expect(rows.byId.find(({ kind }) => kind === 'wait')?.dueAt).toBe(9_000);
  });

  it('a wait that ended is not ended again', () => {
    const wait = fact({ type: 'wait.started', turn: 1, attempt: 1, target: 'a', dueAt: 9_000 });
    const over = fact({ type: 'wait.ended', turn: 1, attempt: 1 });
    expect(below(wait, over, fact({ type: 'session.succeeded', turns: 1 }))[0]).toBe('wait waits for a 2-3 done');
  });

  it('a sub-agent stands below the latest call of its id, and has rows of its own', () => {
    const again = { ...call, index: 1, name: 'again' };
    const below1 = fact({ type: 'session.started', maxTurns: 1, maxRetries: 2, targets: ['s'] }, 'c1');
    const lines = linesOf(new Rows(), [
      begun,
      attempt(),
      requested,
      fact({ type: 'tool.requested', kind: 'real', ...again }),
      below1,
      fact({ type: 'turn.started', turn: 1, isLastTurn: true }, 'c1'),
      fact({ type: 'turn.started', turn: 7, isLastTurn: false }, 'unknown'),
      seen({ type: 'server.lost', server: 'm', message: 'gone' }, 'unknown'),
    ]);
    expect(lines.slice(2)).toEqual([
      '    call read 3- running',
      '    call again 4- running',
      '      session sub-agent c1 (at most 1 turns × 2 attempts, on s) 5- running',
      '        turn turn 1 (the last: only the report) 6- running',
    ]);
  });

  it('a sub-agent whose call is not known stands in the session, and one of a sub-agent below that', () => {
    const started = (scope: string) =>
      fact({ type: 'session.started', maxTurns: 1, maxRetries: 1, targets: ['s'] }, scope);
    const rows = new Rows();
    const lines = linesOf(rows, [begun, started('c1'), started('c1/c2')]);
    expect(lines.slice(1).map((line) => line.replace(/ \(.*/, ''))).toEqual([
      '  session sub-agent c1',
      '    session sub-agent c2',
    ]);
    expect(rows.byId.map(({ scope }: Row) => scope)).toEqual(['', 'c1', 'c1/c2']);
  });

  it('facts before the start of their session have no line', () => {
    expect(linesOf(new Rows(), [turn(1), seen({ type: 'effect.late', key: 'k' })])).toEqual([]);
  });
});
