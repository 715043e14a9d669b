import { render } from 'preact';
import { Home } from './home.tsx';
import { follow } from './live.ts';
import { unpacked } from './packed.ts';
import { SessionPage } from './session/app.tsx';
import { Store } from './store.ts';
import { trustedUrl } from './trusted.ts';
import { work } from './worker.ts';

/** The page and its worker are one script: a file has no other place for the worker's. */
if ('document' in globalThis) void show();
else work(globalThis as unknown as Parameters<typeof work>[0]);

async function show(): Promise<void> {
  const tape = document.getElementById('tape');
  if (tape === null) return serve();
  const pictures = JSON.parse(await unpacked(blockOf('pictures')));
  const store = new Store(ownWorker(), pictures);
  const { step } = tape.dataset;
  if (step !== undefined) store.startAt(Number(step));
  render(<SessionPage store={store} />, document.body);
  store.send({ type: 'file', file: blockOf('tape') });
}

/** The page of a server: all sessions, or the one that the address names after the `#`. */
async function serve(): Promise<void> {
  const pictures = await (await fetch('/pictures.json')).json();
  let leave = () => {};
  const route = () => {
    leave();
    leave = () => {};
    const sessionId = decodeURIComponent(location.hash.replace(/^#\/?/, ''));
    if (sessionId === '') {
      render(<Home />, document.body);
      return;
    }
    const store = new Store(new Worker(trustedUrl('/page.js')), pictures);
    render(<SessionPage key={sessionId} store={store} />, document.body);
    leave = follow(store, sessionId);
  };
  addEventListener('hashchange', route);
  route();
}

function blockOf(id: string): string {
  return document.getElementById(id)?.textContent ?? '';
}

function ownWorker(): Worker {
  const source = document.getElementById('script')?.textContent ?? '';
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  return new Worker(trustedUrl(url), { name: 'replay' });
}
