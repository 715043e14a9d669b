import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { tame } from '../../../platform/text.ts';
import type { Row } from '../../recorded/row-list.ts';
import type { Moment } from '../../recorded/shown-recording.ts';
import type { Store } from '../store.ts';
import { clock, span } from '../text.ts';

export const rowPx = 26;

export type Line = { row: Row; depth: number; number: number };

/** The rows that are not folded away, in order. */
export function shownLines(root: Row | null, folded: ReadonlySet<number>): Line[] {
  const lines: Line[] = [];
  const walk = (row: Row, depth: number) => {
    lines.push({ row, depth, number: lines.length });
    if (isFolded(row, folded)) return;
    for (const child of row.children) walk(child, depth + 1);
  };
  if (root !== null) walk(root, 0);
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
  const lines = shownLines(store.recorded.rows.root, store.folded);
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
      <div class="listhead">{lines.length} lines</div>
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
        {slugs.map((slug) => (
          <span class="slug" key={slug}>
            {slug}
          </span>
        ))}
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
