import { render } from 'preact';
import { Home } from './home.tsx';
import { InboxPage } from './inbox/inbox.tsx';
import { follow } from './live.ts';
import { unpacked } from './packed.ts';
import { keepAddress, readAddress } from './session/address.ts';
import { SessionPage } from './session/app.tsx';
import { ComparePage } from './session/compare.tsx';
import { Store } from './store.ts';
import { trustedUrl } from './trusted.ts';
import { runWorker } from './worker.ts';

/** The page and its worker are one script: a file has no other place for the worker's. */
if ('document' in globalThis) void show();
else runWorker(globalThis as unknown as Parameters<typeof runWorker>[0]);

async function show(): Promise<void> {
  const tape = document.getElementById('tape');
  if (tape === null) return showServed();
  const pictures = JSON.parse(await unpacked(blockOf('pictures')));
  const store = new Store(ownWorker, pictures);
  const { step, redacted, note = null } = tape.dataset;
  store.set({ redacted: Number(redacted ?? 0), note });
  if (step !== undefined) store.startAt(Number(step));
  shows(store);
  store.send({ type: 'file', file: blockOf('tape') });
}

/** The page of a server: all sessions, or the one that the address names after the `#`. */
async function showServed(): Promise<void> {
  const pictures = await (await fetch('pictures.json')).json();
  let leave = () => {};
  let before: string | null = null;
  const route = () => {
    const { sessions } = readAddress();
    // Elsewhere in the same session: the page goes there itself.
    if (before === sessions.join('/')) return;
    before = sessions.join('/');
    leave();
    leave = () => {};
    leaveView();
    const [place = '', ...ids] = sessions;
    if (place === 'inbox' && ids.length > 0) {
      render(<InboxPage />, document.body);
      return;
    }
    const stores = (ids.length === 0 ? [place] : ids).map((sessionId) => {
      const store = new Store(() => new Worker(trustedUrl('page.js')), pictures);
      return { store, start: () => follow(store, sessionId) };
    });
    const [one, other] = stores;
    if (place === '' || one === undefined) {
      render(<Home />, document.body);
      return;
    }
    if (other === undefined) shows(one.store);
    else render(<ComparePage one={one.store} other={other.store} />, document.body);
    const leaves = stores.map(({ start }) => start());
    leave = () => {
      for (const end of leaves) end();
    };
  };
  addEventListener('hashchange', route);
  route();
}

let shown = 0;
/** Ends what keeps the address of the session that is shown. */
let leaveView = () => {};

/** Shows a session, and whatever it leads to. */
function shows(store: Store): void {
  shown += 1;
  leaveView();
  leaveView = store.origin === null ? keepAddress(store) : leaveOnBack(store);
  store.show = shows;
  render(<SessionPage key={shown} store={store} />, document.body);
}

/** A change that was tried out is in no journal, so no address leads to it: the browser's Back and Forward leave it. */
function leaveOnBack(store: Store): () => void {
  const back = () => store.goBack();
  addEventListener('popstate', back);
  return () => removeEventListener('popstate', back);
}

function blockOf(id: string): string {
  return document.getElementById(id)?.textContent ?? '';
}

function ownWorker(): Worker {
  const source = document.getElementById('script')?.textContent ?? '';
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  return new Worker(trustedUrl(url), { name: 'replay' });
}
