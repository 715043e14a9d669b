import { describe, expect, it } from 'vitest';
import { slice } from '../../src/index.ts';
import type { SessionEvent } from '../../src/observe/events.ts';
import type { StatedSource } from '../../src/observe/observer.ts';
import { aborted, delta, envelope, failed, late, lost, started, warned, watched } from '../support/observer.ts';

describe('S-6: the end of the events', () => {
  it('after its end, a session reports only what fails in observers', () => {
    const { observer, heard } = watched();
    observer.takeFact(aborted);
    for (const one of [late, delta('x'), lost('gone')]) observer.sight(one);
    observer.userCodeFailed('onEvent', new Error('Broken.'));
    expect(heard.map(({ type }) => type)).toEqual(['session.aborted', 'observer.failed']);
    expect(heard[1]).toMatchObject({ observer: 'onEvent', message: 'Broken.' });
    expect(observer.counters.lateResults).toBe(0);
  });

  it('the stream ends when it is closed, and nothing comes after it', async () => {
    const { observer, heard } = watched();
    observer.sight(late);
    await observer.close();
    observer.sight(lost('gone'));
    observer.userCodeFailed('onEvent', new Error('Broken.'));
    const read: string[] = [];
    for await (const { type } of observer.folds.stream.from(1)) read.push(type);
    expect([read, heard.map(({ type }) => type)]).toEqual([['effect.late'], ['effect.late']]);
    expect(observer.isSilent).toBe(true);
  });

  it('releasing a session ends its spans and notifies no other listener', () => {
    const failure = { slugs: ['suspended' as const], retryAt: null, detail: null };
    const { observer, heard, spanned } = watched();
    observer.sight(late);
    observer.letGo(failure);
    expect(spanned.slice(1)).toEqual([{ type: 'session.suspended', failure, ...envelope, at: 2_000, seq: 1 }]);
    expect(heard).toHaveLength(1);
    observer.takeFact(aborted);
    observer.letGo(failure);
    expect(spanned.map(({ type }) => type)).toEqual(['effect.late', 'session.suspended', 'session.aborted']);
    const replaying = watched({ replay: again() });
    replaying.observer.letGo(failure);
    expect(replaying.spanned).toEqual([]);
  });
});

/** A replay whose machines state what was recorded. */
const again = (beforeFact = () => {}): StatedSource => ({ take: (fact) => fact, beforeFact });

describe('D-3: a replay', () => {
  it('tells the state and the stream, not the listener, the log or telemetry, until it goes live', () => {
    const before: number[] = [];
    const seen: number[] = [];
    const count = slice(0, (sum: number) => sum + 1);
    const { observer, heard, spanned } = watched({ replay: again(() => void before.push(1)), slices: { count } });
    const types = () => observer.folds.stream.all().map(({ type, seq }) => [type, seq]);
    expect(observer.isSilent).toBe(true);
    observer.takeFact(started());
    observer.sight(late);
    observer.resight(delta('abc'), 7);
    seen.push(before.length);
    expect([seen, types()]).toEqual([
      [1],
      [
        ['attempt.started', 1],
        ['model.delta', 4],
      ],
    ]);
    observer.endReplay();
    expect(observer.isSilent).toBe(false);
    observer.sight(late);
    observer.sight(delta('d'));
    observer.takeFact(failed('empty_response'));
    expect(before).toHaveLength(1);
    expect([heard, spanned]).toEqual([[], []]);
    observer.goLive();
    observer.takeFact(started(2));
    observer.sight(delta('e'));
    expect(heard.map(({ type }) => type)).toEqual(['attempt.started', 'model.delta']);
    expect(spanned).toEqual(heard);
    expect(observer.folds.slices.states).toEqual({ count: 4 });
  });

  it('what was sighted keeps its time, and its positions although more secrets are removed', () => {
    const { observer } = watched({ replay: again(), secrets: ['hunter2'] });
    observer.resight(delta('a hunter2', 2), 7);
    observer.resight(late, 8);
    expect(observer.folds.stream.all()).toEqual([
      { ...delta('a [redacted]', 2), ...envelope, at: 7, seq: 9 },
      { ...late, ...envelope, at: 8, seq: 10 },
    ]);
    expect(observer.counters.lateResults).toBe(1);
    observer.takeFact(failed('empty_response'));
    expect(observer.folds.stream.all().at(-1)).toMatchObject({ partsTakenBack: 3 });
  });

  it('a warning of the replay is not reported again', () => {
    const { observer, heard } = watched({ replay: again() });
    observer.resight(warned('seed'), 7);
    observer.resight(lost('two seed'), 7);
    observer.endReplay();
    observer.goLive();
    for (const one of [warned('seed'), warned('top')]) observer.sight(one);
    expect(heard).toMatchObject([warned('top')]);
  });
});

describe('S-6: failures of folds and listeners', () => {
  const broken = () => {
    throw new Error('Broken.');
  };

  it('a listener that throws is reported once, and still gets all events', () => {
    const seen: string[] = [];
    const { observer } = watched({
      onEvent: ({ type }) => {
        seen.push(type);
        return broken();
      },
    });
    observer.takeFact(started());
    observer.takeFact(failed('empty_response'));
    expect(seen).toEqual(['attempt.started', 'observer.failed', 'attempt.failed']);
  });

  it('a part of the session that throws stops no other, and its failure is reported', () => {
    const { observer, heard } = watched();
    observer.folds.approvals.fact = broken;
    observer.takeFact(started());
    expect(heard).toMatchObject([
      { type: 'observer.failed', observer: 'session', message: 'Broken.', seq: 1 },
      { type: 'attempt.started', seq: 2 },
    ]);
  });

  it('a failure of what reads the reports is not reported, but one of a sub-agent is', () => {
    const { observer, heard } = watched({ slices: { count: slice(0, (sum: number) => sum + 1) } });
    const ownFailures = () => heard.filter(({ type, path }) => type === 'observer.failed' && path.length === 0);
    observer.folds.slices.event = ({ type }) => (type === 'observer.failed' ? broken() : undefined);
    observer.userCodeFailed('onEvent', 'x');
    expect(ownFailures()).toHaveLength(1);
    const event: SessionEvent = { type: 'observer.failed', observer: 'y', message: 'z', ...envelope, at: 1, seq: 1 };
    observer.forward(event, 'reader');
    expect(ownFailures()).toHaveLength(2);
    const sighted: string[] = [];
    observer.folds.records.sighting = ({ type }) => {
      sighted.push(type);
      broken();
    };
    observer.userCodeFailed('onEvent', 'x');
    expect(sighted).toEqual(['observer.failed']);
    expect(ownFailures()).toHaveLength(3);
    observer.sight(late);
    expect(sighted).toEqual(['observer.failed', 'effect.late', 'observer.failed']);
    expect(ownFailures()).toHaveLength(4);
  });

  it('in a replay, failures are not reported', () => {
    const { observer } = watched({ replay: again() });
    observer.folds.records.sighting = broken;
    observer.resight(late, 7);
    expect(observer.folds.stream.all().map(({ type }) => type)).toEqual(['effect.late']);
  });
});
