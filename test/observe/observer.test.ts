import { describe, expect, it } from 'vitest';
import type { Slug } from '../../machines/index.ts';
import { slice } from '../../src/index.ts';
import type { SessionEvent, Sighting } from '../../src/observe/events.ts';
import { delta, envelope, failed, late, lost, started, warned, watched } from '../support/observer.ts';
import { replySaying, usage } from '../support/replies.ts';

describe('S-6: the events of a session', () => {
  it('a fact has the time of its delivery, a sighting the time when it was seen', () => {
    const { observer, heard, recorded } = watched();
    observer.takeFact(started());
    observer.sight(late);
    expect(heard).toEqual([
      { ...started(), ...envelope, at: 1_000, seq: 1 },
      { ...late, ...envelope, at: 2_000, seq: 2 },
    ]);
    expect(observer.folds.stream.all()).toEqual(heard);
    expect(recorded).toEqual(['attempt.started', [late, 2_000]]);
    expect(observer.counters.lateResults).toBe(1);
  });

  it('a position grows by the length of a delta, which telemetry gets too', () => {
    const { observer, heard, spanned, recorded } = watched();
    observer.sight(delta('abc'));
    observer.sight(delta(''));
    observer.sight(late);
    expect(heard.map(({ type, seq }) => [type, seq])).toEqual([
      ['model.delta', 3],
      ['effect.late', 4],
    ]);
    expect(heard[0]).toEqual({ ...delta('abc'), ...envelope, at: 2_000, seq: 3 });
    expect(spanned).toEqual(heard);
    expect(recorded[0]).toEqual([delta('abc'), 2_000]);
    expect(observer.position).toBe(4);
    observer.moveTo(9);
    observer.moveTo(5);
    expect(observer.position).toBe(9);
  });

  it('each reader takes a copy of its own: what one changes, no other sees', () => {
    const names: (string | undefined)[] = [];
    const changed = (_: unknown, event: SessionEvent) => {
      names.push(event.type === 'model.delta' ? event.delta : event.type);
      return Object.assign(event, { type: 'changed', delta: '***' });
    };
    const onEvent = (event: SessionEvent) => changed(null, event);
    const { observer, spanned } = watched({
      onEvent,
      slices: { first: slice({}, changed), second: slice({}, changed) },
    });
    observer.takeFact(started());
    observer.sight(delta('abc'));
    expect(names).toEqual(['attempt.started', 'attempt.started', 'attempt.started', 'abc']);
    const types = ['attempt.started', 'model.delta'];
    expect([spanned, observer.folds.stream.all()].map((events) => events.map(({ type }) => type))).toEqual([
      types,
      types,
    ]);
  });

  it('what a listener causes comes after its cause, for the other listeners too', () => {
    const seen: string[] = [];
    const { observer } = watched({
      onEvent: ({ type }) => {
        seen.push(type);
        if (type === 'attempt.started') observer.sight(delta('x'));
        if (type === 'attempt.started') observer.sight(late);
      },
    });
    observer.takeFact(started());
    expect(seen).toEqual(['attempt.started', 'model.delta', 'effect.late']);
    expect(observer.folds.stream.all().map(({ type, seq }) => [type, seq])).toEqual([
      ['attempt.started', 1],
      ['model.delta', 2],
      ['effect.late', 3],
    ]);
  });

  it("events of sub-agents have their name in the path and a position in the parent's stream", () => {
    const { observer, heard } = watched();
    const event = (sighting: Sighting, path: string[]) =>
      ({ ...sighting, ...envelope, sessionId: 'c', at: 5, path, seq: 77 }) as SessionEvent;
    observer.forward(event(delta('abcd'), []), 'reader');
    observer.forward(event(late, ['deeper']), 'reader');
    expect(heard).toEqual([
      { ...delta('abcd'), ...envelope, sessionId: 'c', at: 5, path: ['reader'], seq: 4 },
      { ...late, ...envelope, sessionId: 'c', at: 5, path: ['reader', 'deeper'], seq: 5 },
    ]);
    expect(observer.counters.lateResults).toBe(0);
  });

  it('a sub-agent counts positions in the stream of its parent', () => {
    const moved: number[] = [];
    const forwarded: string[] = [];
    const parent = {
      forward: (event: SessionEvent) => void forwarded.push(event.type),
      position: () => 40,
      moveTo: (position: number) => void moved.push(position),
    };
    const { observer } = watched({ parent });
    expect(observer.position).toBe(40);
    observer.moveTo(50);
    expect([moved, observer.position]).toEqual([[50], 40]);
    observer.sight(delta('x'));
    observer.takeFact(started());
    expect(forwarded).toEqual(['model.delta', 'attempt.started']);
  });

  it.each<[string, Sighting[], Slug, number]>([
    ['none, as none had begun', [], 'empty_response', 0],
    ['those that had begun', [delta('x', 0), delta('y', 2), delta('z', 1)], 'empty_response', 3],
    ['none for a part without text', [delta('', 4)], 'empty_response', 0],
    ['all that there can be after a crash', [delta('x')], 'interrupted', Number.MAX_SAFE_INTEGER],
  ])('parts that a failed attempt takes back: %s', (_, deltas, slug, partsTakenBack) => {
    const { observer, heard } = watched();
    observer.takeFact(started());
    for (const one of deltas) observer.sight(one);
    observer.takeFact(failed(slug));
    observer.takeFact(started(2));
    observer.takeFact(failed('empty_response'));
    expect(heard.filter(({ type }) => type === 'attempt.failed')).toMatchObject([
      { partsTakenBack },
      { partsTakenBack: 0 },
    ]);
  });

  it('calls that ask or wait for approval show their input', () => {
    const { observer, heard } = watched();
    const call = { turn: 1, attempt: 1, index: 0, callId: 'c0', name: 'look' };
    const part = { type: 'tool-call' as const, toolCallId: 'c0', toolName: 'look', input: '{"path":"a"}' };
    const reply = { ...replySaying('So.'), content: [part] } as never;
    const facts = { tool: 'real', within: null } as never;
    observer.takeFact(started());
    observer.takeFact({
      ...{ type: 'attempt.replied', turn: 1, attempt: 1, target: 'one' },
      ...{ reply, fault: null, calls: [facts], usage, costUsd: null },
    });
    observer.takeFact({ type: 'tool.requested', kind: 'real', ...call });
    observer.takeFact({ type: 'tool.approvalRequested', ...call });
    observer.takeFact({ type: 'tool.started', ...call });
    expect(heard.slice(2).map((event) => [event.type, 'input' in event ? event.input : null])).toEqual([
      ['tool.requested', { path: 'a' }],
      ['tool.approvalRequested', { path: 'a' }],
      ['tool.started', null],
    ]);
  });

  it('each warning of a provider is reported once', () => {
    const { observer, heard, recorded } = watched();
    const given = [warned('seed'), warned('seed'), warned('top'), warned('seed', 'two')];
    for (const one of given) observer.sight(one);
    expect(heard).toMatchObject([warned('seed'), warned('top'), warned('seed', 'two')]);
    expect(recorded).toHaveLength(3);
  });
});

describe('S-5: secrets in events', () => {
  it('a message of a failure has no secrets and no credentials, in the journal either', () => {
    const { observer, heard, recorded } = watched({ secrets: ['hunter2'] });
    observer.sight(lost('hunter2 and Bearer abcdefghijklmnop1'));
    expect(heard).toMatchObject([lost('[redacted] and Bearer [redacted]')]);
    expect(recorded).toEqual([[lost('[redacted] and Bearer [redacted]'), 2_000]]);
  });

  it('a secret split across deltas is never shown, and the text held back is sent before its part ends', () => {
    const { observer, heard, recorded } = watched({ secrets: ['hunter2'] });
    observer.takeFact(started());
    for (const one of [delta('a hun'), delta('ter2 hu'), delta('')]) observer.sight(one);
    observer.sight(delta('hunt', 1));
    observer.takeFact(failed('empty_response'));
    const texts = (events: readonly unknown[]) =>
      events.flatMap((event) => ((event as { delta?: string }).delta === undefined ? [] : [event as object]));
    expect(heard.map((event) => ('delta' in event ? event.delta : event.type))).toEqual([
      'attempt.started',
      'a ',
      '[redacted] ',
      'hu',
      'hunt',
      'attempt.failed',
    ]);
    expect(heard.at(-1)).toMatchObject({ partsTakenBack: 2 });
    const written = recorded.flatMap((entry) => (Array.isArray(entry) ? [entry[0]] : []));
    expect(texts(written)).toHaveLength(4);
    expect(JSON.stringify([heard, recorded])).not.toContain('hunter2');
  });

  it('what is held back outlives facts that do not end the reply', () => {
    const { observer, heard } = watched({ secrets: ['hunter2'] });
    observer.sight(delta('hun'));
    observer.takeFact({ type: 'turn.started', turn: 1, isLastTurn: false });
    observer.takeFact(started());
    observer.sight(delta('ger'));
    expect(heard.map((event) => ('delta' in event ? event.delta : event.type))).toEqual([
      'turn.started',
      'attempt.started',
      'hunger',
    ]);
  });
});
