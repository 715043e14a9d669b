import { useState } from 'preact/hooks';
import type { Row } from '../../recorded/rows.ts';
import { fileOf } from '../live.ts';
import type { Store } from '../store.ts';
import { tamed } from '../text.ts';

/** The calls that wait for a person, in the session and its sub-agents; each goes once it is decided. */
export function Waiting({ store }: { store: Store }) {
  const { live, recorded } = store;
  const rows =
    live === null ? [] : recorded.rows.byId.filter(({ state, ended }) => state === 'waiting' && ended === null);
  if (rows.length === 0) return null;
  const decide = ({ scope, callId }: Row, approved: boolean) => {
    const { sessionId } = recorded.heads.get(scope) ?? {};
    void live?.send({ type: 'approve', callId: callId ?? '', approved, ...(sessionId !== undefined && { sessionId }) });
  };
  return (
    <ul class="waiting" aria-label="Waiting for a person">
      {rows.map((row) => (
        <li key={row.id}>
          <span>
            ◔ <b>{tamed(row.title)}</b> waits for approval
          </span>
          <button type="button" onClick={() => decide(row, true)}>
            Approve
          </button>
          <button type="button" onClick={() => decide(row, false)}>
            Deny
          </button>
        </li>
      ))}
    </ul>
  );
}

/** What one may do with a session that runs. */
export function Commands({ store }: { store: Store }) {
  const [text, setText] = useState('');
  const { live, recorded } = store;
  if (live === null) return null;
  const isOver = recorded.rows.root?.ended != null;
  const sessionId = recorded.heads.get('')?.sessionId ?? '';
  const steer = (event: Event) => {
    event.preventDefault();
    if (text.trim() !== '') void live.send({ type: 'steer', text });
    setText('');
  };
  return (
    <div class="commands">
      <a href="#/">All sessions</a>
      <a href={fileOf(sessionId)}>Save as a file</a>
      {isOver ? null : (
        <>
          <form onSubmit={steer}>
            <input
              type="text"
              placeholder="Tell the agent something"
              aria-label="Steer the session"
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <button type="submit">Steer</button>
          </form>
          <button type="button" title="The next turn is the last" onClick={() => live.send({ type: 'stop' })}>
            Stop
          </button>
          <button type="button" title="End the session now" onClick={() => live.send({ type: 'abort' })}>
            Abort
          </button>
        </>
      )}
    </div>
  );
}
