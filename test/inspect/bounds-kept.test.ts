import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { firstBreak } from '../../src/inspect/study/first-break.ts';
import { gaugeAt } from '../../src/inspect/study/gauge.ts';
import { presetsFor } from '../../src/inspect/study/presets.ts';
import { framesOf } from '../../src/inspect/study/rules.ts';
import { seriesOf } from '../../src/inspect/study/series.ts';
import { readWatch } from '../../src/inspect/study/watch.ts';
import { changed, handMade, headOf } from '../support/hand-made.ts';

const of = { turn: 1, attempt: 1, target: 'a' };
const begun: Fact = { type: 'session.started', maxTurns: 2, maxRetries: 2, targets: ['a'] };
const started: Fact = { type: 'attempt.started', ...of, notice: null, offer: 'all' };
const collapsed: Fact = { type: 'session.collapsed', turn: 1, from: 2, to: 1, reason: 'stop_requested' };
const steps = (count: number) => Array.from({ length: count }, (_, index) => ({ facts: index + 1 }));

describe('B-2: the gauge of a session', () => {
  const heads = [
    { scope: '', head: headOf(2, 2) },
    { scope: 'c1', head: headOf(1, 3) },
  ];
  const gauge = (facts: Fact[], told = facts.length) => {
    const { requests, bound, boxes } = gaugeAt(handMade(steps(facts.length), facts, { heads }), told);
    return [requests, bound, boxes.join(' ')];
  };

  it.each<[Fact[], number, string]>([
    [[begun], 0, 'free free free free'],
    [[begun, started], 1, 'running free free free'],
    [[started, { type: 'attempt.progressed', ...of }], 1, 'succeeded free free free'],
    [[started, { type: 'attempt.finished', ...of }], 1, 'succeeded free free free'],
    [[started, { type: 'attempt.failed', ...of, slugs: [], detail: null }], 1, 'failed free free free'],
    [[started, { type: 'attempt.aborted', ...of }], 1, 'failed free free free'],
    [[started, { type: 'attempt.aborted', ...of }, started], 2, 'failed running free free'],
    [[started, collapsed], 1, 'running free taken taken'],
    [[started, started, started, collapsed], 3, 'running running running taken'],
  ])('after %j', (facts, requests, boxes) => {
    expect(gauge(facts)).toEqual([requests, 4, boxes]);
  });

  it('of a moment knows nothing of what came later', () => {
    expect(gauge([begun, started, started], 2)).toEqual([1, 4, 'running free free free']);
  });

  it('of a sub-agent counts its own requests against its own bound', () => {
    const recorded = handMade([], [started, { scope: 'c1', fact: started }, { scope: 'c1', fact: started }], { heads });
    expect(gaugeAt(recorded, 3, 'c1')).toEqual({ requests: 2, bound: 3, boxes: ['running', 'running', 'free'] });
    expect(gaugeAt(recorded, 3).requests).toBe(1);
  });

  it('of a session that did not start has no boxes', () => {
    expect(gaugeAt(handMade([], []), 1)).toEqual({ requests: 0, bound: 0, boxes: [] });
  });
});

describe('the first step after which a promise is broken', () => {
  const kept = { requests: 4, attempts: 4, turns: 2, 'toolCalls.requested': 3, 'toolCalls.answered': 3 };
  const whole = { ...kept, 'toolCalls.succeeded': 2, 'toolCalls.failed': 1, 'toolCalls.executed': 3 };
  const breakOf = (values: Record<string, number>, limits?: { maxTurns: number; maxRetries: number }) =>
    firstBreak(
      handMade(steps(3), [begun, started, started], {
        heads: [{ scope: '', head: headOf(2, 2) }],
        changes: [...changed(1, whole), ...changed(2, values)],
      }),
      limits,
    );

  it('none, at the bound', () => {
    expect(breakOf({})).toBeNull();
    expect(firstBreak(handMade(steps(1), [begun]))).toBeNull();
  });

  it.each<[Record<string, number>, string]>([
    [{ attempts: 3 }, 'requests (4) = attempts (3) + summaries (0)'],
    [{ summaries: 1 }, 'requests (4) = attempts (4) + summaries (1)'],
    [{ requests: 5, attempts: 5 }, 'requests (5) <= maxTurns x maxRetries (4)'],
    [{ turns: 3 }, 'turns (3) <= maxTurns (2)'],
    [{ 'toolCalls.answered': 4 }, 'calls answered (4) <= calls requested (3)'],
    [{ 'toolCalls.succeeded': 3 }, 'calls succeeded + calls failed <= calls executed'],
  ])('with %j', (values, promise) => {
    expect(breakOf(values)).toEqual({ step: 1, promise });
  });

  it('against limits that were given instead of its own', () => {
    expect(breakOf({}, { maxTurns: 1, maxRetries: 4 })).toEqual({ step: 0, promise: 'turns (2) <= maxTurns (1)' });
    expect(breakOf({}, { maxTurns: 2, maxRetries: 1 })).toEqual({
      step: 0,
      promise: 'requests (4) <= maxTurns x maxRetries (2)',
    });
  });

  it('a session without a head has no bound, and its other promises hold', () => {
    const recorded = handMade(steps(1), [begun], { changes: changed(1, { requests: 99, attempts: 99, turns: 99 }) });
    expect(firstBreak(recorded)).toBeNull();
  });
});

describe('S-8: a number over the steps', () => {
  const changes = [
    ...changed(1, { requests: 1, turns: 1 }),
    ...changed(2, { requests: 2 }),
    ...changed(3, { requests: 3, turns: 2 }),
    ...changed(3, { requests: 99 }, 'c1'),
  ];
  const recorded = handMade(steps(4), [begun, started, started, started], { changes });

  it.each<[string, [number, number | null][]]>([
    [
      'counters.requests',
      [
        [0, 1],
        [1, 2],
        [2, 3],
      ],
    ],
    [
      'counters.turns',
      [
        [0, 1],
        [2, 2],
      ],
    ],
    [
      'counters.requests - counters.turns',
      [
        [0, 0],
        [1, 1],
      ],
    ],
    ['counters.nothing', [[0, null]]],
    ['7', [[0, 7]]],
  ])('the values of %s', (text, series) => {
    expect(seriesOf(recorded, readWatch(text), {})).toEqual(series);
  });

  it('of a context begins where its machine does, and is joined with those of the account', () => {
    const contexts = {
      'turn.attempt': [
        [2, 5],
        [3, 6],
      ] as [number, number][],
    };
    expect(seriesOf(recorded, readWatch('turn.attempt * counters.turns'), contexts)).toEqual([
      [0, null],
      [2, 10],
      [3, 12],
    ]);
    const both = {
      'turn.attempt': [
        [0, 0],
        [3, 5],
      ] as [number, number][],
      'session.a': [
        [0, 0],
        [1, 1],
        [2, 7],
      ] as [number, number][],
    };
    expect(seriesOf(recorded, readWatch('turn.attempt + session.a'), both)).toEqual([
      [0, 0],
      [1, 1],
      [2, 7],
      [3, 12],
    ]);
    const later = {
      'turn.attempt': [[3, 5]] as [number, number][],
      'session.a': [
        [1, 1],
        [2, 7],
      ] as [number, number][],
    };
    expect(seriesOf(recorded, readWatch('session.a + 0 * turn.attempt'), later)).toEqual([
      [0, null],
      [3, 7],
    ]);
    expect(seriesOf(recorded, readWatch('session.a - session.a / session.a'), later)).toEqual([
      [0, null],
      [1, 0],
      [2, 6],
    ]);
  });
});

describe('S-8: the steps in which a rule decided', () => {
  const pictures = { arrows: { one: { rules: ['C-1'] }, other: { rules: ['B-5'] } } } as never;

  it('by the facts that show it, each step once', () => {
    const recorded = handMade(
      [{ facts: 1 }, { facts: 3 }, { facts: 4 }],
      [begun, collapsed, collapsed, { type: 'report.accepted', ...of, callId: null, source: 'tool_call', content: '' }],
    );
    expect([framesOf(recorded, pictures, 'B-4'), framesOf(recorded, pictures, 'F-1')]).toEqual([[1], [2]]);
    expect(framesOf(recorded, pictures, 'B-3')).toEqual([]);
  });

  it('by the arrows that cite it, where no fact shows it', () => {
    const arrows = [['other'], ['one', 'other'], [], ['unknown', 'one']];
    const recorded = handMade(
      arrows.map((names) => ({ facts: 0, arrows: names })),
      [],
    );
    expect([framesOf(recorded, pictures, 'C-1'), framesOf(recorded, pictures, 'B-5')]).toEqual([
      [1, 3],
      [0, 1],
    ]);
  });
});

describe('S-8: what might have been delivered instead', () => {
  const presets = (key: string) => presetsFor({ key, at: 7, chance: 0.1, outcome: {} });
  const commands = [
    { name: 'abort here', delivery: { at: 7, event: { type: 'session.abort', reason: 'what if' } } },
    { name: 'stop here', delivery: { at: 7, event: { type: 'session.stop' } } },
  ];

  it.each([
    [
      'turn-1/attempt-2/model',
      [
        ...['auth', 'rate_limited', 'server', 'network', 'timeout', 'content_filter', 'malformed_call'].map(
          (kind) => `a fault: ${kind}`,
        ),
        'an empty reply',
      ],
    ],
    ['turn-1/attempt-2/tool-0', ['the tool fails', 'the tool times out']],
    ['turn-1/attempt-2/approval-12', ['approved', 'denied', 'no decision before the timeout']],
    ['turn-1/attempt-2/wait', []],
    ['prepare', []],
  ])('of %s', (key, names) => {
    const found = presets(key);
    expect(found.map(({ name }) => name)).toEqual([...names, 'abort here', 'stop here']);
    expect(found.slice(-2)).toEqual(commands);
    for (const { delivery } of found.slice(0, -2)) expect(delivery).toMatchObject({ key, at: 7, chance: 0.5 });
  });

  it('before a command, only commands', () => {
    expect(presetsFor({ at: 7, event: { type: 'session.stop' } })).toEqual(commands);
  });

  it('each is what the machines could have been given', () => {
    const outcome = (key: string, at: number) =>
      presets(key).map(({ delivery }) => ('outcome' in delivery ? delivery.outcome : null))[at];
    expect(outcome('m/model', 0)).toMatchObject({ reply: null, fault: { kind: 'auth', status: null }, calls: [] });
    expect(outcome('m/model', 7)).toMatchObject({
      fault: null,
      reply: { content: [], finishReason: { unified: 'stop', raw: 'stop' }, errors: [], warnings: [], openInputs: [] },
      usage: { input: 0, output: 0, reasoning: 0, cacheRead: 0, cacheWrite: 0 },
    });
    expect(outcome('m/tool-1', 0)).toMatchObject({ slug: 'tool_exec_failed', result: { success: false } });
    expect(outcome('m/tool-1', 1)).toMatchObject({ slug: 'tool_timeout', output: { type: 'error-text' } });
    expect([0, 1, 2].map((at) => outcome('m/approval-0', at))).toEqual([
      { decision: 'approved', reason: null },
      { decision: 'denied', reason: 'what if' },
      { decision: 'timeout', reason: null },
    ]);
  });
});
