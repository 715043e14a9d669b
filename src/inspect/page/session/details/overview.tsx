import { span, tame } from '../../../../platform/text.ts';
import type { ShownRecording } from '../../../recorded/shown-recording.ts';
import {
  reportOf,
  type SpentBy,
  type SpentTogether,
  sessionStory,
  spentByAgent,
  spentByModel,
  spentByTurn,
  spentInTree,
} from '../../../study/overview.ts';
import { type TimeKind, timeSpent } from '../../../study/timeline.ts';
import { Ago } from '../../content/ago.tsx';
import { Json, Text } from '../../content/content.tsx';
import { Copy } from '../../content/copy.tsx';
import { Fold } from '../../content/fold.tsx';
import type { Store } from '../../store.ts';
import { clock, dollars, short } from '../../text.ts';
import { testCommandOf } from './copied.ts';

/** What one asks first: how it ended and why, what was asked, what was said, what it cost, and where the time went. */
export function Overview({ store }: { store: Store }) {
  const { recorded } = store;
  const { root } = recorded.rows;
  if (root === null) return <p class="empty">Nothing has happened yet.</p>;
  const report = reportOf(recorded);
  const waiting = recorded.rows.byId.filter(({ state, ended }) => state === 'waiting' && ended === null);
  const { to } = timesOf(recorded);
  const spent = spentInTree(recorded);
  const head = recorded.heads.get('');
  return (
    <div class="overview">
      <p class={`story ${root.ended === null ? '' : root.state}`}>{tame(sessionStory(recorded, statusOf(store)))}</p>
      <p>
        {spent.requests} {spent.requests === 1 ? 'request' : 'requests'} · {short(spent.input + spent.output)} tokens ·{' '}
        {dollars(spent.costUsd)} · {span(to - root.at)}
      </p>
      {head === undefined ? null : (
        <p class="copies">
          <Copy
            name="copy as a test"
            title="The command that writes a test of this session"
            text={() => testCommandOf(head)}
          />
        </p>
      )}
      {waiting.map((row) => (
        <p key={row.id} class="waits">
          ◔ {tame(row.title)} {row.detail} since {clock(row.at)}
          {store.live === null ? null : (
            <>
              , <Ago at={row.at} />
            </>
          )}
        </p>
      ))}
      <h2>Prompt</h2>
      <Text text={head?.prompt ?? 'none: the conversation is in the messages'} />
      <h2>Report</h2>
      {report === null ? (
        <p class="empty">No report was accepted.</p>
      ) : typeof report === 'string' ? (
        <Text kind="markdown" text={report} />
      ) : (
        <Json value={report} />
      )}
      <h2>Time</h2>
      <TimeBar recorded={recorded} from={root.at} to={to} />
      <h2>Cost</h2>
      <SpentTable name="agent" rows={spentByAgent(recorded)} whole={spent} />
      <SpentTable name="model" rows={spentByModel(recorded)} whole={spent} />
      <Fold title="By turn of the session itself">
        {() => <SpentTable name="turn" rows={spentByTurn(recorded)} whole={spent} />}
      </Fold>
    </div>
  );
}

/** When a session began, and when the last thing happened. */
export function timesOf(recorded: ShownRecording): { from: number; to: number } {
  const { root } = recorded.rows;
  const from = root?.at ?? 0;
  return { from, to: Math.max(from, root?.endedAt ?? recorded.told.at(-1)?.at ?? from) };
}

/** The status of a session that has not ended: its journal's, or that its recording breaks off. */
export function statusOf({ live, origin }: Store): string {
  return live?.row?.status ?? (origin === null ? 'not ended' : 'pending');
}

export const timeNames: Record<TimeKind, string> = {
  model: 'the model',
  tool: 'tools',
  person: 'waiting for a person',
  pause: 'waiting for a model',
  idle: 'anything else',
};

function TimeBar({ recorded, from, to }: { recorded: ShownRecording; from: number; to: number }) {
  const spent = timeSpent(recorded.rows.byId, from, to);
  const kinds = (Object.keys(timeNames) as TimeKind[]).filter((kind) => spent[kind] > 0);
  return (
    <>
      <div class="timebar" aria-hidden="true">
        {kinds.map((kind) => (
          <i key={kind} class={`time-${kind}`} style={{ flexGrow: spent[kind] }} />
        ))}
      </div>
      <ul class="times">
        {kinds.map((kind) => (
          <li key={kind}>
            <i class={`swatch time-${kind}`} /> {span(spent[kind])} {timeNames[kind]}
          </li>
        ))}
        <li>{span(to - from)} in all</li>
      </ul>
    </>
  );
}

function SpentTable({ name, rows, whole }: { name: string; rows: readonly SpentBy[]; whole: SpentTogether }) {
  const share = ({ costUsd, input, output }: SpentTogether) =>
    costUsd === null || whole.costUsd === null || whole.costUsd === 0
      ? (input + output) / Math.max(1, whole.input + whole.output)
      : costUsd / whole.costUsd;
  return (
    <table class="spent">
      <thead>
        <tr>
          <th scope="col">{name}</th>
          <th scope="col">requests</th>
          <th scope="col">in</th>
          <th scope="col">cached</th>
          <th scope="col">out</th>
          <th scope="col">cost</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.name}>
            <th scope="row">
              {tame(row.name)}
              <i class="share" style={{ width: `${Math.round(100 * Math.min(1, share(row)))}%` }} />
            </th>
            <td>{row.requests}</td>
            <td>{short(row.input)}</td>
            <td>{short(row.cacheRead)}</td>
            <td>{short(row.output)}</td>
            <td>{dollars(row.costUsd)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
