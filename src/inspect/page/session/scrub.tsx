import { useEffect, useRef } from 'preact/hooks';
import type { Moment, Recorded } from '../../recorded/recorded.ts';
import { stepFrom, type Unit } from '../../study/steps.ts';
import { type Store, units } from '../store.ts';
import { clock, eventName, span, stateName } from '../text.ts';

/** Where in the session the page stands, and the way through it. */
export function ScrubBar({ store, moment }: { store: Store; moment: Moment }) {
  const { recorded, unit } = store;
  const last = Math.max(0, recorded.frames.length - 1);
  const step = (direction: 1 | -1) => store.go(stepFrom(recorded, store.frame, unit, direction));
  const begun = recorded.heads.get('')?.input.at ?? moment.at;
  const whole = (recorded.told.at(-1)?.at ?? begun) - begun;
  return (
    <footer class="scrub">
      <button type="button" title="To the beginning (Home)" aria-label="To the beginning" onClick={() => store.go(0)}>
        |◀
      </button>
      <button type="button" title="Back (←)" aria-label="Back" onClick={() => step(-1)}>
        ◀
      </button>
      <button type="button" title="On (→)" aria-label="On" onClick={() => step(1)}>
        ▶
      </button>
      <button type="button" title="To the end (End)" aria-label="To the end" onClick={() => store.go(last)}>
        ▶|
      </button>
      <label>
        by{' '}
        <select value={unit} onChange={(event) => store.set({ unit: event.currentTarget.value as Unit })}>
          {units.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <div class="track">
        <Strip recorded={recorded} />
        <input
          type="range"
          aria-label="Step of the session"
          min={0}
          max={last}
          value={Math.max(0, store.frame)}
          aria-valuetext={`step ${store.frame + 1} of ${last + 1}`}
          onInput={(event) => store.go(Number(event.currentTarget.value))}
        />
      </div>
      <span class="when" title={`${span(moment.at - begun)} after the start, of ${span(whole)}`}>
        {clock(moment.at)} · step {store.frame + 1} of {last + 1}
      </span>
      <span class="live" role="status" aria-live="polite">
        {told(store, moment)}
      </span>
    </footer>
  );
}

/** The step in words, for whoever cannot see the chart. */
function told({ recorded, pictures }: Store, { frame }: Moment): string {
  const one = recorded.frames[frame];
  if (one === undefined) return '';
  const state = one.states.reduce((left, right) => (right.length > left.length ? right : left), '');
  const event = pictures.arrows[one.arrows[0] ?? '']?.event ?? '';
  const by = one.isStart ? ', as it started' : event === '' ? '' : `, by ${eventName(event)}`;
  return `${one.machine === 'toolCall' ? 'tool call' : one.machine} ${stateName(state)}${by}`;
}

/** The whole session in one strip: failures, waits and the rest, as long as their steps are many. */
function Strip({ recorded }: { recorded: Recorded }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const { length } = recorded.frames;
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d') ?? null;
    if (element === null || context === null || length === 0) return;
    const color = (name: string) => {
      element.style.color = `var(${name})`;
      return getComputedStyle(element).color;
    };
    element.width = element.clientWidth * devicePixelRatio;
    element.height = element.clientHeight * devicePixelRatio;
    const { width, height } = element;
    const place = (told: number) => (recorded.frameOf(told) / length) * width;
    context.clearRect(0, 0, width, height);
    for (const row of recorded.rows.byId) {
      if (row.kind !== 'attempt' && row.kind !== 'wait') continue;
      const from = place(row.told);
      const to = row.ended === null ? width : Math.max(from + 1, place(row.ended));
      const name =
        row.kind === 'wait'
          ? '--wait'
          : row.state === 'failed'
            ? '--failed'
            : row.state === 'done'
              ? '--done'
              : '--running';
      context.fillStyle = color(name);
      const isFailed = row.state === 'failed' && row.kind === 'attempt';
      context.fillRect(
        from,
        isFailed ? 0 : height / 3,
        Math.max(devicePixelRatio, to - from - devicePixelRatio),
        isFailed ? height : height / 3,
      );
    }
  }, [recorded, length]);
  return <canvas ref={canvas} class="strip" aria-hidden="true" />;
}
