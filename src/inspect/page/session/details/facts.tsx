import { useEffect, useRef, useState } from 'preact/hooks';
import { contentOfObservation } from '../../../recorded/recording-data.ts';
import type { Moment } from '../../../recorded/shown-recording.ts';
import { Json } from '../../content/content.tsx';
import type { Store } from '../../store.ts';
import { clock } from '../../text.ts';

const rowPx = 22;

/** All facts and sightings, in order; those in view are there. */
export function FactList({ store, moment }: { store: Store; moment: Moment }) {
  const pane = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const { told } = store.recorded;
  const height = 420;
  useEffect(() => {
    const element = pane.current;
    if (element === null) return;
    const at = (moment.told - 1) * rowPx;
    if (at < element.scrollTop || at + rowPx > element.scrollTop + height) element.scrollTop = at - height / 2;
  }, [moment.told]);
  const first = Math.max(0, Math.floor(top / rowPx) - 4);
  const shown = told.slice(first, first + Math.ceil(height / rowPx) + 8);
  const current = told[moment.told - 1];
  return (
    <>
      <h2>
        Fact {moment.told} of {told.length}
      </h2>
      <div
        class="facts"
        ref={pane}
        tabindex={0}
        role="region"
        aria-label="Facts"
        onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      >
        <div style={{ height: `${told.length * rowPx}px` }}>
          {shown.map((one, index) => {
            const number = first + index + 1;
            return (
              <button
                key={number}
                type="button"
                class={number === moment.told ? 'fact current' : number > moment.told ? 'fact future' : 'fact'}
                style={{ top: `${(number - 1) * rowPx}px` }}
                onClick={() => store.go(store.recorded.frameOf(number))}
              >
                <span>{number}</span> {contentOfObservation(one).type} <i>{clock(one.at)}</i>
              </button>
            );
          })}
        </div>
      </div>
      {current === undefined ? null : <Json value={contentOfObservation(current)} />}
    </>
  );
}
