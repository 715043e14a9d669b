import type { JournaledSession } from '../../journal/journal.ts';
import type { Forked } from '../live/fork.ts';
import type { TapePiece } from '../live/live-tape.ts';
import type { Change } from '../study/what-if.ts';
import type { Command, Store } from './store.ts';

const token = () => document.querySelector('meta[name="pawl-token"]')?.getAttribute('content') ?? '';

const pathOf = (sessionId: string, what: string) => `/sessions/${encodeURIComponent(sessionId)}/${what}`;

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

/** Makes a session of its own of a change, and shows it. */
export async function fork(sessionId: string, change: Change): Promise<void> {
  const { sessionId: forkId }: Forked = await post(pathOf(sessionId, 'forks'), change);
  location.hash = encodeURIComponent(forkId);
}

async function send(sessionId: string, command: Command): Promise<void> {
  const { taken } = await post(pathOf(sessionId, 'commands'), command);
  if (taken !== true) throw new Error('The session did not take it: it has ended, or another was faster.');
}

/** Shows a session of the server in a store, as it goes on. Returns how to leave. */
export function follow(store: Store, sessionId: string): () => void {
  const source = new EventSource(pathOf(sessionId, 'tape'));
  store.set({
    live: {
      row: null,
      send: (command) => send(sessionId, command).catch((error) => store.set({ failure: String(error.message) })),
    },
  });
  source.onmessage = ({ data }) => {
    const piece: TapePiece = JSON.parse(data);
    if ('entries' in piece) store.send({ type: 'entries', entries: [...piece.entries] });
    if ('delta' in piece) store.stream(piece.scope, piece.delta);
    if ('failure' in piece) store.set({ failure: piece.failure });
    if ('row' in piece && store.live !== null) store.set({ live: { ...store.live, row: piece.row } });
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) store.set({ failure: 'The server no longer shows this session.' });
  };
  return () => {
    source.close();
    store.close();
  };
}

/** Hears of the sessions of the server, and of those that change. Returns how to stop. */
export function followAll(take: (rows: JournaledSession[]) => void): () => void {
  const source = new EventSource('/sessions');
  source.onmessage = ({ data }) => take(JSON.parse(data).rows);
  return () => source.close();
}
