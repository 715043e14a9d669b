import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Frame, MachineId } from '../../recorded/frames.ts';
import type { Actor, Moment } from '../../recorded/recorded.ts';
import type { Store } from '../store.ts';
import { stateName } from '../text.ts';
import { trusted } from '../trusted.ts';
import { light } from './lighting.ts';

/** The smallest scale at which the texts of a drawing can be read. */
const smallest = 0.72;

const charts: [MachineId, string][] = [
  ['session', 'session'],
  ['turn', 'turn'],
  ['attempt', 'attempt'],
  ['toolCall', 'tool-call'],
];

/** The drawings of the machines, with the states that they are in and the arrow that was just taken. */
export function Charts({ store, moment }: { store: Store; moment: Moment }) {
  const frame = store.recorded.frames[moment.frame];
  const shown = charts.find(([machine]) => machine === (store.pinned ?? frame?.machine))?.[0] ?? 'session';
  const actors = moment.actors.filter(({ scope }) => scope === moment.scope);
  return (
    <section class="charts" aria-label="Machines">
      <div class="thumbs">
        {charts.map(([machine, name]) => {
          const own = actors.filter((actor) => actor.machine === machine);
          const alive = own.filter(({ isActive }) => isActive);
          return (
            <button
              key={machine}
              type="button"
              class={machine === frame?.machine ? 'thumb moved' : 'thumb'}
              aria-pressed={machine === shown}
              title={store.pinned === machine ? 'Follow the machine that moves' : `Stay with ${name}`}
              onClick={() => store.set({ pinned: store.pinned === machine ? null : machine })}
            >
              <b>{name.replace('-', ' ')}</b>
              <span class={alive.length === 0 ? 'state past' : 'state'}>
                {statesOf(alive.length === 0 ? own : alive)}
              </span>
            </button>
          );
        })}
      </div>
      <Chart store={store} machine={shown} actors={actors} frame={frame} />
    </section>
  );
}

function statesOf(actors: readonly Actor[]): string {
  if (actors.length === 0) return '–';
  const counts = new Map<string, number>();
  for (const { states } of actors) {
    const name = deepest(states);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].map(([name, count]) => (count === 1 ? name : `${name} ×${count}`)).join(', ');
}

/** The innermost state of a path, which is not always the last of the list. */
function deepest(states: readonly string[]): string {
  return stateName(states.reduce((one, other) => (other.length > one.length ? other : one), ''));
}

type ChartProps = { store: Store; machine: MachineId; actors: readonly Actor[]; frame: Frame | undefined };

function Chart({ store, machine, actors, frame }: ChartProps) {
  const pane = useRef<HTMLDivElement>(null);
  const name = charts.find(([one]) => one === machine)?.[1] ?? '';
  const drawing = useMemo(() => drawn(store.pictures.drawings[name] ?? ''), [store.pictures, name]);
  useLayoutEffect(() => {
    if (drawing === null || pane.current === null) return;
    pane.current.replaceChildren(drawing);
    const natural = drawing.viewBox.baseVal.width;
    const scale = Math.min(1.1, Math.max(smallest, (pane.current.clientWidth - 12) / natural));
    drawing.setAttribute('width', String(Math.floor(natural * scale)));
    drawing.removeAttribute('height');
  }, [drawing]);
  useLayoutEffect(() => {
    if (drawing === null || pane.current === null) return;
    const own = actors.filter((actor) => actor.machine === machine);
    const arrows = frame?.machine === machine ? frame.arrows : [];
    const lit = light(drawing, store.pictures, own, arrows);
    if (lit !== null) reveal(pane.current, lit);
  });
  return (
    <div
      class="chart"
      data-arrows={frame?.machine === machine ? frame.arrows.length : 0}
      ref={pane}
      role="img"
      tabindex={0}
      aria-label={`${name}: ${statesOf(actors.filter((one) => one.machine === machine))}`}
    />
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
