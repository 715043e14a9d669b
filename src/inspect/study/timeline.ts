import type { Row, RowSpan } from '../recorded/row-list.ts';

/** Where times stand on a line from 0 to 1: what is idle for long is folded to a narrow part. */
export type TimeLine = {
  /** Epoch ms. */
  from: number;
  to: number;
  place(at: number): number;
  /** The idle times that are folded, in order. */
  folds: { from: number; to: number }[];
  /** The part that is shown as the whole line, whose rest is before 0 and after 1; left out for all of it. */
  shown?: TimePart;
};

/** From and to when, in epoch ms. */
export type TimePart = { from: number; to: number };

/** The share of the line that a folded time takes. */
const foldShare = 0.02;
/** An idle time is folded above this share of the whole, if it is at least so long, in ms. */
const [idleShare, idleMs] = [0.25, 5_000];

/** Returns the line of a session that began at `from` and ended, or is followed, until `to`. */
export function timeLine(rows: readonly Row[], from: number, to: number): TimeLine {
  const end = Math.max(to, from + 1);
  const busy = rows
    .flatMap(({ spans }) => spans)
    .map((span) => ({ from: span.from, to: span.to ?? end }))
    .sort((one, other) => one.from - other.from);
  const folds: TimeLine['folds'] = [];
  let last = from;
  for (const span of [...busy, { from: end, to: end }]) {
    const idle = span.from - last;
    if (idle >= idleMs && idle > idleShare * (end - from)) folds.push({ from: last, to: span.from });
    last = Math.max(last, span.to);
  }
  const folded = folds.reduce((sum, fold) => sum + fold.to - fold.from, 0);
  const perMs = (1 - foldShare * folds.length) / Math.max(1, end - from - folded);
  const place = (at: number) => {
    let x = 0;
    let begin = from;
    for (const fold of folds) {
      if (at <= fold.from) break;
      x += (fold.from - begin) * perMs;
      x += foldShare * Math.min(1, (at - fold.from) / (fold.to - fold.from));
      begin = Math.min(at, fold.to);
    }
    return Math.min(1, Math.max(0, x + (Math.min(Math.max(at, from), end) - begin) * perMs));
  };
  return { from, to: end, place, folds };
}

/** Returns a line of which a part takes all of the space. */
export function zoomedTo(line: TimeLine, { from, to }: TimePart): TimeLine {
  const [begin, end] = [line.place(from), line.place(to)];
  if (end - begin < 1e-6) return line;
  return { ...line, place: (at) => (line.place(at) - begin) / (end - begin), shown: { from, to } };
}

/** Returns when a place of the line is (epoch ms). */
export function timeAt({ from, to, place }: TimeLine, x: number): number {
  let [low, high] = [from, to];
  while (high - low > 0.5) {
    const middle = (low + high) / 2;
    if (place(middle) < x) low = middle;
    else high = middle;
  }
  return Math.round(high);
}

/** The times that an axis names, in ms since the beginning: round ones, about `most` at most. */
export function ticks(line: Pick<TimeLine, 'from' | 'to' | 'shown'>, most: number): number[] {
  const { from, to } = line.shown ?? line;
  const whole = to - from;
  const sizes = [1, 2, 5].flatMap((one) => [1, 10, 100, 1_000, 10_000].map((power) => one * power));
  const more = [1, 2, 5, 10, 30].flatMap((one) => [one * 60_000, one * 3_600_000, one * 86_400_000]);
  const size = [...sizes, ...more].sort((one, other) => one - other).find((one) => whole / one <= most) ?? whole;
  const first = Math.ceil((from - line.from) / size);
  const count = Math.floor((to - line.from) / size) - first + 1;
  return Array.from({ length: Math.max(0, count) }, (_, index) => (first + index) * size);
}

export type TimeKind = RowSpan['kind'] | 'idle';

/**
 * Returns how long a session and its sub-agents were at each kind of thing, in ms. What happens at once is counted once, for
 * the first of: a person, a model, a pause, a tool, since a sub-agent's call is a tool around all of it; so all kinds together
 * are the wall clock.
 */
export function timeSpent(rows: readonly Row[], from: number, to: number): Record<TimeKind, number> {
  const order = ['person', 'model', 'pause', 'tool'] as const;
  const spans = rows.flatMap((row) => row.spans).map((span) => ({ ...span, to: Math.min(span.to ?? to, to) }));
  const edges = [...new Set([from, to, ...spans.flatMap((span) => [span.from, span.to])])]
    .filter((at) => at >= from && at <= to)
    .sort((one, other) => one - other);
  const spent: Record<TimeKind, number> = { model: 0, tool: 0, person: 0, pause: 0, idle: 0 };
  const changes = new Map<number, [RowSpan['kind'], number][]>();
  for (const span of spans) {
    changes.set(span.from, [...(changes.get(span.from) ?? []), [span.kind, 1]]);
    changes.set(span.to, [...(changes.get(span.to) ?? []), [span.kind, -1]]);
  }
  const open = { model: 0, tool: 0, person: 0, pause: 0 };
  for (const [index, at] of edges.entries()) {
    for (const [kind, change] of changes.get(at) ?? []) open[kind] += change;
    const next = edges[index + 1];
    if (next !== undefined) spent[order.find((kind) => open[kind] > 0) ?? 'idle'] += next - at;
  }
  return spent;
}
