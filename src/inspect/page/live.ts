import type { JournaledSession } from '../../journal/journal.ts';
import type { Forked } from '../live/fork.ts';
import type { TapePiece } from '../live/live-tape.ts';
import type { Found } from '../live/search.ts';
import type { Change } from '../study/what-if.ts';
import type { Command, Store } from './store.ts';

const token = () => document.querySelector('meta[name="pawl-token"]')?.getAttribute('content') ?? '';

const pathOf = (sessionId: string, what: string) => `sessions/${encodeURIComponent(sessionId)}/${what}`;

/** Where a server has a session as one file. */
export const fileOf = (sessionId: string) => pathOf(sessionId, 'file');

async function post(path: string, body: unknown) {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-pawl-token': token() },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** Forks the session at a change, and shows the fork. */
export async function fork(sessionId: string, change: Change): Promise<void> {
  const { sessionId: forkId }: Forked = await post(pathOf(sessionId, 'forks'), change);
  location.hash = encodeURIComponent(forkId);
}

async function send(sessionId: string, command: Command): Promise<void> {
  const { taken } = await post(pathOf(sessionId, 'commands'), command);
  if (taken !== true)
    throw new Error('The command had no effect: the session has ended, or another command arrived first.');
}

/** Loads a session from the server into a store and keeps it up to date. Returns a function that stops. */
export function follow(store: Store, sessionId: string): () => void {
  const source = new EventSource(pathOf(sessionId, 'tape'));
  store.set({
    live: {
      row: null,
      sessions: [],
      send: (command) => send(sessionId, command).catch((error) => store.set({ failure: String(error.message) })),
    },
  });
  source.onmessage = ({ data }) => {
    const piece: TapePiece = JSON.parse(data);
    if ('entries' in piece) {
      store.set({ redacted: piece.redacted });
      store.send({ type: 'entries', entries: [...piece.entries] });
    }
    if ('arriving' in piece) store.arrive(piece.arriving);
    if ('failure' in piece) {
      source.close();
      store.set({ failure: piece.failure });
    }
    if ('row' in piece && store.live !== null) store.set({ live: { ...store.live, row: piece.row } });
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) store.set({ failure: 'The server no longer shows this session.' });
  };
  let leaveSessions = () => {};
  const whenKnown = store.listen(() => {
    if (store.recorded.run === null) return;
    whenKnown();
    leaveSessions = followAll((news) => {
      const { live } = store;
      if (live === null || 'failure' in news) return;
      const gone = new Set([...news.gone, ...news.rows.map((row) => row.sessionId)]);
      const kept = live.sessions.filter((row) => !gone.has(row.sessionId));
      store.set({ live: { ...live, sessions: [...kept, ...news.rows.filter(isOfRun)] } });
    });
  });
  return () => {
    source.close();
    whenKnown();
    leaveSessions();
    store.close();
  };
}

function isOfRun({ metadata }: JournaledSession): boolean {
  return metadata.run !== undefined && metadata.role !== 'run';
}

/** Searches the sessions: what is found so far, and then, once all have been read, everything. */
export async function search(text: string, take: (found: Found | string) => void, signal: AbortSignal): Promise<void> {
  for (const whole of ['', '&whole=1']) {
    const response = await fetch(`search?q=${encodeURIComponent(text)}${whole}`, { signal });
    const answer = await response.json();
    const refused: string | undefined = response.ok ? answer.refused : String(answer.error);
    take(refused ?? answer);
    if (refused !== undefined || (answer.sessions > 0 && answer.indexed === answer.sessions)) return;
  }
}

/** What the server tells of its sessions: rows that are new or changed, and the ids of those that were deleted. */
export type News = { rows: JournaledSession[]; gone: string[] } | { failure: string };

/** Follows the list of sessions. Returns a function that stops. */
export function followAll(take: (news: News) => void): () => void {
  const source = new EventSource('sessions');
  source.onmessage = ({ data }) => take(JSON.parse(data));
  source.onerror = () => take({ failure: 'The server does not answer. The list may be out of date.' });
  return () => source.close();
}
