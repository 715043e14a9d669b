import { systemClock } from '../../../host/clock.ts';
import { decodedUri } from '../../../platform/text.ts';
import type { Store } from '../store.ts';

/** Where in a session the page stands: a line, a step (from 1), and what is shown of it. Null, or left out, as it opens. */
type View = { line: number | null; step: number | null; tab: string | null; shows: string | null };

/** How long a view stands before the address says it, in ms: a browser refuses many changes in a row. */
const settleMs = 300;

/** What the address names after the `#`: sessions, and where in one. */
export function readAddress(): { sessions: string[]; view: View } {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  const asked = new URLSearchParams(query);
  const number = (name: string, least: number) => {
    const value = Number(asked.get(name) ?? Number.NaN);
    return Number.isSafeInteger(value) && value >= least ? value : null;
  };
  return {
    sessions: path.split('/').map(decodedUri),
    view: { line: number('line', 0), step: number('step', 1), tab: asked.get('tab'), shows: asked.get('shows') },
  };
}

/**
 * Opens a session where its address says, and keeps the address as the view changes: a link to it leads there, a reload
 * stays, and the browser's back and forward go from line to line. Returns a function that stops.
 */
export function keepAddress(store: Store): () => void {
  const own = pathNow();
  if (queryOf(readAddress().view) !== '') takeView(store, readAddress().view);
  // What the address says may mean less than it says.
  let said = viewOf(store);
  const take = () => {
    if (pathNow() !== own) return;
    takeView(store, readAddress().view);
    said = viewOf(store);
  };
  let isDue = false;
  const write = () => {
    if (!isDue) return;
    isDue = false;
    const view = viewOf(store);
    const isSamePlace = view.line === said.line && view.tab === said.tab && view.shows === said.shows;
    if (pathNow() !== own || (isSamePlace && view.step === said.step)) return;
    said = view;
    const query = queryOf(view);
    const address = `#${own}${query === '' ? '' : `?${query}`}`;
    if (isSamePlace) history.replaceState(null, '', address);
    else history.pushState(null, '', address);
  };
  const stop = store.listen(() => {
    if (!isDue) systemClock.alarm(settleMs, write);
    isDue = true;
  });
  addEventListener('popstate', take);
  return () => {
    // What was changed a moment ago may not have been drawn yet.
    isDue = true;
    write();
    stop();
    removeEventListener('popstate', take);
  };
}

/** Where the page stands, as far as it is not as it opened. */
function viewOf({ chosen, follows, frame, tab, tabs, middle }: Store): View {
  return {
    line: chosen,
    step: follows || frame < 0 ? null : frame + 1,
    tab: tab === tabs[0] ? null : tab,
    shows: middle === 'time' ? null : middle,
  };
}

/** Shows what an address names; what it does not know is as the page opens. */
function takeView(store: Store, { line, step, tab, shows }: View): void {
  store.follows = step === null;
  store.frame = step === null ? store.recorded.microsteps.length - 1 : step - 1;
  store.chosen = line;
  store.middle = shows === 'machines' || shows === 'closed' ? shows : 'time';
  store.set({ tab: store.tabs.find((one) => one === tab) ?? store.tabs[0] ?? 'why' });
}

function pathNow(): string {
  return location.hash.replace(/^#/, '').split('?', 1)[0] ?? '';
}

function queryOf(view: View): string {
  const named = Object.entries(view).filter(([, value]) => value !== null);
  return new URLSearchParams(named.map(([name, value]) => [name, String(value)])).toString();
}
