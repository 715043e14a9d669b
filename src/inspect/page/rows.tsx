import type { JournaledSession } from '../../journal/journal.ts';
import { span, tame } from '../../platform/text.ts';
import type { SessionSummary } from '../live/search.ts';
import { Slugs } from './content/slugs.tsx';
import { ago, clock, dollars, short } from './text.ts';

const glyphs: Record<JournaledSession['status'], string> = {
  running: '●',
  suspended: '‖',
  succeeded: '✓',
  failed: '✗',
  aborted: '✗',
};

export type Column = {
  name: string;
  of: (row: JournaledSession, about: SessionSummary | undefined) => number | string;
};

export const columns: readonly Column[] = [
  { name: 'agent', of: ({ agent }) => agent },
  { name: 'turns', of: (_, about) => about?.turns ?? -1 },
  { name: 'requests', of: (_, about) => about?.requests ?? -1 },
  { name: 'tokens', of: (_, about) => about?.tokens ?? -1 },
  { name: 'cost', of: (_, about) => about?.costUsd ?? -1 },
  { name: 'time', of: ({ updatedAt, createdAt }) => updatedAt - createdAt },
  { name: 'when', of: ({ createdAt }) => createdAt },
];

/** One session of the list. */
export function Entry({
  row,
  about,
  snippet,
}: {
  row: JournaledSession;
  about: SessionSummary | undefined;
  snippet: string | undefined;
}) {
  const what = snippet || about?.prompt || metadataOf(row);
  return (
    <a
      href={`#${encodeURIComponent(row.sessionId)}`}
      class={`entry ${row.status}`}
      title={[row.sessionId, row.status, ...row.slugs, metadataOf(row)].filter((one) => one !== '').join(' · ')}
    >
      <span class="glyph" role="img" aria-label={row.status}>
        {glyphs[row.status]}
      </span>
      <span class="about">
        {row.waiting.length === 0 ? null : (
          <span class="waits" title={`${row.waiting.length} waiting for a person`}>
            {row.waiting.length}
            <span class="words"> waiting for a person</span>
          </span>
        )}
        <Slugs of={row.slugs} />
        {about?.forkOf == null ? null : <span class="hint">fork of {tame(about.forkOf.slice(0, 8))}</span>}
        <span class="what">{tame(what)}</span>
      </span>
      <b class="cell agent">{tame(row.agent)}</b>
      <span class="cell turns">{about?.turns ?? ''}</span>
      <span class="cell requests">{about?.requests ?? ''}</span>
      <span class="cell tokens">{about === undefined ? '' : short(about.tokens)}</span>
      <span class="cell cost">{about === undefined ? '' : dollars(about.costUsd)}</span>
      <span class="cell time">{span(row.updatedAt - row.createdAt)}</span>
      <span class="cell when" title={clock(row.createdAt)}>
        {ago(row.createdAt)}
      </span>
    </a>
  );
}

/** Shows and hides the sessions of a run. */
export function Unfold({
  run,
  unfolded,
  set,
}: {
  run: string;
  unfolded: readonly string[];
  set: (runs: readonly string[]) => void;
}) {
  const isOpen = unfolded.includes(run);
  return (
    <button
      type="button"
      class="unfold"
      aria-expanded={isOpen}
      aria-label={`Sessions of the run ${run}`}
      onClick={() => set(isOpen ? unfolded.filter((one) => one !== run) : [...unfolded, run])}
    >
      {isOpen ? '▾' : '▸'}
    </button>
  );
}

/** How many sessions failed in each of the last 24 hours. */
export function Failures({ rows }: { rows: readonly JournaledSession[] }) {
  const hourMs = 3_600_000;
  const now = Math.floor(Date.now() / hourMs);
  const hours = Array.from({ length: 24 }, () => 0);
  for (const { status, updatedAt } of rows) {
    const back = now - Math.floor(updatedAt / hourMs);
    if (status === 'failed' && back >= 0 && back < 24) hours[23 - back] = (hours[23 - back] ?? 0) + 1;
  }
  const whole = hours.reduce((sum, one) => sum + one, 0);
  const most = Math.max(...hours);
  if (whole === 0) return null;
  return (
    <span
      class="hours"
      role="img"
      aria-label={`${whole} failed in the last 24 hours`}
      title="Failures by hour, the last 24"
    >
      {hours.map((count, index) => (
        <i key={index} style={{ height: `${Math.ceil((18 * count) / most)}px` }} />
      ))}
    </span>
  );
}

/** Down, up, and then as it was. */
export function nextOrder(order: { column: Column; isUp: boolean } | null, column: Column) {
  if (order?.column !== column) return { column, isUp: column.name === 'agent' };
  return order.isUp === (column.name === 'agent') ? { column, isUp: !order.isUp } : null;
}

export function metadataOf({ metadata }: JournaledSession): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}
