import { describe, expect, it } from 'vitest';
import type { Row, RowSpan } from '../../src/inspect/recorded/row-list.ts';
import { ticks, timeAt, timeLine, timeSpent, zoomedTo } from '../../src/inspect/study/timeline.ts';

const row = (...spans: [RowSpan['kind'], number, number | null][]) =>
  ({ spans: spans.map(([kind, from, to]) => ({ kind, from, to })) }) as Row;

describe('S-8: the time of a session', () => {
  it('is divided among what was done, and all parts together are the wall clock', () => {
    const rows = [
      row(['model', 1_000, 1_400]),
      // A sub-agent's call is a tool around its own requests.
      row(['tool', 1_400, 3_000]),
      row(['model', 1_500, 2_000]),
      row(['person', 3_100, 4_000]),
      row(['pause', 4_000, 4_500]),
      row(['model', 4_600, null]),
    ];
    const spent = timeSpent(rows, 900, 5_000);
    expect(spent).toEqual({ model: 1_300, tool: 1_100, person: 900, pause: 500, idle: 300 });
    expect(Object.values(spent).reduce((sum, one) => sum + one, 0)).toBe(4_100);
  });

  it('of overlapping things counts each moment once', () => {
    const both = [row(['tool', 0, 100], ['tool', 100, 200]), row(['tool', 50, 300])];
    expect(timeSpent(both, 0, 300)).toEqual({ model: 0, tool: 300, person: 0, pause: 0, idle: 0 });
    expect(timeSpent([], 0, 10)).toMatchObject({ idle: 10 });
  });

  it('goes from 0 to 1 in order, and a long idle time is folded', () => {
    const hour = 3_600_000;
    const line = timeLine([row(['model', 0, 1_000]), row(['tool', hour, hour + 1_000])], 0, hour + 1_000);
    expect(line.folds).toEqual([{ from: 1_000, to: hour }]);
    const places = [0, 500, 1_000, hour / 2, hour, hour + 500, hour + 1_000].map((at) => line.place(at));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect([places[0], places.at(-1)]).toEqual([0, expect.closeTo(1, 9)]);
    // What was busy has nearly all of the line.
    expect((places[2] ?? 0) + 1 - (places[4] ?? 0)).toBeGreaterThan(0.95);
    expect(timeLine([row(['model', 0, 900])], 0, 1_000).folds).toEqual([]);
    expect(timeLine([], 5, 5).place(5)).toBe(0);
  });

  it.each([
    [100, [0, 20, 40, 60, 80, 100]],
    [940, [0, 200, 400, 600, 800]],
    [61_000, [0, 20_000, 40_000, 60_000]],
    [7_200_000, [0, 1_800_000, 3_600_000, 5_400_000, 7_200_000]],
  ])('an axis of %i ms has round times', (whole, expected) => {
    expect(ticks({ from: 7, to: 7 + whole }, 6)).toEqual(expected);
  });

  it('of which a part takes all of the space: its ends are the ends, and times go both ways', () => {
    const whole = timeLine([], 1_000, 11_000);
    const line = zoomedTo(whole, { from: 3_000, to: 5_000 });
    expect([3_000, 4_000, 5_000, 1_000, 7_000].map((at) => line.place(at))).toEqual([0, 0.5, 1, -1, 2]);
    for (const at of [3_000, 3_700, 5_000]) expect(timeAt(line, line.place(at))).toBe(at);
    expect(ticks(line, 6)).toEqual([2_000, 2_500, 3_000, 3_500, 4_000]);
    // A part within the part, and one that takes no time.
    expect(zoomedTo(line, { from: 3_500, to: 4_500 }).place(4_000)).toBeCloseTo(0.5, 9);
    expect(zoomedTo(whole, { from: 3_000, to: 3_000 })).toBe(whole);
  });
});
