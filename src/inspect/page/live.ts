import { systemClock } from '../../host/clock.ts';
import type { JournaledSession } from '../../journal/journal.ts';
import type { Forked } from '../live/fork.ts';
import type { InboxCall, InboxList } from '../live/inbox.ts';
import type { TapePiece } from '../live/live-tape.ts';
import type { Found, SessionSummary } from '../live/search.ts';
import type { DeliveryChange } from '../study/what-if.ts';
import type { Command } from './protocol.ts';
import type { Store } from './store.ts';

const token = () => document.querySelector('meta[name="pawl-token"]')?.getAttribute('content') ?? '';

const pathOf = (sessionId: string, what: string) => `sessions/${encodeURIComponent(sessionId)}/${what}`;

/** Where a server has a session as one file. */
export const fileAddress = (sessionId: string) => pathOf(sessionId, 'file');

async function asked(path: string, init: RequestInit = {}) {
  const response = await fetch(path, init).catch(() => {
    throw new Error('The server does not answer.');
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function post(path: string, body: unknown) {
  const headers = { 'content-type': 'application/json', 'x-pawl-token': token() };
  return asked(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Forks the session at a change, and shows the fork. */
export async function fork(sessionId: string, change: DeliveryChange): Promise<void> {
  const { sessionId: forkId }: Forked = await post(pathOf(sessionId, 'forks'), change);
  location.hash = encodeURIComponent(forkId);
}

async function send(sessionId: string, command: Command): Promise<void> {
  const { taken } = await post(pathOf(sessionId, 'commands'), command);
  if (taken !== true)
    throw new Error('The command had no effect: the session has ended, or another command arrived first.');
}

/** The calls that wait for a person, of one session or of all. */
export function inbox(sessionId: string | null): Promise<InboxList> {
  return asked(sessionId === null ? 'inbox' : `inbox?session=${encodeURIComponent(sessionId)}`);
}

/** Decides a call that was shown. Resolves with false if it no longer waits, or is not as it was shown. */
export async function decide(
  { sessionId, madeBy, callId, shown }: InboxCall,
  decision: { approved: boolean; reason?: string },
): Promise<boolean> {
  const { taken } = await post('inbox', { sessionId, madeBy, callId, shown, ...decision });
  return taken === true;
}

/** How long to wait before the server is looked for again, in ms. */
const awayMs = 2_000;

/**
 * Reads a stream of the server while the page is visible: a browser opens at most six connections to one server, for all
 * of its pages. What comes after a pause follows what came before it. Returns a function that ends it.
 */
function whileVisible<Piece>(
  path: string,
  take: (piece: Piece, end: () => void) => void,
  connected: (state: 'open' | 'away' | 'refused') => void,
): () => void {
  let source: EventSource | null = null;
  let isOver = false;
  let last = '';
  let refusals = 0;
  const pause = () => {
    source?.close();
    source = null;
  };
  const end = () => {
    isOver = true;
    pause();
    document.removeEventListener('visibilitychange', change);
  };
  const change = () => {
    if (document.hidden || isOver) return pause();
    if (source !== null) return;
    const own = new EventSource(last === '' ? path : `${path}?after=${last}`);
    source = own;
    own.onopen = () => {
      refusals = 0;
      connected('open');
    };
    own.onmessage = ({ data, lastEventId }) => {
      last = lastEventId || last;
      take(JSON.parse(data), end);
    };
    own.onerror = () => {
      connected('away');
      // A browser gives up if there is no server, or if it refuses. It does not say which.
      if (own.readyState === EventSource.CLOSED && source === own) void lookAgain();
    };
  };
  const lookAgain = async () => {
    pause();
    const answers = await fetch(path, { method: 'HEAD' }).then(
      () => true,
      () => false,
    );
    // Meanwhile the page may have been hidden and shown again, or left.
    if (isOver || source !== null) return;
    refusals = answers ? refusals + 1 : 0;
    if (refusals < 2) {
      systemClock.alarm(awayMs, change);
      return;
    }
    end();
    connected('refused');
  };
  document.addEventListener('visibilitychange', change);
  change();
  return end;
}

/** Loads a session from the server into a store and keeps it up to date. Returns a function that stops. */
export function follow(store: Store, sessionId: string): () => void {
  store.set({
    live: {
      row: null,
      isAway: false,
      sessions: [],
      send: (command) => send(sessionId, command).catch((error) => store.set({ failure: String(error.message) })),
    },
  });
  const connected = (state: 'open' | 'away' | 'refused') => {
    if (state === 'refused') store.set({ failure: 'The server no longer shows this session.' });
    if (store.live !== null) store.set({ live: { ...store.live, isAway: state === 'away' } });
  };
  const take = (piece: TapePiece, end: () => void) => {
    if ('entries' in piece) {
      store.set({ redacted: piece.redacted });
      store.send({ type: 'entries', entries: [...piece.entries] });
    }
    if ('arriving' in piece) store.arrive(piece.arriving);
    if ('failure' in piece) {
      end();
      store.set({ failure: piece.failure });
    }
    if ('row' in piece && store.live !== null) store.set({ live: { ...store.live, row: piece.row } });
  };
  const leave = whileVisible(pathOf(sessionId, 'tape'), take, connected);
  let leaveSessions = () => {};
  const whenKnown = store.listen(() => {
    if (store.recorded.run === null) return;
    whenKnown();
    leaveSessions = followAll((news) => {
      const { live } = store;
      if (live === null || 'failure' in news) return;
      const gone = new Set([...news.gone, ...news.rows.map((row) => row.sessionId)]);
      const kept = news.isWhole ? [] : live.sessions.filter((row) => !gone.has(row.sessionId));
      store.set({ live: { ...live, sessions: [...kept, ...news.rows.filter(isOfRun)] } });
    });
  });
  return () => {
    leave();
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

/**
 * What the server tells of its sessions: rows that are new or changed, and the ids of those that were deleted. `isWhole`:
 * these are all rows.
 */
export type News =
  | { rows: JournaledSession[]; gone: string[]; isWhole: boolean; about?: SessionSummary[] }
  | { failure: string };

/** Follows the list of sessions. Returns a function that stops. */
export function followAll(take: (news: News) => void, path = 'sessions'): () => void {
  let isTold = false;
  const taken = (news: News) => {
    isTold = 'failure' in news;
    take(news);
  };
  return whileVisible(path, taken, (state) => {
    // The server may have said what is wrong.
    if (state !== 'open' && !isTold) take({ failure: 'The server does not answer. The list may be out of date.' });
  });
}
