import { useEffect, useState } from 'preact/hooks';
import { tame } from '../../../../platform/text.ts';
import { contentOfObservation } from '../../../recorded/recording-data.ts';
import type { Moment } from '../../../recorded/shown-recording.ts';
import { exchangeAt } from '../../../study/exchange.ts';
import { Json } from '../../content/content.tsx';
import type { Store } from '../../store.ts';
import type { Tab } from '../../tabs.ts';
import { eventName, machineName, stateName } from '../../text.ts';
import { AttemptPane } from './attempt.tsx';
import { AnswersPane, ReplyPane, RequestPane } from './exchange.tsx';
import { FactList } from './facts.tsx';
import { ItemsPane } from './items.tsx';
import { Overview } from './overview.tsx';
import { Watches } from './watches.tsx';
import { WhatIfPane } from './what-if.tsx';

type Props = { store: Store; moment: Moment };

/** The right side: why, and everything about the request at hand. */
export function Details({ store, moment }: Props) {
  return (
    <section class="details" aria-label="Details">
      <div class="tabs" role="tablist">
        {store.tabs.map((tab, index) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`tab-${index}`}
            aria-selected={tab === store.tab}
            aria-controls="pane"
            title={`${(index + 1) % 10}`}
            onClick={() => store.open({ tab })}
          >
            {tab}
          </button>
        ))}
      </div>
      <div class="pane" id="pane" role="tabpanel" aria-labelledby={`tab-${store.tabs.indexOf(store.tab)}`} tabindex={0}>
        <Pane store={store} moment={moment} tab={store.tab} />
      </div>
    </section>
  );
}

function Pane({ store, moment, tab }: Props & { tab: Tab }) {
  switch (tab) {
    case 'overview':
      return <Overview store={store} />;
    case 'attempt':
      return <AttemptPane store={store} streaming={streamed(store)} />;
    case 'why':
      return <Why store={store} moment={moment} />;
    case 'request':
      return <RequestPane recorded={store.recorded} exchange={exchangeAt(store.recorded, store.placeOfAttempt)} />;
    case 'reply':
      return <ReplyPane exchange={exchangeAt(store.recorded, store.placeOfAttempt)} streaming={streamed(store)} />;
    case 'answers':
      return <AnswersPane exchange={exchangeAt(store.recorded, store.placeOfAttempt)} />;
    case 'items':
      return <ItemsPane store={store} moment={moment} />;
    case 'facts':
      return <FactList store={store} moment={moment} />;
    case 'what if':
      return <WhatIfPane store={store} frame={moment.frame} />;
    case 'context':
      return <Context store={store} moment={moment} />;
    default:
      return <CounterTable store={store} moment={moment} />;
  }
}

/** What has arrived of a reply that is not whole yet. */
function streamed(store: Store) {
  const place = store.placeOfAttempt;
  const exchange = exchangeAt(store.recorded, place);
  return store.streaming.get(`${place.scope} ${exchange?.turn} ${exchange?.attempt}`) ?? [];
}

/** Why the machine is where it is: the arrow, its guard, and the sentences of its rules. */
function Why({ store, moment }: Props) {
  const { pictures, recorded } = store;
  const frame = recorded.microsteps[moment.frame];
  if (frame === undefined) return <p class="empty">Nothing has happened yet.</p>;
  const arrows = frame.arrows.flatMap((name) => pictures.arrows[name] ?? []);
  const state = frame.states.reduce((one, other) => (other.length > one.length ? other : one), '');
  const rules = [...new Set([...arrows.flatMap((arrow) => arrow.rules), ...(pictures.states[state]?.rules ?? [])])];
  const before = recorded.microsteps[moment.frame - 1]?.facts ?? 0;
  return (
    <>
      <h2>
        {machineName(frame.machine)}: {stateName(state)}
      </h2>
      <p>{pictures.states[state]?.description}</p>
      {frame.isStart ? <p class="hint">The machine started.</p> : null}
      {arrows.map((arrow) => (
        <dl key={`${arrow.machine}-${arrow.number}`}>
          <dt>from</dt>
          <dd>{stateName(arrow.source)}</dd>
          <dt>event</dt>
          <dd>{arrow.event === '' ? 'none: decided at once' : eventName(arrow.event)}</dd>
          <dt>guard</dt>
          <dd>{arrow.guard === '' ? 'none' : <code>{arrow.guard}</code>}</dd>
          {arrow.actions.length === 0 ? null : (
            <>
              <dt>actions</dt>
              <dd>{arrow.actions.join(', ')}</dd>
            </>
          )}
        </dl>
      ))}
      {rules.map((rule) => (
        <p class="rule" key={rule}>
          <button
            type="button"
            class="ruleid"
            title={`Mark the steps in which ${rule} decided`}
            aria-pressed={store.rule === rule}
            onClick={() => store.set({ rule: store.rule === rule ? null : rule })}
          >
            {rule}
          </button>{' '}
          <Sentence text={pictures.rules[rule] ?? ''} />
        </p>
      ))}
      <h3>Facts and sightings in this step</h3>
      {recorded.told.slice(before, moment.told).map((one, index) => (
        <details key={before + index}>
          <summary>{contentOfObservation(one).type}</summary>
          <Json value={contentOfObservation(one)} />
        </details>
      ))}
      {moment.told === before ? <p class="empty">Nothing.</p> : null}
    </>
  );
}

/** A sentence of the specification, with its code. */
function Sentence({ text }: { text: string }) {
  return <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>;
}

function Context({ store, moment }: Props) {
  const [shown, setShown] = useState<{ frame: number; value: unknown }>({ frame: -1, value: undefined });
  const { frame } = moment;
  useEffect(() => {
    let isLatest = true;
    store.contextAt(frame).then(
      (value) => isLatest && setShown({ frame, value }),
      (error) => store.set({ failure: String(error.message) }),
    );
    return () => {
      isLatest = false;
    };
  }, [store, frame]);
  const machine = store.recorded.microsteps[frame]?.machine;
  return (
    <>
      <h2>Context of the {machineName(machine ?? '')}, after this step</h2>
      {shown.frame === frame ? <Json value={shown.value} /> : <p class="empty">…</p>}
    </>
  );
}

function CounterTable({ store, moment }: Props) {
  const head = store.recorded.heads.get(moment.scope);
  const counters = [...store.recorded.countersAt(moment.told, moment.scope)].filter(([, value]) => value !== 0);
  return (
    <>
      <Watches store={store} frame={moment.frame} />
      <h2>Account of {tame(head?.agent ?? 'the session')} at this step</h2>
      <p class="hint">Zero values are hidden.</p>
      <table>
        <tbody>
          {counters.map(([path, value]) => (
            <tr key={path}>
              <th scope="row">{path}</th>
              <td>{value ?? 'no price'}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
