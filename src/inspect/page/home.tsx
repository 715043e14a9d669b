import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JournaledSession } from '../../journal/journal.ts';
import { followAll } from './live.ts';
import { clock, span, tamed } from './text.ts';

const rowPx = 30;

const glyphs: Record<JournaledSession['status'], string> = {
  running: '●',
  suspended: '‖',
  succeeded: '✓',
  failed: '✗',
  aborted: '✗',
};

/** All sessions of a journal: those that wait for a person first, then those that run, then the latest. */
export function Home() {
  const [rows, setRows] = useState<ReadonlyMap<string, JournaledSession>>(new Map());
  const [query, setQuery] = useState('');
  const [status, setStatus] = useState('');
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-2));
  useEffect(
    () =>
      followAll((news) => setRows((known) => new Map([...known, ...news.map((row) => [row.sessionId, row] as const)]))),
    [],
  );
  const all = useMemo(() => [...rows.values()].sort(byUrgency), [rows]);
  const words = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  const found = all.filter(
    (row) => (status === '' || row.status === status) && words.every((word) => textOf(row).includes(word)),
  );
  const waiting = all.reduce((sum, row) => sum + row.waiting.length, 0);
  const running = all.filter((row) => row.status === 'running').length;
  const first = Math.max(0, Math.floor(top / rowPx) - 4);
  const shown = found.slice(first, first + 60);
  return (
    <div class="page home">
      <header>
        <h1>Pawl</h1>
        <input
          type="search"
          placeholder="agent, slug, id, metadata"
          aria-label="Search the sessions"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <label>
          status{' '}
          <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
            <option value="">any</option>
            {Object.keys(glyphs).map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        {chosen.length === 2 ? (
          <a href={`#compare/${chosen.map(encodeURIComponent).join('/')}`}>Compare the two</a>
        ) : null}
        <span class="numbers" role="status">
          {found.length} of {all.length} · {running} running · {waiting} waiting for a person
        </span>
      </header>
      <main class="sessions" onScroll={(event) => setTop(event.currentTarget.scrollTop)} tabindex={0}>
        {all.length === 0 ? <p class="empty">No session yet. It appears here as it starts.</p> : null}
        <ul style={{ height: `${found.length * rowPx}px` }}>
          {shown.map((row, index) => (
            <li
              key={row.sessionId}
              style={{ top: `${(first + index) * rowPx}px` }}
              aria-setsize={found.length}
              aria-posinset={first + index + 1}
            >
              <input
                type="checkbox"
                aria-label={`Choose ${row.agent} ${row.sessionId} to compare`}
                checked={chosen.includes(row.sessionId)}
                onChange={() => choose(row.sessionId)}
              />
              <a href={`#${encodeURIComponent(row.sessionId)}`} class={`entry ${row.status}`}>
                <span class="glyph">{glyphs[row.status]}</span>
                <b>{tamed(row.agent)}</b>
                <span>{row.status}</span>
                {row.waiting.length === 0 ? null : <span class="waits">{row.waiting.length} waiting for a person</span>}
                {row.slugs.map((slug) => (
                  <span class="slug" key={slug}>
                    {slug}
                  </span>
                ))}
                <span class="hint">{tamed(metadataOf(row))}</span>
                <span class="time">
                  {clock(row.createdAt)} · {span(row.updatedAt - row.createdAt)} · {tamed(row.sessionId.slice(0, 36))}
                </span>
              </a>
            </li>
          ))}
        </ul>
      </main>
    </div>
  );
}

function byUrgency(one: JournaledSession, other: JournaledSession): number {
  const rank = ({ waiting, status }: JournaledSession) => (waiting.length > 0 ? 0 : status === 'running' ? 1 : 2);
  return rank(one) - rank(other) || other.updatedAt - one.updatedAt;
}

function metadataOf({ metadata }: JournaledSession): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

function textOf(row: JournaledSession): string {
  return `${row.agent} ${row.sessionId} ${row.slugs.join(' ')} ${metadataOf(row)}`.toLowerCase();
}
