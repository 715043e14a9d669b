import { describe, expect, it } from 'vitest';
import { numberAt, readWatch } from '../../src/inspect/study/watch.ts';
import { errorOf } from '../support/temporary.ts';

const values: Record<string, number> = { 'counters.requests': 6, 'counters.turns': 3, 'session.maxTurns': 8 };
const read = (path: string) => values[path] ?? null;

describe('S-8: a watch over the steps of a session', () => {
  it.each<[string, number | null]>([
    ['counters.requests', 6],
    ['counters.requests / counters.turns', 2],
    ['2 + 3 * 4', 14],
    ['(2 + 3) * 4 - 1.5', 18.5],
    ['10 - 4 - 3', 3],
    ['session.maxTurns - counters.turns', 5],
    ['turn.nothing + 1', null],
    ['1 + turn.nothing', null],
    ['1.25 + 1', 2.25],
    ['session.bound.maxTurns.deep', null],
    ['  counters.turns*2', 6],
    ['toolCall.a1', null],
    ['attempt.a / 2', null],
  ])('%s', (text, value) => {
    expect(readWatch(text).value(read)).toBe(value);
  });

  it.each([
    ['1 $ 2', '"$"'],
    ['', '""'],
    ['2 window.x', '"2 window.x"'],
    ['window.x', '"window.x"'],
    ['xcounters.y', '"xcounters.y"'],
    ['* 2', '"* 2"'],
    [')', '")"'],
    ['1 2', '"1 2"'],
  ])('the error for "%s" names what is odd', (text, odd) => {
    expect(errorOf(() => readWatch(text))).toMatchObject({
      code: 'invalid_options',
      message: `\`watch\` must be numbers, paths such as counters.notices or session.maxTurns, + - * / and ( ); got ${odd}.`,
    });
  });

  it('each path that is read is named once', () => {
    expect(readWatch('counters.a + counters.b * counters.a').paths).toEqual(['counters.a', 'counters.b']);
  });

  it.each(['', '1 +', '(1', '1)', 'alert(1)', 'constructor', 'window.x', 'counters', '1 2', 'counters.a; 1', '**'])(
    'what is no expression is refused: "%s"',
    (text) => {
      expect(() => readWatch(text)).toThrow('`watch` must be numbers, paths such as counters.notices');
    },
  );

  it('reads numbers, booleans and the lengths of lists, and nothing of a prototype', () => {
    const context = { bound: { maxTurns: 4 }, stopRequested: true, targets: ['a', 'b'], name: 'x' };
    expect(numberAt(context, ['bound', 'maxTurns'])).toBe(4);
    expect(numberAt(context, ['stopRequested'])).toBe(1);
    expect(numberAt(context, ['targets'])).toBe(2);
    expect(numberAt(context, ['name'])).toBeNull();
    expect(numberAt(context, ['constructor', 'length'])).toBeNull();
    expect(numberAt(context, ['name', 'length'])).toBeNull();
    expect(numberAt({ failure: null }, ['failure', 'slugs'])).toBeNull();
    expect(numberAt(null, ['failure'])).toBeNull();
  });
});
