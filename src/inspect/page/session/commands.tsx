import { useState } from 'preact/hooks';
import { fileOf } from '../live.ts';
import type { Store } from '../store.ts';

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
