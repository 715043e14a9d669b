import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { emptyRecordingPart, type ShownRequest } from '../../src/inspect/recorded/recording-data.ts';
import { failureFrom, stepFrom, type Unit } from '../../src/inspect/study/steps.ts';
import { changed, handMade, headOf } from '../support/hand-made.ts';

const begun: Fact = { type: 'session.started', maxTurns: 4, maxRetries: 3, targets: ['a'] };
const turn = (number: number): Fact => ({ type: 'turn.started', turn: number, isLastTurn: false });
const attempt = (number: number): Fact => ({
  type: 'attempt.started',
  turn: 1,
  attempt: number,
  target: 'a',
  notice: null,
  offer: 'all',
});
const failed: Fact = {
  type: 'attempt.failed',
  turn: 1,
  attempt: 1,
  target: 'a',
  slugs: ['empty_response'],
  detail: null,
};

describe('S-8: a moment of a recorded session', () => {
  const actors = [
    { facts: 1, states: ['session.running'], isStart: true },
    { facts: 1, machine: 'turn' as const, actor: 'turn', states: ['turn.a'], isStart: true },
    { facts: 2, machine: 'attempt' as const, actor: 'turn/attempt', states: ['attempt.a'], isStart: true },
    { facts: 3, machine: 'attempt' as const, actor: 'turn/attempt', states: ['attempt.end'], isActive: false },
    { facts: 3, machine: 'turn' as const, actor: 'turn', states: ['turn.b'], isStart: true },
    { facts: 4, scope: 'c1', states: ['session.sub'], isStart: true },
    { facts: 4, scope: 'c1', machine: 'turn' as const, actor: 'turn', states: ['turn.sub'], isStart: true },
    { facts: 4, states: ['session.again'], isStart: true },
  ];
  const recorded = handMade(actors, [begun, turn(1), attempt(1), failed], {
    heads: [{ scope: '', head: headOf(4, 3) }],
  });
  const at = (frame: number) =>
    recorded.at(frame).actors.map(({ scope, actor, states, isActive, frame: since }) => {
      return [`${scope}:${actor}`, states[0], isActive, since];
    });

  it('has each machine in the state of its last step, and which step that was', () => {
    expect(at(3)).toEqual([
      [':', 'session.running', true, 0],
      [':turn', 'turn.a', true, 1],
      [':turn/attempt', 'attempt.end', false, 3],
    ]);
  });

  it('a machine that starts ends those below its forerunner, in its own session alone', () => {
    expect(at(4)).toEqual([
      [':', 'session.running', true, 0],
      [':turn', 'turn.b', true, 4],
    ]);
    expect(at(7)).toEqual([
      [':', 'session.again', true, 7],
      ['c1:', 'session.sub', true, 5],
      ['c1:turn', 'turn.sub', true, 6],
    ]);
  });

  it('has the time and the session of its step; before the first one, those of the start', () => {
    expect(recorded.at(2)).toMatchObject({ frame: 2, told: 2, at: 2_000, scope: '' });
    expect(recorded.at(5)).toMatchObject({ told: 4, at: 4_000, scope: 'c1' });
    expect(recorded.at(-1)).toEqual({ frame: -1, told: 0, at: 500, scope: '', actors: [] });
    expect(handMade([], []).at(-1)).toMatchObject({ at: 0 });
  });

  it('began when its head says, or the head of its run', () => {
    expect([recorded.begunAt, handMade([], []).begunAt]).toEqual([500, null]);
    expect(handMade([], [], { run: { at: 700 } as never }).begunAt).toBe(700);
  });

  it.each([510, 511, 512, 513, 1_023, 1_024, 1_100])('is the same however far it is: step %i', (frame) => {
    const steps = Array.from({ length: 1_200 }, (_, index) => ({
      facts: 0,
      actor: `tool.${index % 7}`,
      states: [`s${index}`],
    }));
    const { actors } = handMade(steps, []).at(frame);
    expect(actors.map(({ frame: since }) => since).sort((one, other) => one - other)).toEqual(
      Array.from({ length: 7 }, (_, index) => frame - 6 + index),
    );
    expect(actors.every(({ states, frame: since }) => states[0] === `s${since}`)).toBe(true);
  });

  it('a fact belongs to the first step after which it had been told', () => {
    expect([0, 1, 2, 3, 4, 5].map((told) => recorded.frameOf(told))).toEqual([0, 0, 2, 3, 5, 7]);
    expect(handMade([], []).frameOf(1)).toBe(-1);
  });

  it('facts after the last step belong to it, in whatever part they come', () => {
    const grown = handMade([{ facts: 1 }], [begun, turn(1)]);
    expect(grown.microsteps[0]?.facts).toBe(2);
  });

  it('the facts before it, the latest first, of one session', () => {
    const mixed = handMade([], [begun, { scope: 'c1', fact: turn(9) }, turn(1), attempt(1)]);
    expect([...mixed.factsBefore(3, '')]).toEqual([
      { fact: turn(1), told: 3 },
      { fact: begun, told: 1 },
    ]);
    expect([...mixed.factsBefore(4, 'c1')]).toEqual([{ fact: turn(9), told: 2 }]);
    expect([...mixed.factsBefore(0, '')]).toEqual([]);
  });

  it('its numbers are those of its session alone', () => {
    const counted = handMade([], [begun, turn(1)], {
      changes: [...changed(1, { turns: 1 }), ...changed(2, { turns: 5 }, 'c1')],
    });
    expect([counted.countersAt(2).get('turns'), counted.countersAt(2, 'c1').get('turns')]).toEqual([1, 5]);
    expect(counted.countersAt(1, 'c1').get('turns')).toBeUndefined();
  });

  it('messages from a position on replace those that were known', () => {
    const said = (text: string) => ({ role: 'user' as const, content: [{ type: 'text' as const, text }] });
    const recordedTwice = handMade([], [], {
      messages: [{ scope: '', version: 0, from: 0, messages: [said('a'), said('b')] }],
    });
    const part = { messages: [{ scope: '', version: 0, from: 1, messages: [said('c'), said('d')] }] };
    recordedTwice.takePart({ ...emptyRecordingPart(), ...part });
    const of = (messages: number, scope = '') =>
      recordedTwice.messagesOf({ scope, version: 0, messages } as ShownRequest);
    expect(of(3)).toEqual([said('a'), said('c'), said('d')]);
    expect(of(2)).toEqual([said('a'), said('c')]);
    expect(of(2, 'c1')).toEqual([]);
  });
});

describe('S-8: a step of the page', () => {
  const facts: Fact[] = [begun, turn(1), attempt(1), failed, attempt(2), turn(2)];
  const frames = [1, 1, 2, 3, 3, 4, 5, 6].map((told, index) => ({ facts: told, entry: Math.floor(index / 2) + 1 }));
  const recorded = handMade(frames, facts);

  it.each<[Unit, 1 | -1, number[]]>([
    ['step', 1, [1, 2, 3, 4, 5, 6, 7, 7]],
    ['step', -1, [0, 0, 1, 2, 3, 4, 5, 6]],
    ['delivery', 1, [2, 2, 4, 4, 6, 6, 7, 7]],
    ['delivery', -1, [0, 0, 1, 1, 3, 3, 5, 5]],
    ['turn', 1, [2, 2, 7, 7, 7, 7, 7, 7]],
    ['turn', -1, [0, 0, 0, 2, 2, 2, 2, 2]],
    ['attempt', 1, [3, 3, 3, 6, 6, 6, 7, 7]],
    ['attempt', -1, [0, 0, 0, 0, 3, 3, 3, 6]],
    ['item', 1, [7, 7, 7, 7, 7, 7, 7, 7]],
    ['item', -1, [0, 0, 0, 0, 0, 0, 0, 0]],
  ])('a %s in the direction %i', (unit, direction, expected) => {
    expect(frames.map((_, frame) => stepFrom(recorded, frame, unit, direction))).toEqual(expected);
  });

  it('to the next failure, and the one before', () => {
    expect(frames.map((_, frame) => failureFrom(recorded, frame, 1))).toEqual([5, 5, 5, 5, 5, null, null, null]);
    expect(frames.map((_, frame) => failureFrom(recorded, frame, -1))).toEqual([
      null,
      null,
      null,
      null,
      null,
      null,
      5,
      5,
    ]);
  });

  it('a failure is that of a call or an attempt, with a slug; an aborted attempt has none', () => {
    const call = { turn: 1, attempt: 1, index: 0, callId: 'c1', name: 'read' };
    const result = { success: false as const, value: null, message: 'no' };
    const answer = { executed: true, result, output: { type: 'text' as const, value: '' }, tokens: 1, kept: null };
    const told: Fact[] = [
      begun,
      attempt(1),
      { type: 'tool.requested', kind: 'real', ...call },
      { type: 'tool.answered', ...call, ...answer, slug: 'tool_exec_failed' },
      { type: 'attempt.aborted', turn: 1, attempt: 1, target: 'a' },
      { type: 'session.failed', turns: 1, failure: { slugs: ['text_only'], retryAt: null, detail: null } },
    ];
    const one = handMade(
      told.map((_, index) => ({ facts: index + 1 })),
      told,
    );
    expect([failureFrom(one, 0, 1), failureFrom(one, 3, 1)]).toEqual([3, null]);
  });

  it('a failure of a run is that of an item, where it failed', () => {
    const item = { id: 'BUG-001', kind: 'bug', title: 'x', priority: 'P1', component: null, createdAt: null } as const;
    const failure = {
      id: item.id,
      folder: 'f',
      component: null,
      phase: 'testing',
      slugs: [],
      message: '',
      requests: 1,
    };
    const run = (at: number) => ({
      runFact: { type: 'item.started', item: { ...item, blocked: false, folder: 'f' }, iteration: at } as const,
    });
    const facts = [
      { runFact: { type: 'workflow.started', run: 'r' } as const },
      run(1),
      {
        runFact: { type: 'item.failed', failure: { ...failure, phase: 'testing' as const }, failureCount: 1 } as const,
      },
      run(2),
      { runFact: { type: 'item.setAside', id: item.id, needs: '' } as const },
    ];
    const steps = facts.map((_, index) => ({ facts: index + 1 }));
    const recorded = handMade(steps, facts, { run: {} as never });
    expect([failureFrom(recorded, 0, 1), failureFrom(recorded, 2, 1)]).toEqual([2, null]);
    expect([
      stepFrom(recorded, 0, 'item', 1),
      stepFrom(recorded, 1, 'item', 1),
      stepFrom(recorded, 4, 'item', -1),
    ]).toEqual([1, 3, 3]);
  });
});
