import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { span, tame } from '../../../platform/text.ts';
import type { Row } from '../../recorded/row-list.ts';
import type { Moment } from '../../recorded/shown-recording.ts';
import { type LineFilter, lineFilters } from '../../study/find.ts';
import { Slugs } from '../content/slugs.tsx';
import type { Store } from '../store.ts';
import { clock } from '../text.ts';

export const rowPx = 26;

export type Line = { row: Row; depth: number; number: number };

/** The rows that are not folded away, in order; while something is looked for, those that have it and what they are below. */
export function shownLines({ recorded, folded, found }: Store): Line[] {
  const lines: Line[] = [];
  const walk = (row: Row, depth: number): boolean => {
    const number = lines.push({ row, depth, number: lines.length }) - 1;
    let isIn = found === null || found.has(row.id);
    if (found !== null || !isFolded(row, folded))
      for (const child of row.children) if (walk(child, depth + 1)) isIn = true;
    if (!isIn) lines.length = number;
    return isIn;
  };
  const { root } = recorded.rows;
  if (root !== null && !walk(root, 0)) lines.push({ row: root, depth: 0, number: 0 });
  return lines;
}

/** A sub-agent is folded until one asks for it, everything else once one does. */
function isFolded({ id, kind, scope }: Row, folded: ReadonlySet<number>): boolean {
  return folded.has(id) !== (kind === 'session' && scope !== '');
}

/** What happened: turns, attempts, calls, waits and endings. Only the lines in view are there. */
export function EventList({ store, moment }: { store: Store; moment: Moment }) {
  const pane = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const lines = shownLines(store);
  const current = lines.find(({ row }) => row.id === store.chosen) ?? currentLine(lines, moment);
  useLayoutEffect(() => {
    const element = pane.current;
    if (element === null) return;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    // The observer also reports the initial size, after the first layout.
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    return () => sizes.disconnect();
  }, []);
  useEffect(() => {
    const element = pane.current;
    if (element === null || current === null) return;
    const top = current.number * rowPx;
    const isIn = top >= element.scrollTop && top + rowPx <= element.scrollTop + element.clientHeight;
    if (!isIn) element.scrollTop = top - element.clientHeight / 2;
  }, [current?.row.id, lines.length]);
  const first = Math.max(0, Math.floor(view.top / rowPx) - 5);
  const shown = lines.slice(first, first + Math.ceil(view.height / rowPx) + 10);
  return (
    <section class="happened" aria-label="Events">
      <Finder store={store} lines={lines} current={current} />
      <div
        class="list"
        ref={pane}
        role="listbox"
        tabindex={0}
        aria-label="What happened"
        aria-activedescendant={current === null ? undefined : `row-${current.row.id}`}
        onKeyDown={(event) => {
          if (takeListKey(store, lines, current, event.key)) event.preventDefault();
        }}
      >
        <div role="presentation" style={{ height: `${lines.length * rowPx}px` }}>
          {shown.map((line) => (
            <ListRow
              key={line.row.id}
              store={store}
              line={line}
              moment={moment}
              isCurrent={line === current}
              size={lines.length}
            />
          ))}
        </div>
      </div>
    </section>
  );
}

/** Looks for a text within the session, and narrows what is listed. */
function Finder({ store, lines, current }: { store: Store; lines: readonly Line[]; current: Line | null }) {
  const { text, filter } = store.finding;
  const take = (event: KeyboardEvent & { currentTarget: HTMLInputElement }) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    event.stopPropagation();
    if (event.key === 'Escape') {
      store.find({ text: '' });
      event.currentTarget.blur();
      return;
    }
    const hits = lines.filter(({ row }) => store.found?.has(row.id) === true);
    const from = store.chosen === null ? -1 : (current?.number ?? -1);
    const next = event.shiftKey
      ? hits.findLast(({ number }) => number < from)
      : hits.find(({ number }) => number > from);
    const hit = next ?? hits.at(event.shiftKey ? -1 : 0);
    if (hit !== undefined) store.choose(hit.row);
  };
  return (
    <div class="listhead">
      <input
        type="text"
        id="find"
        placeholder="find (/)"
        aria-label="Find in the session"
        title="Enter: the next line that has it; Shift Enter: the one before; Escape: all lines"
        value={text}
        onInput={(event) => store.find({ text: event.currentTarget.value })}
        onKeyDown={take}
      />
      <select
        aria-label="Lines"
        value={filter}
        onChange={(event) => store.find({ filter: event.currentTarget.value as LineFilter })}
      >
        {lineFilters.map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <span role="status">{store.found === null ? `${lines.length} lines` : `${store.found.size} found`}</span>
    </div>
  );
}

/** Moves in the list, and opens and folds its lines. Returns whether it was a key of the list. */
function takeListKey(store: Store, lines: readonly Line[], current: Line | null, key: string): boolean {
  const at = current?.number ?? -1;
  const go = (line: Line | undefined) => line !== undefined && store.choose(line.row);
  switch (key) {
    case 'ArrowDown':
      go(lines[at + 1]);
      return true;
    case 'ArrowUp':
      go(lines[at - 1]);
      return true;
    case 'PageDown':
      go(lines[Math.min(at + 15, lines.length - 1)]);
      return true;
    case 'PageUp':
      go(lines[Math.max(at - 15, 0)]);
      return true;
    case 'Enter':
    case ' ':
      if (current !== null && current.depth > 0 && current.row.children.length > 0) store.fold(current.row.id);
      else go(current ?? undefined);
      return true;
    default:
      return false;
  }
}

/** The chosen line, or the latest that had begun. */
function currentLine(lines: readonly Line[], { told }: Moment): Line | null {
  let found: Line | null = null;
  for (const line of lines)
    if (line.row.told <= told && (found === null || line.row.told >= found.row.told)) found = line;
  return found;
}

const glyphs: Record<Row['state'], [string, string]> = {
  running: ['●', 'running'],
  waiting: ['◔', 'waiting'],
  done: ['✓', 'done'],
  failed: ['✗', 'failed'],
};

type RowProps = { store: Store; line: Line; moment: Moment; isCurrent: boolean; size: number };

function ListRow({ store, line: { row, depth, number }, moment, isCurrent, size }: RowProps) {
  const isOver = row.ended !== null && row.ended <= moment.told;
  const state = isOver ? row.state : row.state === 'waiting' ? 'waiting' : 'running';
  const [glyph, word] = row.told > moment.told ? ['·', 'not yet'] : glyphs[state];
  const slugs = isOver ? row.slugs : [];
  const isShut = isFolded(row, store.folded);
  return (
    <div
      id={`row-${row.id}`}
      role="option"
      aria-selected={isCurrent}
      aria-setsize={size}
      aria-posinset={number + 1}
      class={`row ${row.kind} ${row.told > moment.told ? 'future' : state}${isCurrent ? ' current' : ''}`}
      style={{ top: `${number * rowPx}px`, paddingLeft: `${6 + depth * 12}px` }}
      title={[row.title, ...slugs, row.detail].filter((text) => text !== '').join(' · ')}
      onClick={() => store.choose(row)}
    >
      {row.children.length === 0 || depth === 0 ? (
        <span class="fold" />
      ) : (
        <span class="fold" aria-hidden="true" onClick={(event) => fold(event, store, row)}>
          {isShut ? '▸' : '▾'}
        </span>
      )}
      <span class="glyph" title={word} aria-label={word} role="img">
        {glyph}
      </span>
      <span class="what">
        <span class="title">{tame(row.title)}</span>
        {row.notice === null ? null : (
          <span class="flag" role="img" aria-label="with a system notice" title={row.notice}>
            ⚑
          </span>
        )}
        <Slugs of={slugs} />
        <span class="detail">{tame(row.detail)}</span>
      </span>
      <span class="time">{timeOf(row, isOver)}</span>
    </div>
  );
}

function fold(event: Event, store: Store, row: Row): void {
  event.stopPropagation();
  store.fold(row.id);
}

function timeOf(row: Row, isOver: boolean): string {
  if (row.kind === 'run' || (row.kind === 'session' && row.scope === '')) return clock(row.at);
  if (row.kind === 'wait' && !isOver && row.dueAt !== null) return `until ${clock(row.dueAt)}`;
  if (row.endedAt === null || row.kind === 'note' || row.kind === 'end') return '';
  return span(row.endedAt - row.at);
}
