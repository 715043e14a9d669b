import { framesOf } from '../../study/rules.ts';
import { failureFrom, stepFrom } from '../../study/steps.ts';
import type { Store } from '../store.ts';

/** The page's keys, as its help lists them. */
export const keyHelp: readonly [string, string][] = [
  ['← →', 'one step back or forward'],
  ['Shift ← →', 'one attempt; in a run, one item'],
  ['Alt ← →', 'one turn; in a run, one item'],
  ['Home End', 'the beginning, the end'],
  ['n p', 'next failure, previous failure'],
  ['↑ ↓ Enter', 'in the list: another line, fold and unfold'],
  ['/', 'find a text in the session'],
  ['z', 'the time of the chosen line alone, and all again'],
  ['1 – 9, 0', 'the details, in the order of their tabs'],
  ['r', 'the next step of the marked rule'],
  ['?', 'this list'],
];

/** Acts on a key. Returns whether it was one of the page's. */
export function takeKey(store: Store, event: KeyboardEvent): boolean {
  const { recorded, frame } = store;
  const isTyping = event.target instanceof HTMLInputElement && event.target.type !== 'range';
  if (isTyping || event.target instanceof HTMLTextAreaElement || event.ctrlKey || event.metaKey) return false;
  const tab = /^\d$/.test(event.key) ? store.tabs[(Number(event.key) + 9) % 10] : undefined;
  if (tab !== undefined) {
    store.open({ tab });
    return true;
  }
  switch (event.key) {
    case 'ArrowLeft':
    case 'ArrowRight': {
      if (event.target instanceof HTMLSelectElement) return false;
      const [small, large] = store.kind === 'run' ? (['item', 'item'] as const) : (['attempt', 'turn'] as const);
      const unit = event.shiftKey ? small : event.altKey ? large : store.unit;
      store.go(stepFrom(recorded, frame, unit, event.key === 'ArrowRight' ? 1 : -1));
      return true;
    }
    case 'Home':
      store.go(0);
      return true;
    case 'End':
      store.go(recorded.microsteps.length - 1);
      return true;
    case 'n':
    case 'p': {
      const to = failureFrom(recorded, frame, event.key === 'n' ? 1 : -1);
      if (to !== null) store.go(to);
      return true;
    }
    case 'r': {
      if (store.rule === null) return false;
      const frames = framesOf(recorded, store.pictures, store.rule);
      const to = frames.find((one) => one > frame) ?? frames[0];
      if (to !== undefined) store.go(to);
      return true;
    }
    case '/':
      document.getElementById('find')?.focus();
      return true;
    case '?':
      store.set({ showsHelp: !store.showsHelp });
      return true;
    case 'Escape':
      store.set({ showsHelp: false });
      return true;
    default:
      return false;
  }
}
