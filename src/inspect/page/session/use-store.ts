import { useLayoutEffect, useState } from 'preact/hooks';
import type { Store } from '../store.ts';

/** Renders again whenever the store changes. An effect after the frame would miss a change before it. */
export function useStore(store: Store): void {
  const [, draw] = useState(0);
  useLayoutEffect(() => store.listen(() => draw((count) => count + 1)), [store]);
}
