import type { JournaledSession } from '../../../../journal/journal.ts';
import { tame } from '../../../../platform/text.ts';
import type { Row } from '../../../recorded/row-list.ts';
import type { Moment } from '../../../recorded/shown-recording.ts';
import { Slugs } from '../../content/slugs.tsx';
import type { Store } from '../../store.ts';

type Props = { store: Store; moment: Moment };

/** The items of a run that had begun, with the sessions of each. */
export function ItemsPane({ store, moment }: Props) {
  const { recorded, live } = store;
  const runs = namesOf(store);
  // A session begins after the step that asks for it.
  const until = recorded.told[moment.told]?.at ?? Number.POSITIVE_INFINITY;
  const sessions = (live?.sessions ?? [])
    .filter(({ metadata, createdAt }) => runs.has(String(metadata.run)) && createdAt <= until)
    .toSorted((one, other) => one.createdAt - other.createdAt);
  const notes = recorded.rows.byId.filter(({ kind, told }) => kind === 'note' && told <= moment.told);
  return (
    <>
      <h2>Items</h2>
      <ul class="items">
        {itemsAt(store, moment).map((row) => (
          <li key={row.id}>
            <button type="button" class="item" onClick={() => store.go(recorded.frameOf(row.told))}>
              {tame(row.title)}
            </button>{' '}
            <b class={stateAt(row, moment)}>{words[stateAt(row, moment)]}</b>
            <p>{tame(row.detail)}</p>
            <Sessions rows={sessions.filter(({ metadata }) => metadata.item === row.title)} />
          </li>
        ))}
      </ul>
      <Sessions rows={sessions.filter(({ metadata }) => metadata.item === undefined)} />
      {live === null ? <p class="hint">The sessions of the run are in its journal, not in this file.</p> : null}
      <h3>Incidents, work items and problems</h3>
      <ul class="items">
        {notes.map((row) => (
          <li key={row.id}>
            <b class={row.state}>{tame(row.title)}</b> {tame(row.detail)}
          </li>
        ))}
      </ul>
      {notes.length === 0 ? <p class="empty">None.</p> : null}
    </>
  );
}

/** How many items succeeded, failed and wait for a person. */
export function ItemCounts({ store, moment }: Props) {
  const states = itemsAt(store, moment).map((row) => stateAt(row, moment));
  const told = (['done', 'failed', 'waiting', 'running'] as const).flatMap((state) => {
    const count = states.filter((one) => one === state).length;
    return count === 0 ? [] : [`${count} ${words[state]}`];
  });
  return (
    <span class="numbers">
      {states.length} {states.length === 1 ? 'item' : 'items'}
      {told.length === 0 ? '' : ': '}
      {told.join(', ')}
    </span>
  );
}

const words: Record<Row['state'], string> = {
  running: 'in progress',
  waiting: 'set aside',
  done: 'succeeded',
  failed: 'failed',
};

function itemsAt({ recorded }: Store, { told }: Moment): Row[] {
  return recorded.rows.byId.filter((row) => row.kind === 'item' && row.told <= told);
}

function stateAt({ ended, state }: Row, { told }: Moment): Row['state'] {
  return ended !== null && ended <= told ? state : 'running';
}

/** A run has another name once it continues one that died. */
function namesOf({ recorded }: Store): Set<string> {
  return new Set(
    recorded.told.flatMap((one) =>
      'runFact' in one && (one.runFact.type === 'workflow.started' || one.runFact.type === 'workflow.continued')
        ? [one.runFact.run]
        : [],
    ),
  );
}

function Sessions({ rows }: { rows: readonly JournaledSession[] }) {
  return (
    <>
      {rows.map(({ sessionId, agent, metadata, status, slugs, waiting }) => (
        <p key={sessionId} class="session">
          <a href={`#${encodeURIComponent(sessionId)}`}>
            {tame(String(metadata.role ?? ''))}: {tame(agent)}
          </a>{' '}
          {status}
          {waiting.length === 0 ? '' : `, ${waiting.length} waiting for a person`}
          <Slugs of={slugs} />
        </p>
      ))}
    </>
  );
}
