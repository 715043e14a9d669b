import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { tame } from '../../../platform/text.ts';
import type { Moment } from '../../recorded/shown-recording.ts';
import { endingOf, spentInTree } from '../../study/overview.ts';
import { Slugs } from '../content/slugs.tsx';
import { Charts } from '../drawing/chart.tsx';
import type { Store } from '../store.ts';
import { panes } from '../tabs.ts';
import { dollars, short } from '../text.ts';
import { Commands, Waiting } from './commands.tsx';
import { Compared, Departure } from './compare.tsx';
import { Details } from './details/details.tsx';
import { ItemCounts } from './details/items.tsx';
import { statusOf } from './details/overview.tsx';
import { BoundGauge } from './gauge.tsx';
import { keyHelp, takeKey } from './keys.ts';
import { EventList } from './list.tsx';
import { ScrubBar } from './scrub.tsx';
import { Splitter } from './splitter.tsx';
import { useStore } from './use-store.ts';
import { Waterfall } from './waterfall.tsx';

/** A session: what happened, the machines, and why; live and recorded are the same page. */
export function SessionPage({ store }: { store: Store }) {
  useStore(store);
  useLayoutEffect(() => {
    const take = (event: KeyboardEvent) => {
      if (takeKey(store, event)) event.preventDefault();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, [store]);
  const { moment } = store;
  const stage = useStages(store);
  const [widths, setWidths] = useState(chosenWidths);
  chosenWidths = widths;
  return (
    <div class={`page show-${store.pane}`}>
      <Header store={store} />
      <nav class="panes" aria-label="Panes">
        {panes.map((pane) => (
          <button key={pane} type="button" aria-pressed={pane === store.pane} onClick={() => store.set({ pane })}>
            {pane === 'middle' ? 'time, machines' : pane}
          </button>
        ))}
      </nav>
      {store.compares && store.origin !== null ? (
        <main class="comparison" aria-busy={store.isLoading}>
          {store.isLoading ? (
            <p class="empty">The change is being played.</p>
          ) : (
            <Compared one={store.origin.store.recorded} other={store.recorded} names={['happened', 'what if']} />
          )}
        </main>
      ) : (
        <main aria-busy={store.isLoading} class={store.middle === 'closed' ? 'closed' : ''} style={widthsAs(widths)}>
          <EventList store={store} moment={moment} />
          <Splitter label="Width of the events" side="left" set={(left) => setWidths({ ...widths, left })} />
          {stage > 0 ? <Middle store={store} moment={moment} /> : <section class="charts" />}
          <Splitter label="Width of the details" side="right" set={(right) => setWidths({ ...widths, right })} />
          {stage > 1 ? <Details store={store} moment={moment} /> : <section class="details" />}
        </main>
      )}
      <ScrubBar store={store} moment={moment} />
      {store.showsHelp ? <Help store={store} /> : null}
    </div>
  );
}

/** The widths of the outer panes in px, if a person chose them: the next session that is shown has them, too. */
type Widths = { left: number | null; right: number | null };
let chosenWidths: Widths = { left: null, right: null };

function widthsAs({ left, right }: Widths): Record<string, string> {
  return { ...(left !== null && { '--left': `${left}px` }), ...(right !== null && { '--right': `${right}px` }) };
}

/** When things happened, or the machines that decided them. */
function Middle({ store, moment }: { store: Store; moment: Moment }) {
  return (
    <div class="middle">
      <nav class="tabs" aria-label="Middle">
        {(['time', 'machines'] as const).map((one) => (
          <button
            key={one}
            type="button"
            aria-pressed={store.middle === one}
            onClick={() => store.open({ middle: one })}
          >
            {one}
          </button>
        ))}
        {store.middle === 'closed' ? null : (
          <button
            type="button"
            class="close"
            aria-label="Close the middle"
            onClick={() => store.open({ middle: 'closed' })}
          >
            ✕
          </button>
        )}
      </nav>
      {store.middle === 'time' ? <Waterfall store={store} moment={moment} /> : null}
      {store.middle === 'machines' ? <Charts store={store} moment={moment} /> : null}
    </div>
  );
}

/** Counts frames, up to 2, since there was something to show. Rendering all panes in one frame would be a long task. */
function useStages(store: Store): number {
  const [stage, setStage] = useState(0);
  const isThere = store.recorded.microsteps.length > 0 || !store.isLoading;
  useEffect(() => {
    if (isThere && stage < 2) setStage(stage + 1);
  }, [isThere, stage]);
  return stage;
}

function Header({ store }: { store: Store }) {
  const { recorded, moment } = store;
  const head = recorded.heads.get('');
  const counters = recorded.countersAt(moment.told);
  const spent = spentInTree(recorded, moment.told);
  const { root } = recorded.rows;
  const last = recorded.microsteps.length - 1;
  return (
    <header>
      {recorded.run === null ? (
        <h1 title={head?.sessionId ?? ''}>
          {tame(head?.agent ?? 'Pawl')} <small>{tame(head?.prompt?.slice(0, 120) ?? '')}</small>
        </h1>
      ) : (
        <h1 title={recorded.run.sessionId}>
          workflow <small>{tame(recorded.run.input.run)}</small>
        </h1>
      )}
      {root !== null && root.ended !== null ? (
        <Ending
          state={root.state}
          word={
            root.state === 'done'
              ? doneWords[store.kind]
              : endingOf(recorded)?.type === 'session.aborted'
                ? 'aborted'
                : 'failed'
          }
          slugs={root.slugs}
        />
      ) : (
        <NotEnded store={store} />
      )}
      {store.frame < last ? (
        <span class="hint">
          replay: step {store.frame + 1} of {last + 1}
        </span>
      ) : null}
      {store.kind === 'run' ? (
        <ItemCounts store={store} moment={moment} />
      ) : (
        <>
          <BoundGauge store={store} moment={moment} />
          <span class="numbers">
            turn {counters.get('turns') ?? 0} · {short(spent.input + spent.output)} tokens · {dollars(spent.costUsd)}
          </span>
        </>
      )}
      <button
        type="button"
        class="help"
        aria-label="Keys"
        title="Keys (?)"
        onClick={() => store.set({ showsHelp: true })}
      >
        ?
      </button>
      <Departure store={store} />
      <Commands store={store} />
      <Waiting store={store} />
      <Troubles store={store} />
    </header>
  );
}

/** The status of a session that has not ended, whichever step is shown. */
function NotEnded({ store }: { store: Store }) {
  const status = statusOf(store);
  if (status === 'running') return <span class="status running">● running</span>;
  return <span class="status">‖ {status}</span>;
}

/** A run that is done has worked through its items, which may have failed. */
const doneWords = { session: 'succeeded', run: 'completed' };

function Ending({ state, word, slugs }: { state: string; word: string; slugs: readonly string[] }) {
  return (
    <span class={`status ${state}`}>
      {state === 'done' ? `✓ ${word}` : `✗ ${word}: ${slugs[0] ?? ''}`}
      <Slugs of={slugs.slice(1)} />
    </span>
  );
}

/** What a reader must know before believing the page. */
function Troubles({ store }: { store: Store }) {
  const { recorded, pictures, failure, note, live } = store;
  const { difference } = recorded;
  const recordedBy = (recorded.run ?? recorded.heads.get(''))?.machines;
  const loading = store.isLoading && store.total > 0 ? Math.floor((100 * recorded.entries) / store.total) : null;
  return (
    <>
      {note === null ? null : <p class="trouble">{tame(note)}</p>}
      {failure === null ? null : <p class="trouble">{tame(failure)}</p>}
      {live?.isAway === true ? (
        <p class="trouble">The server does not answer. What is shown may be out of date.</p>
      ) : null}
      {difference === null ? null : (
        <p class="trouble">
          The machines diverge from the recording at entry {difference.entry}: recorded “{difference.recorded}”,
          replayed “{difference.replayed}”. What follows is shown as it was recorded, without the steps of the machines.
        </p>
      )}
      {recordedBy !== undefined && recordedBy !== pictures.machines ? (
        <p class="trouble">
          Recorded by machines {recordedBy}; this page has {pictures.machines}.
        </p>
      ) : null}
      {store.redacted === 0 ? null : (
        <p class="hint">
          {store.redacted} {store.redacted === 1 ? 'entry' : 'entries'} had secrets, which were removed.
        </p>
      )}
      {loading === null ? null : (
        <p class="hint" role="status">
          playing: {loading} %
        </p>
      )}
    </>
  );
}

function Help({ store }: { store: Store }) {
  return (
    <dialog open aria-label="Keys">
      <h2>Keys</h2>
      <dl>
        {keyHelp.map(([key, what]) => (
          <>
            <dt key={key}>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
      <button type="button" onClick={() => store.set({ showsHelp: false })}>
        Close
      </button>
    </dialog>
  );
}
