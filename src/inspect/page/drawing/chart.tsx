import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { edgeId, stateId } from '../../recorded/picture-ids.ts';
import type { MachineId, Microstep } from '../../recorded/recording-data.ts';
import type { Actor, Moment } from '../../recorded/shown-recording.ts';
import type { Store } from '../store.ts';
import { stateName } from '../text.ts';
import { trusted } from '../trusted.ts';
import { light } from './lighting.ts';

/** How much larger than its pane a drawing can be shown. */
const largest = 8;
const zoomStep = 1.5;

/** The drawings, by name, with their machines. */
type Drawn = [MachineId, string];
const charts: Record<'session' | 'run', readonly Drawn[]> = {
  session: [
    ['session', 'session'],
    ['turn', 'turn'],
    ['attempt', 'attempt'],
    ['toolCall', 'tool-call'],
  ],
  run: [
    ['workflow', 'workflow-queue'],
    ['workflow', 'workflow-settling'],
    ['item', 'item'],
    ['workflow', 'workflow-ending'],
  ],
};

/** The drawings of the machines, with the states that they are in and the arrow that was just taken. */
export function Charts({ store, moment }: { store: Store; moment: Moment }) {
  const frame = store.recorded.microsteps[moment.frame];
  const all = charts[store.kind];
  const following = frame === undefined ? undefined : drawingOf(store, frame);
  const shown = all.find(([, name]) => name === store.pinned) ?? following;
  const actors = moment.actors.filter(({ scope }) => scope === moment.scope);
  // Stays while one goes from chart to chart.
  const [zoom, setZoom] = useState(1);
  return (
    <section class="charts" aria-label="Machines">
      <div class="thumbs">
        {all.map((one) => {
          const [machine, name] = one;
          const own = actors.filter((actor) => actor.machine === machine);
          const alive = own.filter(({ isActive }) => isActive);
          return (
            <button
              key={name}
              type="button"
              class={one === following ? 'thumb moved' : 'thumb'}
              aria-pressed={one === shown}
              title={store.pinned === name ? 'Follow the machine that moves' : `Stay with ${name}`}
              onClick={() => store.set({ pinned: store.pinned === name ? null : name })}
            >
              <b>{name.replace('-', ' ')}</b>
              <span class={alive.length === 0 ? 'state past' : 'state'}>
                {statesOf(alive.length === 0 ? own : alive)}
              </span>
            </button>
          );
        })}
      </div>
      {shown === undefined || frame === undefined ? null : (
        <Chart store={store} shown={shown} actors={actors} frame={frame} zoom={zoom} setZoom={setZoom} />
      )}
    </section>
  );
}

/** The drawing that shows most of a step: a machine that is drawn in parts has some states in several. */
function drawingOf({ pictures, kind }: Store, frame: Microstep): Drawn | undefined {
  const arrows = frame.arrows.flatMap((one) => pictures.arrows[one] ?? []);
  const ids = [stateId(innermost(frame.states)), ...arrows.map((arrow) => edgeId(arrow.source, arrow.target))];
  const shownIn = ([machine, name]: Drawn) =>
    machine === frame.machine ? ids.filter((id) => hasId(pictures.drawings[name] ?? '', id)).length : -1;
  return charts[kind].toSorted((one, other) => shownIn(other) - shownIn(one))[0];
}

/** Graphviz escapes hyphens. */
function hasId(svg: string, id: string): boolean {
  return svg.includes(`id="${id.replaceAll('-', '&#45;')}"`);
}

function statesOf(actors: readonly Actor[]): string {
  if (actors.length === 0) return '–';
  const counts = new Map<string, number>();
  for (const { states } of actors) {
    const name = stateName(innermost(states));
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
}

/** The innermost state of a path, which is not always the last of the list. */
function innermost(states: readonly string[]): string {
  return states.reduce((one, other) => (other.length > one.length ? other : one), '');
}

type ChartProps = {
  store: Store;
  shown: Drawn;
  actors: readonly Actor[];
  frame: Microstep;
  zoom: number;
  setZoom: (zoom: number) => void;
};

/** A drawing: whole at first, larger by wheel or button, moved by dragging. */
function Chart({ store, shown: [machine, name], actors, frame, zoom, setZoom }: ChartProps) {
  const pane = useRef<HTMLDivElement>(null);
  const lit = useRef<Element | null>(null);
  /** The point of the pane that stays where it is while the drawing grows, as a part of its size. */
  const fixed = useRef({ x: 0.5, y: 0.5, from: 1 });
  const drawing = useMemo(() => drawn(store.pictures.drawings[name] ?? ''), [store.pictures, name]);
  const zoomTo = (factor: number, x = 0.5, y = 0.5) => {
    fixed.current = { x, y, from: zoom };
    setZoom(Math.min(largest, Math.max(1, zoom * factor)));
  };
  useLayoutEffect(() => {
    if (drawing === null || pane.current === null) return;
    drawing.setAttribute('width', '100%');
    drawing.setAttribute('height', '100%');
    pane.current.replaceChildren(drawing);
  }, [drawing]);
  useLayoutEffect(() => {
    if (drawing === null || pane.current === null) return;
    for (const side of ['width', 'height'] as const) drawing.style[side] = `${100 * zoom}%`;
    const { x, y, from } = fixed.current;
    const { clientWidth, clientHeight, scrollLeft, scrollTop } = pane.current;
    pane.current.scrollLeft = (scrollLeft + x * clientWidth) * (zoom / from) - x * clientWidth;
    pane.current.scrollTop = (scrollTop + y * clientHeight) * (zoom / from) - y * clientHeight;
    fixed.current.from = zoom;
  }, [drawing, zoom]);
  useLayoutEffect(() => {
    if (drawing === null || pane.current === null) return;
    const own = actors.filter((actor) => actor.machine === machine);
    const arrows = frame.machine === machine ? frame.arrows : [];
    lit.current = light(drawing, store.pictures, own, arrows);
  });
  useEffect(() => {
    if (lit.current !== null && pane.current !== null) reveal(pane.current, lit.current);
  }, [frame, drawing]);
  return (
    <div class="zoomed">
      <div
        class="chart"
        data-arrows={frame.machine === machine ? frame.arrows.length : 0}
        ref={pane}
        role="img"
        tabindex={0}
        aria-label={`${name}: ${statesOf(actors.filter((one) => one.machine === machine))}`}
        onWheel={(event) => {
          event.preventDefault();
          const { left, top, width, height } = event.currentTarget.getBoundingClientRect();
          const [x, y] = [(event.clientX - left) / width, (event.clientY - top) / height];
          zoomTo(Math.exp(-event.deltaY / 400), x, y);
        }}
        onPointerDown={(event) => event.currentTarget.setPointerCapture(event.pointerId)}
        onPointerMove={(event) => {
          if (event.buttons === 1) event.currentTarget.scrollBy(-event.movementX, -event.movementY);
        }}
      />
      <div class="zoom" role="group" aria-label="Size of the drawing">
        <button type="button" aria-label="Smaller" disabled={zoom === 1} onClick={() => zoomTo(1 / zoomStep)}>
          −
        </button>
        <button type="button" aria-label="Whole" disabled={zoom === 1} onClick={() => zoomTo(1 / zoom)}>
          whole
        </button>
        <button type="button" aria-label="Larger" disabled={zoom === largest} onClick={() => zoomTo(zoomStep)}>
          +
        </button>
      </div>
    </div>
  );
}

function drawn(svg: string): SVGSVGElement | null {
  const parsed = new DOMParser().parseFromString(trusted(svg), 'image/svg+xml').documentElement;
  return parsed instanceof SVGSVGElement ? parsed : null;
}

/** Scrolls the pane alone, and only if the element is not in view. */
function reveal(pane: HTMLElement, element: Element): void {
  const own = pane.getBoundingClientRect();
  const one = element.getBoundingClientRect();
  const isIn = one.top >= own.top && one.bottom <= own.bottom && one.left >= own.left && one.right <= own.right;
  if (isIn || own.height === 0) return;
  pane.scrollTop += one.top - own.top - (own.height - one.height) / 2;
  pane.scrollLeft += one.left - own.left - (own.width - one.width) / 2;
}
