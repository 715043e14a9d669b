import { useEffect, useRef } from 'preact/hooks';
import { span } from '../../../platform/text.ts';
import type { Moment, ShownRecording } from '../../recorded/shown-recording.ts';
import { framesOf } from '../../study/rules.ts';
import { stepFrom, type Unit } from '../../study/steps.ts';
import { drawStrip } from '../drawing/strip.ts';
import type { Store } from '../store.ts';
import { clock, eventName, machineName, stateName } from '../text.ts';

/** Where in the session the page stands, and the way through it. */
export function ScrubBar({ store, moment }: { store: Store; moment: Moment }) {
  const { recorded, unit } = store;
  const last = Math.max(0, recorded.microsteps.length - 1);
  const step = (direction: 1 | -1) => store.go(stepFrom(recorded, store.frame, unit, direction));
  const begun = recorded.begunAt ?? moment.at;
  const whole = (recorded.told.at(-1)?.at ?? begun) - begun;
  return (
    <footer class="scrub">
      <button type="button" title="To the beginning (Home)" aria-label="To the beginning" onClick={() => store.go(0)}>
        |◀
      </button>
      <button type="button" title="Back (←)" aria-label="Back" onClick={() => step(-1)}>
        ◀
      </button>
      <button type="button" title="Forward (→)" aria-label="Forward" onClick={() => step(1)}>
        ▶
      </button>
      <button type="button" title="To the end (End)" aria-label="To the end" onClick={() => store.go(last)}>
        ▶|
      </button>
      <label>
        by{' '}
        <select value={unit} onChange={(event) => store.set({ unit: event.currentTarget.value as Unit })}>
          {store.units.map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
      </label>
      <div class="track">
        <Strip store={store} />
        <input
          type="range"
          aria-label={`Step of the ${store.kind}`}
          min={0}
          max={last}
          value={Math.max(0, store.frame)}
          aria-valuetext={`step ${store.frame + 1} of ${last + 1}`}
          onInput={(event) => store.go(Number(event.currentTarget.value))}
        />
      </div>
      {store.rule === null ? null : <MarkedRule store={store} rule={store.rule} />}
      <span class="when" title={`${span(waitedMs(recorded))} of it were waits`}>
        {clock(moment.at)} · {span(moment.at - begun)} of {span(whole)} · step {store.frame + 1} of {last + 1}
      </span>
      <span class="live" role="status" aria-live="polite">
        {told(store, moment)}
      </span>
    </footer>
  );
}

/** How long the session waited for its targets, in ms. */
function waitedMs({ rows }: ShownRecording): number {
  const waits = rows.byId.filter(({ kind, scope }) => kind === 'wait' && scope === '');
  return waits.reduce((sum, { at, endedAt }) => sum + (endedAt ?? at) - at, 0);
}

/** Describes the step for screen readers. */
function told({ recorded, pictures }: Store, { frame }: Moment): string {
  const one = recorded.microsteps[frame];
  if (one === undefined) return '';
  const state = one.states.reduce((left, right) => (right.length > left.length ? right : left), '');
  const event = pictures.arrows[one.arrows[0] ?? '']?.event ?? '';
  const by = one.isStart ? ', as it started' : event === '' ? '' : `, by ${eventName(event)}`;
  return `${machineName(one.machine)} ${stateName(state)}${by}`;
}

/** The rule whose steps are marked, and the way through them. */
function MarkedRule({ store, rule }: { store: Store; rule: string }) {
  const frames = framesOf(store.recorded, store.pictures, rule);
  const next = frames.find((frame) => frame > store.frame) ?? frames[0];
  return (
    <span class="marked">
      <button
        type="button"
        title="To the next of them (r)"
        disabled={next === undefined}
        onClick={() => store.go(next ?? 0)}
      >
        {rule}: {frames.length} {frames.length === 1 ? 'step' : 'steps'}
      </button>
      <button type="button" aria-label={`Unmark ${rule}`} onClick={() => store.set({ rule: null })}>
        ✕
      </button>
    </span>
  );
}

/** The whole session in one strip: its attempts and waits, the steps of a rule, and the numbers that are watched. */
function Strip({ store }: { store: Store }) {
  const { recorded, pictures, rule, watches } = store;
  const canvas = useRef<HTMLCanvasElement>(null);
  const { length } = recorded.microsteps;
  useEffect(() => {
    if (canvas.current === null || length === 0) return;
    drawStrip(
      canvas.current,
      recorded,
      rule === null ? [] : framesOf(recorded, pictures, rule),
      watches.map(({ series }) => series),
    );
  }, [recorded, length, rule, watches]);
  return <canvas ref={canvas} class="strip" aria-hidden="true" />;
}
