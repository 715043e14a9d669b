import type { Usage } from '../../machines/index.ts';
import type { Price } from '../vocabulary/prices.ts';

/** Returns the cost of a request in US dollars; null if the target has no price. */
export function costOf(usage: Usage, price: Price | undefined): number | null {
  if (price === undefined) return null;
  const fresh = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite);
  const cached =
    usage.cacheRead * (price.cacheRead ?? price.input) + usage.cacheWrite * (price.cacheWrite ?? price.input);
  return (fresh * price.input + cached + usage.output * price.output) / 1_000_000;
}
