import type { Usage } from '../../machines/index.ts';

/** US dollars for a million tokens. What is not given costs as much as `input` (for the cache) or is free. */
export type Price = { input: number; output: number; cacheRead?: number; cacheWrite?: number };

/** What a request cost, in US dollars; null when the target has no price. */
export function costOf(usage: Usage, price: Price | undefined): number | null {
  if (price === undefined) return null;
  const fresh = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite);
  const cached =
    usage.cacheRead * (price.cacheRead ?? price.input) + usage.cacheWrite * (price.cacheWrite ?? price.input);
  return (fresh * price.input + cached + usage.output * price.output) / 1_000_000;
}
