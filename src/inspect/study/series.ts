import type { Series } from '../recorded/recording-data.ts';
import type { ShownRecording } from '../recorded/shown-recording.ts';
import type { Watch } from './watch.ts';

/** Returns the value of a watch over all steps. `contexts` holds the numbers that it reads from the machines' contexts. */
export function seriesOf(recorded: ShownRecording, watch: Watch, contexts: Record<string, Series>): Series {
  const inputs = new Map(watch.paths.map((path) => [path, contexts[path] ?? counterSeries(recorded, path)]));
  const frames = [...new Set([...inputs.values()].flatMap((series) => series.map(([frame]) => frame)))];
  const cursors = new Map<string, number>();
  const series: Series = [];
  for (const frame of [0, ...frames].sort((one, other) => one - other)) {
    const value = watch.value((path) => {
      const input = inputs.get(path) ?? [];
      let at = cursors.get(path) ?? -1;
      while ((input[at + 1]?.[0] ?? Number.POSITIVE_INFINITY) <= frame) at += 1;
      cursors.set(path, at);
      return input[at]?.[1] ?? null;
    });
    const last = series.at(-1);
    if (last === undefined || last[1] !== value) series.push([frame, value]);
  }
  return series;
}

/** The value of a series at a step. */
export function seriesValue(series: Series, frame: number): number | null {
  return series.findLast(([from]) => from <= frame)?.[1] ?? null;
}

function counterSeries(recorded: ShownRecording, path: string): Series {
  const changes = recorded.countsOf('').of(path.replace(/^counters\./, ''));
  return changes.map(({ told, value }) => [recorded.frameOf(told), value]);
}
