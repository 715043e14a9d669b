import { describe, expect, it } from 'vitest';
import {
  afterAnswers,
  initialSize,
  learntWindow,
  mostTokens,
  type RequestSize,
  roomOf,
  steered,
} from '../../../machines/contract/context.ts';
import { emptySize, guardContext, sent, stubTokens } from '../../../machines/index.ts';

const of = (...tokens: number[]) => tokens.map((size, at) => ({ callId: `c${at}`, tokens: size }));
const window = (windowTokens: number, reserveTokens = 0) => ({ windowTokens, reserveTokens });
const size = (more: Partial<RequestSize> = {}): RequestSize => ({ ...emptySize, ...more });

describe('T-6: how large the next request is', () => {
  it('all that was only estimated may be a quarter larger', () => {
    expect(mostTokens(size({ counted: 100, estimated: 40, steering: 8 }))).toBe(100 + 60);
    expect(mostTokens(size({ counted: 1, estimated: 1, steering: 0 }))).toBe(3);
  });

  it.each<[number | null, number, number]>([
    [null, 5, Number.POSITIVE_INFINITY],
    [1_000, 100, 900],
    [1_000, 250, 750],
    [1_000, 900, 750],
    [1_001, 900, 751],
    [1, 5, 1],
    [4, 9, 3],
  ])('a window of %s tokens with %i for the reply has room for %s', (windowTokens, reserveTokens, room) => {
    expect(roomOf({ windowTokens, reserveTokens })).toBe(room);
  });

  it('steering adds what it is estimated at', () => {
    const before = size({ estimated: 7, steering: 2 });
    expect(steered({ size: before }, { text: 'x'.repeat(9) })).toEqual({ size: { ...before, steering: 5 } });
  });

  it('the first request has no fresh result', () => {
    expect(initialSize(50, of(20), 9)).toEqual(
      size({ estimated: 50, results: of(20), text: { tokens: 9, counted: false } }),
    );
    expect(initialSize(50, []).text).toEqual({ tokens: 0, counted: false });
  });

  it('a reply whose tokens were counted replaces what was estimated; answers are fresh, and what was is read', () => {
    const before = size({ counted: 3, estimated: 5, results: of(1), fresh: { results: of(2), counted: false } });
    const answers = [
      { callId: 'new', tokens: 30 },
      { callId: 'newer', tokens: 12 },
    ];
    const text = { tokens: 6, counted: true };
    expect(afterAnswers(before, { tokens: 100, counted: true, oldText: 6 }, answers)).toEqual({
      ...before,
      ...{ counted: 100, estimated: 42, text },
      results: [...of(1), ...of(2)],
      fresh: { results: answers, counted: false },
    });
    expect(afterAnswers(before, { tokens: 100, counted: false, oldText: 6 }, answers)).toMatchObject({
      ...{ counted: 0, estimated: 142, text: { tokens: 6, counted: false } },
    });
  });

  it('a reply without answers leaves fresh what was', () => {
    const before = size({ results: of(1), fresh: { results: of(2), counted: false } });
    expect(afterAnswers(before, { tokens: 100, counted: true, oldText: 0 }, [])).toEqual({
      ...before,
      ...{ counted: 100, estimated: 0, text: { tokens: 0, counted: true } },
      fresh: { results: of(2), counted: true },
    });
    expect(afterAnswers(before, { tokens: 100, counted: false, oldText: 0 }, [])).toMatchObject({
      ...{ counted: 0, estimated: 100, fresh: { results: of(2), counted: false } },
    });
  });
});

describe('T-6: what is left of a request that is sent', () => {
  const nothing = { omit: [], omitText: 0 };

  it('all of it, with the steering, if nothing is left out', () => {
    const before = size({ counted: 9, estimated: 5, steering: 4, results: of(3), text: { tokens: 2, counted: true } });
    expect(sent(before, nothing)).toEqual({ ...before, estimated: 9, steering: 0 });
  });

  it('results that were only estimated have a stub instead; those that a provider counted free three quarters', () => {
    const [read, fresh] = [of(400, 100), [{ callId: 'f', tokens: 300 }]];
    const before = size({
      ...{ counted: 1_000, estimated: 900, steering: 10, results: read, omitted: ['x'] },
      fresh: { results: fresh, counted: false },
      text: { tokens: 0, counted: true },
    });
    expect(sent(before, { omit: ['c0', 'f'], omitText: 0 })).toEqual({
      ...before,
      counted: 1_000 - 300,
      estimated: 900 + 10 - 300 + 2 * stubTokens,
      steering: 0,
      results: of(400, 100).slice(1),
      fresh: { results: [], counted: false },
      omitted: ['x', 'c0', 'f'],
    });
  });

  it('old text is gone, without a stub', () => {
    const before = size({ counted: 1_000, estimated: 500, omittedText: 7, text: { tokens: 200, counted: true } });
    expect(sent(before, { omit: [], omitText: 101 })).toEqual({
      ...before,
      counted: 1_000 - 75,
      text: { tokens: 99, counted: true },
      omittedText: 108,
    });
    const estimated = size({ counted: 1_000, estimated: 500, text: { tokens: 200, counted: false } });
    expect(sent(estimated, { omit: [], omitText: 101 })).toMatchObject({
      ...{ counted: 1_000, estimated: 399, omittedText: 101, text: { tokens: 99, counted: false } },
    });
  });

  it('never less than nothing', () => {
    const before = size({ counted: 10, results: of(400), text: { tokens: 0, counted: true } });
    expect(sent(before, { omit: ['c0'], omitText: 0 })).toMatchObject({ counted: 0, estimated: stubTokens });
    const estimated = size({ estimated: 10, text: { tokens: 400, counted: false } });
    expect(sent(estimated, { omit: [], omitText: 400 })).toMatchObject({ counted: 0, estimated: 0 });
  });
});

describe('T-6: what the guard leaves out', () => {
  it('nothing if the window is unknown, or nine tenths of the room are enough', () => {
    const fits = { kind: 'fits', omit: [], omitText: 0 };
    const large = size({ counted: 9_000, results: of(9_000), text: { tokens: 0, counted: true } });
    expect(guardContext({ windowTokens: null, reserveTokens: 9 }, large)).toEqual(fits);
    expect(guardContext(window(10_000), large)).toEqual(fits);
  });

  it('nothing from nine tenths to all of it; the turn is the last only if leaving out would not help', () => {
    const [helped, helpless] = [of(4_000), of(100)];
    const text = { tokens: 0, counted: true };
    const more = { counted: 9_001, text };
    expect(guardContext(window(10_000), size({ ...more, results: helped }))).toEqual({
      ...{ kind: 'fits', omit: [], omitText: 0 },
    });
    expect(guardContext(window(10_000), size({ ...more, results: helpless }))).toEqual({
      ...{ kind: 'final_turn_now', omit: [], omitText: 0 },
    });
  });

  it('old results from the oldest, until three quarters of the room are enough', () => {
    const text = { tokens: 0, counted: true };
    const results = of(2_000, 2_000, 2_000, 2_000);
    // Each frees 1,500 without 100 for its stub.
    expect(guardContext(window(10_000), size({ counted: 10_001, results, text }))).toEqual({
      ...{ kind: 'fits', omit: ['c0', 'c1'], omitText: 0 },
    });
    expect(guardContext(window(10_000), size({ counted: 10_301, results, text })).omit).toEqual(['c0', 'c1', 'c2']);
    expect(guardContext(window(10_000), size({ counted: 10_300, results, text })).omit).toEqual(['c0', 'c1']);
  });

  it('no result that is not larger than its stub', () => {
    const text = { tokens: 0, counted: false };
    // A stub is 80, and may be a quarter larger; an estimate may be a quarter larger, too.
    const verdict = (tokens: number) => guardContext(window(100), size({ counted: 101, results: of(tokens), text }));
    expect(verdict(80)).toEqual({ kind: 'full', omit: [], omitText: 0 });
    expect(verdict(81).omit).toEqual(['c0']);
  });

  it('then old text, then fresh results from the largest, as few as are needed', () => {
    const fresh = { results: of(1_000, 3_000), counted: false };
    const text = { tokens: 1_000, counted: false };
    const whole = size({ counted: 11_000, estimated: 0, fresh, text });
    expect(guardContext(window(10_000), whole)).toEqual({ kind: 'fits', omit: [], omitText: 1_000 });
    expect(guardContext(window(9_000), whole)).toEqual({ kind: 'fits', omit: ['c1'], omitText: 1_000 });
    // Without all that may go, 4,950 are left.
    expect(guardContext(window(6_000), whole)).toMatchObject({ kind: 'fits', omit: ['c1', 'c0'] });
    expect(guardContext(window(5_400), whole)).toEqual({ kind: 'final_turn_now', omit: ['c1', 'c0'], omitText: 1_000 });
    expect(guardContext(window(4_000), whole)).toEqual({ kind: 'full', omit: ['c1', 'c0'], omitText: 1_000 });
    const some = { tokens: 10_000, counted: true };
    // Down to three quarters of the room, of which a counted text frees three quarters.
    expect(guardContext(window(10_000), size({ counted: 10_500, text: some }))).toEqual({
      ...{ kind: 'fits', omit: [], omitText: 4_000 },
    });
  });

  it('a notice takes its room, and a quarter more', () => {
    const text = { tokens: 0, counted: true };
    const at = (counted: number) => guardContext(window(10_000), size({ counted, results: of(8_000), text }), 800).omit;
    expect([at(9_000), at(9_001)]).toEqual([[], ['c0']]);
  });
});

describe('T-6d: the window that a refused request tells', () => {
  it.each<[string, number | null, number, { limit: number | null; asked: number | null }, number]>([
    ['by how much it was too long', null, 1_000, { limit: 800, asked: 1_600 }, 500],
    ['the limit itself', null, 1_000, { limit: 800, asked: null }, 800],
    ['a quarter less, if the limit says nothing', null, 1_001, { limit: 1_001, asked: null }, 750],
    ['a quarter less, if the limit is larger', null, 1_000, { limit: 2_000, asked: null }, 750],
    ['a quarter less, if nothing is said', null, 1_000, { limit: null, asked: null }, 750],
    ['a quarter less, if only what was asked is said', null, 1_000, { limit: null, asked: 1_600 }, 750],
    ['the limit, if no more was asked', null, 1_000, { limit: 800, asked: 800 }, 800],
    ['no more than is known', 400, 1_000, { limit: 800, asked: 1_600 }, 400],
    ['what is less than is known', 600, 1_000, { limit: 800, asked: 1_600 }, 500],
    ['at least one', null, 1, { limit: 0, asked: null }, 1],
  ])('%s', (_, known, tokens, told, learnt) => {
    expect(learntWindow(known, tokens, told)).toBe(learnt);
  });
});
