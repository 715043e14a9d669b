import { useEffect, useRef, useState } from 'preact/hooks';
import { span } from '../../../platform/text.ts';
import type { Row, RowSpan } from '../../recorded/row-list.ts';
import type { Moment } from '../../recorded/shown-recording.ts';
import { type TimeLine, type TimePart, ticks, timeAt, timeLine, zoomedTo } from '../../study/timeline.ts';
import type { Store } from '../store.ts';
import { dollars, short } from '../text.ts';
import { timeNames, timesOf } from './details/overview.tsx';
import { rowPx, shownLines } from './list.tsx';

/** When everything happened: one bar for each line of the list, on one axis. Idle times are folded. */
export function Waterfall({ store, moment }: { store: Store; moment: Moment }) {
  const { recorded } = store;
  const pane = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const lines = shownLines(store);
  const { from, to } = timesOf(recorded);
  const whole = timeLine(recorded.rows.byId, from, to);
  const [part, setPart] = useState<TimePart | null>(null);
  const line = part === null ? whole : zoomedTo(whole, part);
  useEffect(() => {
    const zoom = (event: KeyboardEvent) => {
      const isElsewhere = event.target instanceof Element && event.target.matches('input, select, textarea');
      if (event.key !== 'z' || event.ctrlKey || event.metaKey || isElsewhere) return;
      setPart((part) => (part === null ? partOf(store) : null));
    };
    addEventListener('keydown', zoom);
    return () => removeEventListener('keydown', zoom);
  }, [store]);
  useEffect(() => {
    const element = pane.current;
    const list = document.querySelector<HTMLElement>('.list');
    if (element === null || list === null) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const follow = (leader: HTMLElement, other: HTMLElement) => () => {
      if (Math.abs(other.scrollTop - leader.scrollTop) > 1) other.scrollTop = leader.scrollTop;
      measure();
    };
    const [own, others] = [follow(element, list), follow(list, element)];
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener('scroll', own, { passive: true });
    list.addEventListener('scroll', others, { passive: true });
    others();
    return () => {
      sizes.disconnect();
      element.removeEventListener('scroll', own);
      list.removeEventListener('scroll', others);
    };
  }, [lines.length]);
  const first = Math.max(0, Math.floor(view.top / rowPx) - 5);
  const shown = lines.slice(first, first + Math.ceil(view.height / rowPx) + 10);
  const now = line.place(moment.at);
  return (
    <section class="waterfall" aria-label="Time">
      <Axis line={line} zoom={setPart} />
      <div class="bars" ref={pane}>
        <div style={{ height: `${lines.length * rowPx}px` }}>
          <div class="lane">
            <i class="now" style={{ left: `${100 * now}%` }} />
          </div>
          {shown.map(({ row, number }) => (
            <div
              key={row.id}
              aria-hidden="true"
              class={`barrow${row.id === store.chosen ? ' current' : ''}`}
              style={{ top: `${number * rowPx}px` }}
              title={`${row.title}: ${numbersOf(row, to)}, from ${span(row.at - from)} on`}
              onClick={() => store.choose(row)}
            >
              <div class="lane">
                <Bars row={row} line={line} />
              </div>
            </div>
          ))}
        </div>
      </div>
    </section>
  );
}

/** The time of the chosen line; null if there is none, or it took none. */
function partOf({ chosenRow, recorded }: Store): TimePart | null {
  if (chosenRow === null) return null;
  const part = { from: chosenRow.at, to: chosenRow.endedAt ?? timesOf(recorded).to };
  return part.from < part.to ? part : null;
}

/** The times; dragging over a part of them shows that part. */
function Axis({ line, zoom }: { line: TimeLine; zoom: (part: TimePart | null) => void }) {
  const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
  const placeOf = ({ clientX, currentTarget }: PointerEvent & { currentTarget: Element }) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return Math.min(1, Math.max(0, (clientX - left) / width));
  };
  const end = () => {
    if (brush === null) return;
    const [from, to] = [Math.min(brush.from, brush.to), Math.max(brush.from, brush.to)];
    if (to - from > 0.01) zoom({ from: timeAt(line, from), to: timeAt(line, to) });
    setBrush(null);
  };
  return (
    <div
      class="axis"
      title="Drag over a part to see it alone; z: the chosen line, or all again"
      onPointerDown={(event) => {
        if (event.target instanceof HTMLButtonElement) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setBrush({ from: placeOf(event), to: placeOf(event) });
      }}
      onPointerMove={(event) => {
        if (brush !== null) setBrush({ ...brush, to: placeOf(event) });
      }}
      onPointerUp={end}
      onPointerCancel={() => setBrush(null)}
    >
      {ticks(line, 6).map((ms) => (
        <span key={ms} style={{ left: `${100 * line.place(line.from + ms)}%` }}>
          {span(ms)}
        </span>
      ))}
      {line.folds.map((fold) => (
        <b key={fold.from} title="Nothing happened" style={{ left: `${100 * line.place(fold.from)}%` }}>
          ‖ {span(fold.to - fold.from)}
        </b>
      ))}
      {brush === null ? null : (
        <i
          style={{
            left: `${100 * Math.min(brush.from, brush.to)}%`,
            width: `${100 * Math.abs(brush.to - brush.from)}%`,
          }}
        />
      )}
      {line.shown === undefined ? null : (
        <button type="button" onClick={() => zoom(null)}>
          all
        </button>
      )}
    </div>
  );
}

function Bars({ row, line }: { row: Row; line: TimeLine }) {
  const end = row.endedAt ?? line.to;
  if (line.place(end) < 0 || line.place(row.at) > 1) return null;
  const box = (from: number, to: number) => {
    const left = line.place(from);
    return { left: `${100 * left}%`, width: `max(2px, ${100 * (line.place(to) - left)}%)` };
  };
  if (row.kind === 'note' || row.kind === 'end')
    return <i class="tick" style={{ left: `${100 * line.place(row.at)}%` }} />;
  return (
    <>
      <i class={`extent ${row.state}`} style={box(row.at, end)} />
      {row.spans.map((one) => (
        <i
          key={one.from}
          class={`time-${one.kind}`}
          style={box(one.from, one.to ?? line.to)}
          title={titleOf(one, line)}
        />
      ))}
      <small style={besideBar(line, row.at, end)}>{numbersOf(row, line.to)}</small>
    </>
  );
}

/** A duration, and what the requests of a line spent. */
function numbersOf(row: Row, to: number): string {
  const time = span((row.endedAt ?? to) - row.at);
  if (row.spent === null) return time;
  return `${time} · ${short(row.spent.tokens)} tokens · ${dollars(row.spent.costUsd)}`;
}

/** Numbers follow a bar. Where there is no space, they come before it or inside it. */
function besideBar(line: TimeLine, from: number, to: number): Record<string, string> {
  const [begin, end] = [line.place(from), line.place(to)];
  if (end <= 0.6) return { left: `${100 * end}%` };
  return begin >= 0.4 ? { right: `${100 * (1 - begin)}%` } : { right: '0' };
}

function titleOf({ kind, from, to }: RowSpan, line: TimeLine): string {
  return `${span((to ?? line.to) - from)} ${timeNames[kind]}`;
}
