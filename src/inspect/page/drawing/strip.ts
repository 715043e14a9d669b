import type { Series } from '../../recorded/recording-data.ts';
import type { ShownRecording } from '../../recorded/shown-recording.ts';

/** Draws a session or a run as a strip: attempts or items, and waits, by their steps; marks at some of them, and numbers as lines. */
export function drawStrip(
  element: HTMLCanvasElement,
  recorded: ShownRecording,
  marks: readonly number[],
  lines: readonly Series[],
): void {
  const context = element.getContext('2d');
  if (context === null) return;
  const color = colorsOf(element);
  element.width = element.clientWidth * devicePixelRatio;
  element.height = element.clientHeight * devicePixelRatio;
  const { width, height } = element;
  const { length } = recorded.microsteps;
  const place = (frame: number) => (frame / length) * width;
  context.clearRect(0, 0, width, height);
  const hatch = hatched(context, color('--wait'));
  for (const row of recorded.rows.byId) {
    if (row.kind !== 'attempt' && row.kind !== 'item' && row.kind !== 'wait') continue;
    const from = place(recorded.frameOf(row.told));
    const to = row.ended === null ? width : Math.max(from + 1, place(recorded.frameOf(row.ended)));
    const isFailed = row.kind !== 'wait' && row.state === 'failed';
    const name = isFailed ? '--failed' : row.state === 'done' ? '--done' : '--running';
    context.fillStyle = row.kind === 'wait' ? hatch : color(name);
    const wide = Math.max(devicePixelRatio, to - from - devicePixelRatio);
    const isTall = isFailed || row.kind === 'wait';
    context.fillRect(from, isTall ? 0 : height / 3, wide, isTall ? height : height / 3);
  }
  context.fillStyle = color('--accent');
  for (const frame of marks) context.fillRect(place(frame), 0, 2 * devicePixelRatio, height);
  for (const [index, series] of lines.entries()) {
    context.strokeStyle = color(`--line-${index % 3}`);
    context.lineWidth = 1.5 * devicePixelRatio;
    drawLine(context, series, place, { width, height });
  }
}

/** Returns the colours of the theme. Each is computed only once, because the browser restyles the element for it. */
function colorsOf(element: HTMLElement): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const color = known.get(name);
    if (color !== undefined) return color;
    element.style.color = `var(${name})`;
    const computed = getComputedStyle(element).color;
    known.set(name, computed);
    return computed;
  };
}

/** Waits are hatched: nothing happens in them, however long they are. */
function hatched(context: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  const tile = new OffscreenCanvas(6, 6);
  const pen = tile.getContext('2d');
  if (pen === null) return color;
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.moveTo(0, 6);
  pen.lineTo(6, 0);
  pen.stroke();
  return context.createPattern(tile, 'repeat') ?? color;
}

type Place = (frame: number) => number;

function drawLine(
  context: CanvasRenderingContext2D,
  series: Series,
  place: Place,
  { width, height }: { width: number; height: number },
): void {
  const values = series.flatMap(([, value]) => value ?? []);
  const [least, most] = values.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  );
  const level = (value: number) =>
    most === least ? height / 2 : height - 2 - ((value - least) / (most - least)) * (height - 4);
  context.beginPath();
  for (const [index, [frame, value]] of series.entries()) {
    if (value === null) continue;
    const until = series[index + 1]?.[0];
    context.lineTo(place(frame), level(value));
    context.lineTo(until === undefined ? width : place(until), level(value));
  }
  context.stroke();
}
