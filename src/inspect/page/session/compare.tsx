import { useMemo, useState } from 'preact/hooks';
import { tame } from '../../../platform/text.ts';
import type { Row } from '../../recorded/row-list.ts';
import type { ShownRecording } from '../../recorded/shown-recording.ts';
import { type Aligned, type Comparison, compare } from '../../study/compare.ts';
import { exchangeAt } from '../../study/exchange.ts';
import { fork } from '../live.ts';
import type { Store } from '../store.ts';
import { ReplyPane, RequestPane } from './details/exchange.tsx';
import { useStore } from './use-store.ts';

/** On the page of a change: what it departs from, and what is left open. */
export function Departure({ store }: { store: Store }) {
  const { origin, compares } = store;
  if (origin === null) return null;
  return (
    <div class="departure">
      <b>What if: {tame(origin.name)}</b>
      <button type="button" onClick={() => store.goBack()}>
        Back to what happened
      </button>
      <button type="button" aria-pressed={compares} onClick={() => store.set({ compares: !compares })}>
        Compare
      </button>
      {origin.store.live === null ? null : (
        <button
          type="button"
          title="Start a new session with this history up to the change"
          onClick={() => goOn(store)}
        >
          Continue from here
        </button>
      )}
      {origin.pending.length === 0 ? null : (
        <span class="hint">Not in the recording, so still pending: {origin.pending.map(tame).join(', ')}</span>
      )}
    </div>
  );
}

function goOn(store: Store): void {
  const { origin, recorded } = store;
  const sessionId = recorded.heads.get('')?.sessionId;
  if (origin === null || sessionId === undefined) return;
  fork(sessionId, origin.change).catch((error) => store.set({ failure: String(error.message) }));
}

/** Two sessions of a server. */
export function ComparePage({ one, other }: { one: Store; other: Store }) {
  useStore(one);
  useStore(other);
  const names = [one, other].map(({ recorded }, index) => {
    const { agent = '', sessionId = '' } = recorded.heads.get('') ?? {};
    return `${index === 0 ? 'A' : 'B'}: ${tame(agent)} ${tame(sessionId.slice(0, 8))}`;
  });
  return (
    <div class="page home">
      <header>
        <h1>Two sessions</h1>
        <a href="#/">All sessions</a>
        {[one, other].map(({ failure }) =>
          failure === null ? null : (
            <p key={failure} class="trouble">
              {tame(failure)}
            </p>
          ),
        )}
      </header>
      <main class="comparison" aria-busy={one.isLoading || other.isLoading}>
        <Compared one={one.recorded} other={other.recorded} names={[names[0] ?? 'A', names[1] ?? 'B']} />
      </main>
    </div>
  );
}

type Props = { one: ShownRecording; other: ShownRecording; names: [string, string] };

/** Two sessions side by side, attempt by attempt. */
export function Compared({ one, other, names }: Props) {
  const comparison = useMemo(() => compare(one, other), [one, other, one.told.length, other.told.length]);
  const [chosen, setChosen] = useState<string | null>(null);
  const { attempts, counters } = comparison;
  const selected =
    attempts.find(({ key }) => key === (chosen ?? comparison.first?.key)) ?? attempts.find((row) => !row.isSame);
  return (
    <section class="compared" aria-label="Comparison">
      <p role="status">{summaryOf(comparison)}</p>
      <div class="sides">
        <table>
          <thead>
            <tr>
              <th scope="col">attempt</th>
              <th scope="col">{names[0]}</th>
              <th scope="col">{names[1]}</th>
            </tr>
          </thead>
          <tbody>
            {attempts.map((row) => (
              <tr key={row.key} class={row.isSame ? 'same' : 'differs'}>
                <th scope="row">
                  <button type="button" aria-pressed={row === selected} onClick={() => setChosen(row.key)}>
                    {row.isSame ? '=' : '≠'} {row.key}
                  </button>
                </th>
                <td>{textOf(row.one)}</td>
                <td>{textOf(row.other)}</td>
              </tr>
            ))}
            {counters.map(({ path, one: left, other: right }) => (
              <tr key={path} class="counter">
                <th scope="row">{path}</th>
                <td>{left ?? 'no price'}</td>
                <td>{right ?? 'no price'}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {selected === undefined ? null : <Sides one={one} other={other} row={selected} names={names} />}
      </div>
    </section>
  );
}

function Sides({ one, other, row, names }: Props & { row: Aligned }) {
  return (
    <div class="both">
      {(
        [
          [one, row.one],
          [other, row.other],
        ] as const
      ).map(([recorded, own], index) => (
        <div key={names[index]}>
          <h2>
            {names[index]}: {row.key}
          </h2>
          {own === null ? (
            <p class="empty">This session has no such attempt.</p>
          ) : (
            <Exchange recorded={recorded} row={own} />
          )}
        </div>
      ))}
    </div>
  );
}

function Exchange({ recorded, row }: { recorded: ShownRecording; row: Row }) {
  const told = row.ended ?? recorded.told.length;
  const exchange = exchangeAt(recorded, { told, scope: row.scope });
  return (
    <>
      <ReplyPane exchange={exchange} streaming={[]} />
      <RequestPane recorded={recorded} exchange={exchange} />
    </>
  );
}

function textOf(row: Row | null) {
  if (row === null) return '–';
  return `${row.state} ${row.slugs.join(', ')}`;
}

function summaryOf({ first, same, facts, given }: Comparison): string {
  const asked = given.length === 0 ? '' : ` They were given another ${given.join(', ')}.`;
  if (first === null) return `All ${same} facts are the same.${asked}`;
  const [left, right] = [first.one?.type ?? 'the end', first.other?.type ?? 'the end'];
  const how = left === right ? `${left} has different contents` : `${left}, and ${right}`;
  return `The first ${same} facts are the same (of ${facts[0]} and ${facts[1]}). First difference, in ${first.key}: ${how}.${asked}`;
}
