import { useEffect, useMemo, useState } from 'preact/hooks';
import type { JournaledSession } from '../../journal/journal.ts';
import { tame } from '../../platform/text.ts';
import type { Found, SessionSummary } from '../live/search.ts';
import { Field } from './field.tsx';
import { followAll, search } from './live.ts';
import { type Column, columns, Entry, Failures, metadataOf, nextOrder, Unfold } from './rows.tsx';

const rowPx = 30;

/** All sessions of a journal: those that wait for a person first, then those that run, then the latest. */
export function Home() {
  const [rows, setRows] = useState<ReadonlyMap<string, JournaledSession>>(new Map());
  const [about, setAbout] = useState<ReadonlyMap<string, SessionSummary>>(new Map());
  const [query, setQuery] = useState('');
  const [facets, setFacets] = useState<Partial<Record<Facet, string>>>({});
  const [order, setOrder] = useState<{ column: Column; isUp: boolean } | null>(null);
  const [unfolded, setUnfolded] = useState<readonly string[]>([]);
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
        const more = news.about ?? [];
        if (more.length > 0)
          setAbout((known) => new Map([...known, ...more.map((one) => [one.sessionId, one] as const)]));
      }, 'sessions?about=1'),
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
  const all = useMemo(() => {
    const list = [...rows.values()].sort(byUrgency);
    if (order === null) return list;
    const { column, isUp } = order;
    const of = (row: JournaledSession) => column.of(row, about.get(row.sessionId));
    const rank = (one: JournaledSession, other: JournaledSession) =>
      of(one) === of(other) ? 0 : of(one) < of(other) === isUp ? -1 : 1;
    return list.sort(rank);
  }, [rows, order, order === null ? null : about]);
  const snippets =
    found === null || typeof found === 'string' ? null : new Map(found.hits.map((hit) => [hit.sessionId, hit.snippet]));
  const isSearched = query.trim() !== '';
  const isMatch = (row: JournaledSession, but?: Facet) =>
    facetNames.every((name) => {
      const asked = facets[name];
      return name === but || asked === undefined || valuesOf(name, row, about).includes(asked);
    }) &&
    (!isSearched || snippets?.has(row.sessionId) === true || textOf(row, about).includes(query.toLowerCase()));
  const runs = new Set(all.flatMap((row) => (row.metadata.role === 'run' ? [row.metadata.run] : [])));
  const isNarrowed = isSearched || Object.values(facets).some((value) => value !== undefined);
  // The sessions of a run stand below it, once one asks for them, or for some of all sessions.
  const isFolded = ({ waiting: calls, metadata: { run, role } }: JournaledSession) =>
    !isNarrowed &&
    calls.length === 0 &&
    role !== 'run' &&
    run !== undefined &&
    runs.has(run) &&
    !unfolded.includes(String(run));
  const matching = all.filter((row) => isMatch(row) && !isFolded(row));
  const waiting = all.reduce((sum, row) => sum + row.waiting.length, 0);
  const running = all.filter((row) => row.status === 'running').length;
  useEffect(() => {
    document.title = waiting === 0 ? 'Pawl' : `(${waiting}) Pawl`;
  }, [waiting]);
  const first = Math.max(0, Math.floor(top / rowPx) - 4);
  const shown = matching.slice(first, first + 60);
  const counts = (name: Facet) => {
    const asked = facets[name];
    // What is chosen stays in the list, even if the other choices leave nothing of it.
    const found = new Map<string, number>(asked === undefined ? [] : [[asked, 0]]);
    for (const row of all)
      if (isMatch(row, name))
        for (const value of valuesOf(name, row, about)) found.set(value, (found.get(value) ?? 0) + 1);
    return [...found].sort(([, one], [, other]) => other - one);
  };
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
        <span class="facets">
          {facetNames.map((name) => (
            <label key={name}>
              {name}{' '}
              <select
                value={facets[name] ?? ''}
                onChange={(event) => setFacets({ ...facets, [name]: event.currentTarget.value || undefined })}
              >
                <option value="">any</option>
                {counts(name).map(([value, count]) => (
                  <option key={value} value={value}>
                    {tame(value)} ({count})
                  </option>
                ))}
              </select>
            </label>
          ))}
        </span>
        {chosen.length === 2 ? (
          <a href={`#compare/${chosen.map(encodeURIComponent).join('/')}`}>Compare the two</a>
        ) : null}
        {waiting === 0 ? null : <a href="#inbox/">Inbox ({waiting})</a>}
        <span class="numbers" role="status">
          {matching.length} of {all.length} · {running} running · {waiting} waiting for a person
        </span>
        <Failures rows={all} />
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
      <nav class="heads" aria-label="Columns">
        <span class="about">session</span>
        {columns.map((column) => (
          <button
            key={column.name}
            type="button"
            class={`cell ${column.name}`}
            aria-pressed={order?.column === column}
            title={`Sort by ${column.name}`}
            onClick={() => setOrder(nextOrder(order, column))}
          >
            {column.name}
            {order?.column === column ? (order.isUp ? ' ▴' : ' ▾') : ''}
          </button>
        ))}
      </nav>
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
                <Unfold run={String(row.metadata.run ?? '')} unfolded={unfolded} set={setUnfolded} />
              ) : (
                <input
                  type="checkbox"
                  aria-label={`Choose ${row.agent} ${row.sessionId} to compare`}
                  checked={chosen.includes(row.sessionId)}
                  onChange={() => choose(row.sessionId)}
                />
              )}
              <Entry row={row} about={about.get(row.sessionId)} snippet={snippets?.get(row.sessionId)} />
            </li>
          ))}
        </ul>
      </main>
    </div>
  );
}

const facetNames = ['agent', 'status', 'slug', 'target', 'tool', 'rule'] as const;
type Facet = (typeof facetNames)[number];

/** What a session has of a facet: of the last three, what is known once it was read. */
function valuesOf(name: Facet, row: JournaledSession, about: ReadonlyMap<string, SessionSummary>): readonly string[] {
  const known = about.get(row.sessionId);
  switch (name) {
    case 'agent':
    case 'status':
      return [row[name]];
    case 'slug':
      return row.slugs;
    default:
      return known?.[`${name}s`] ?? [];
  }
}

function byUrgency(one: JournaledSession, other: JournaledSession): number {
  const rank = ({ waiting, status }: JournaledSession) => (waiting.length > 0 ? 0 : status === 'running' ? 1 : 2);
  return rank(one) - rank(other) || other.updatedAt - one.updatedAt;
}

function textOf(row: JournaledSession, about: ReadonlyMap<string, SessionSummary>): string {
  const { prompt = '' } = about.get(row.sessionId) ?? {};
  return `${row.agent} ${row.sessionId} ${row.slugs.join(' ')} ${metadataOf(row)} ${prompt}`.toLowerCase();
}
