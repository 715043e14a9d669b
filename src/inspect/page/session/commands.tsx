import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Json } from '../../../../machines/index.ts';
import { tame } from '../../../platform/text.ts';
import type { Row } from '../../recorded/row-list.ts';
import { callInput } from '../../study/exchange.ts';
import { Json as JsonView } from '../content/content.tsx';
import { Field } from '../field.tsx';
import { Decisions } from '../inbox/decisions.tsx';
import { useInbox } from '../inbox/use-inbox.ts';
import { fileAddress } from '../live.ts';
import type { Store } from '../store.ts';

/** The calls that wait for a person or for an answer, in the session and its sub-agents. */
export function Waiting({ store }: { store: Store }) {
  const { live, recorded } = store;
  const list = useRef<HTMLElement>(null);
  const rows =
    live === null ? [] : recorded.rows.byId.filter(({ state, ended }) => state === 'waiting' && ended === null);
  const handed = rows.filter(({ isHandedOut }) => isHandedOut);
  const deciding = rows.filter(({ isHandedOut }) => !isHandedOut);
  const inbox = useInbox(
    recorded.heads.get('')?.sessionId ?? '',
    deciding.length === 0 ? null : deciding.map(({ id }) => id).join(' '),
  );
  const hadFocus = list.current?.contains(document.activeElement) === true;
  useEffect(() => {
    // Not on the next button: a key that is pressed twice would decide two calls.
    const { activeElement } = document;
    const isLost = activeElement === document.body || activeElement?.matches(':disabled') === true;
    if (hadFocus && isLost) list.current?.focus();
  });
  if (live === null || rows.length + inbox.cards.length === 0) return null;
  return (
    <section class="waiting inbox" aria-label="Waiting for a person" tabIndex={-1} ref={list}>
      {inbox.trouble === '' ? null : <p class="trouble">{tame(inbox.trouble)}</p>}
      {inbox.unreadable.map(({ reason }) => (
        <p class="trouble" key={reason}>
          {tame(reason)}
        </p>
      ))}
      <Decisions inbox={inbox} isAlone />
      {handed.map((row) => (
        <article key={row.id}>
          <p>
            ◔ <b>{tame(row.title)}</b> {row.detail}
          </p>
          <JsonView value={callInput(recorded, row) ?? ''} />
          <Answer store={store} row={row} />
        </article>
      ))}
    </section>
  );
}

type CallProps = { store: Store; row: Row };

/** A call of a client-side tool. The answer is JSON, or else plain text. */
function Answer({ store, row }: CallProps) {
  const [text, setText] = useState('');
  const answer = (event: Event) => {
    event.preventDefault();
    void store.live?.send({ type: 'answer', callId: row.callId ?? '', output: jsonOr(text), ...meantBy(store, row) });
  };
  return (
    <form onSubmit={answer}>
      <Field label={`Answer ${row.title}`} placeholder="JSON, or a text" value={text} take={setText} />
      <button type="submit">Answer</button>
    </form>
  );
}

/** The session of the tree that a call belongs to. */
function meantBy({ recorded }: Store, { scope }: Row): { sessionId?: string } {
  const { sessionId } = recorded.heads.get(scope) ?? {};
  return sessionId === undefined ? {} : { sessionId };
}

function jsonOr(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The commands for a running session, or a run. */
export function Commands({ store }: { store: Store }) {
  const [text, setText] = useState('');
  const { live, recorded } = store;
  if (live === null) return null;
  const isOver = recorded.rows.root?.ended != null;
  const sessionId = recorded.run?.sessionId ?? recorded.heads.get('')?.sessionId ?? '';
  const steer = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== '') void live.send({ type: 'steer', text });
    setText('');
  };
  return (
    <div class="commands">
      <a href="#/">All sessions</a>
      <a href={fileAddress(sessionId)}>Save as a file</a>
      {isOver || store.kind === 'run' ? null : (
        <>
          <form onSubmit={steer}>
            <Field label="Steer the session" placeholder="Tell the agent something" value={text} take={setText} />
            <button type="submit">Steer</button>
          </form>
          <button type="button" title="The next turn is the last" onClick={() => live.send({ type: 'stop' })}>
            Stop
          </button>
        </>
      )}
      {isOver ? null : <Abort store={store} />}
    </div>
  );
}

/** The button that ends a session, which asks once. */
function Abort({ store }: { store: Store }) {
  const [asks, setAsks] = useState(false);
  const keep = useRef<HTMLButtonElement>(null);
  // At once, so that no key that is pressed again ends it.
  useLayoutEffect(() => keep.current?.focus(), [asks]);
  if (!asks)
    return (
      <button type="button" title={`End the ${store.kind} now`} onClick={() => setAsks(true)}>
        Abort
      </button>
    );
  const abort = () => {
    setAsks(false);
    void store.live?.send({ type: 'abort' });
  };
  return (
    <span role="group" aria-label={`End the ${store.kind} now?`}>
      End the {store.kind} now?{' '}
      <button type="button" onClick={abort}>
        End it
      </button>
      <button type="button" ref={keep} onClick={() => setAsks(false)}>
        Let it run
      </button>
    </span>
  );
}
