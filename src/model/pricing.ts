import type { Usage } from '../../machines/index.ts';
import { isRecord } from '../platform/plain-json.ts';
import type { Price } from '../vocabulary/prices.ts';

/** Returns the cost of a request in US dollars; null if the target has no price. */
export function costOf(usage: Usage, price: Price | undefined): number | null {
  if (price === undefined) return null;
  const { longContext } = price;
  const rates = longContext !== undefined && usage.input > longContext.above ? longContext : price;
  const { input, output, cacheRead = input, cacheWrite = input, reasoning = output } = rates;
  const fresh = Math.max(0, usage.input - usage.cacheRead - usage.cacheWrite);
  const thought = Math.min(usage.reasoning, usage.output);
  const cached = usage.cacheRead * cacheRead + usage.cacheWrite * cacheWrite;
  return (fresh * input + cached + (usage.output - thought) * output + thought * reasoning) / 1_000_000;
}

/** Where providers and gateways state what a request cost, in US dollars: in the usage, or in the metadata of its end. */
const places: readonly { in: 'usage' | 'metadata'; at: readonly string[]; per?: number }[] = [
  { in: 'metadata', at: ['gateway', 'cost'] },
  { in: 'metadata', at: ['openrouter', 'usage', 'cost'] },
  { in: 'usage', at: ['cost'] },
  { in: 'usage', at: ['cost', 'total_cost'] },
  // xAI counts in ten billionths.
  { in: 'usage', at: ['cost_in_usd_ticks'], per: 1e10 },
];

/** Returns what the provider itself says that a request cost, in US dollars; null if it does not say. */
export function statedCost(usage: unknown, metadata: unknown): number | null {
  for (const { in: where, at, per = 1 } of places) {
    let value: unknown = where === 'usage' ? usage : metadata;
    for (const name of at) value = isRecord(value) ? value[name] : undefined;
    const amount = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof amount === 'number' && Number.isFinite(amount) && amount >= 0) return amount / per;
  }
  return null;
}
