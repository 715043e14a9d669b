import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JournaledSession } from '../../journal/journal.ts';
import { tame } from '../../platform/text.ts';
import type { Found } from '../live/search.ts';
import { Field } from './field.tsx';
import { followAll, search } from './live.ts';
import { clock, span } from './text.ts';

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
  const [agent, setAgent] = useState('');
  const [trouble, setTrouble] = useState('');
  const [top, setTop] = useState(0);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-2));
  useEffect(
    () =>
      followAll((news) => {
        setTrouble('failure' in news ? news.failure : '');
        if ('failure' in news) return;
        setRows((known) => {
          const all = new Map([
            ...(news.isWhole ? [] : known),
            ...news.rows.map((row) => [row.sessionId, row] as const),
          ]);
          for (const id of news.gone) all.delete(id);
          return all;
        });
      }),
    [],
  );
  const [found, setFound] = useState<Found | string | null>(null);
  useEffect(() => {
    setFound(null);
    if (query.trim() === '') return;
    const asked = new AbortController();
    search(query, setFound, asked.signal).catch((error) => {
      if (!asked.signal.aborted) setFound(String(error.message));
    });
    return () => asked.abort();
  }, [query]);
  const all = useMemo(() => [...rows.values()].sort(byUrgency), [rows]);
  const snippets =
    found === null || typeof found === 'string' ? null : new Map(found.hits.map((hit) => [hit.sessionId, hit.snippet]));
  const isSearched = query.trim() !== '';
  const matching = all.filter(
    (row) =>
      (status === '' || row.status === status) &&
      (agent === '' || row.agent === agent) &&
      (!isSearched || snippets?.has(row.sessionId) === true || textOf(row).includes(query.toLowerCase())),
  );
  const waiting = all.reduce((sum, row) => sum + row.waiting.length, 0);
  const running = all.filter((row) => row.status === 'running').length;
  const first = Math.max(0, Math.floor(top / rowPx) - 4);
  const shown = matching.slice(first, first + 60);
  return (
    <div class="page home">
      <header>
        <h1>Pawl</h1>
        <Field
          label="Search the sessions"
          placeholder='cancel slug:unknown_tool rule:B-4 tool:search since:1d "a phrase"'
          value={query}
          take={setQuery}
        />
        <label>
          agent{' '}
          <select value={agent} onChange={(event) => setAgent(event.currentTarget.value)}>
            <option value="">any</option>
            {[...new Set(all.map((row) => row.agent))].map((one) => (
              <option key={one} value={one}>
                {tame(one)}
              </option>
            ))}
          </select>
        </label>
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
          {matching.length} of {all.length} · {running} running · {waiting} waiting for a person
        </span>
      </header>
      {trouble === '' ? null : <p class="trouble">{tame(trouble)}</p>}
      {typeof found === 'string' ? <p class="trouble">{tame(found)}</p> : null}
      {typeof found === 'object' && found !== null && found.indexed < found.sessions ? (
        <p class="hint" role="status">
          Still looking: {found.indexed} of {found.sessions} read.
        </p>
      ) : null}
      {typeof found === 'object' && found !== null && found.total > found.hits.length ? (
        <p class="hint" role="status">
          Showing the latest {found.hits.length} of {found.total} hits. Narrow the search to see the rest.
        </p>
      ) : null}
      <main class="sessions" onScroll={(event) => setTop(event.currentTarget.scrollTop)} tabindex={0}>
        {all.length === 0 ? <p class="empty">No session yet. It appears here as it starts.</p> : null}
        <ul style={{ height: `${matching.length * rowPx}px` }}>
          {shown.map((row, index) => (
            <li
              key={row.sessionId}
              style={{ top: `${(first + index) * rowPx}px` }}
              aria-setsize={matching.length}
              aria-posinset={first + index + 1}
            >
              {row.metadata.role === 'run' ? (
                <span class="nobox" />
              ) : (
                <input
                  type="checkbox"
                  aria-label={`Choose ${row.agent} ${row.sessionId} to compare`}
                  checked={chosen.includes(row.sessionId)}
                  onChange={() => choose(row.sessionId)}
                />
              )}
              <a href={`#${encodeURIComponent(row.sessionId)}`} class={`entry ${row.status}`}>
                <span class="glyph">{glyphs[row.status]}</span>
                <b>{tame(row.agent)}</b>
                <span>{row.status}</span>
                {row.waiting.length === 0 ? null : <span class="waits">{row.waiting.length} waiting for a person</span>}
                {row.slugs.map((slug) => (
                  <span class="slug" key={slug}>
                    {slug}
                  </span>
                ))}
                <span class="hint">{tame(snippets?.get(row.sessionId) || metadataOf(row))}</span>
                <span class="time">
                  {clock(row.createdAt)} · {span(row.updatedAt - row.createdAt)} · {tame(row.sessionId.slice(0, 36))}
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
