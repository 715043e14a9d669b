import { priceRows } from './price-table.ts';
import type { Price } from './prices.ts';

let table: Map<string, (typeof priceRows)[number]> | null = null;

/** Returns the price of a well-known model, by its target name, as of the day of the table; undefined for another. */
export function knownPrice(target: string): Price | undefined {
  table ??= new Map(priceRows.map((row) => [row[0], row]));
  // A second target of the same model has a number.
  const name = target.replace(/#\d+$/, '');
  const row = table.get(name) ?? table.get(undated(name));
  if (row === undefined) return undefined;
  const [, input = 0, output = 0, cacheRead, cacheWrite, above, ...more] = row;
  const rates = ratesOf([input, output, cacheRead, cacheWrite]);
  return above == null ? rates : { ...rates, longContext: { above, ...ratesOf(more) } };
}

/** The name of a model without the date of its version: `gpt-5` for `gpt-5-2025-08-07`, and for `gpt-5-latest`. */
export function undated(name: string): string {
  return name.replace(/-(\d{4}-\d{2}-\d{2}|\d{8}|latest)$/, '');
}

function ratesOf([input, output, cacheRead, cacheWrite]: readonly (number | null | undefined)[]) {
  return {
    input: input ?? 0,
    output: output ?? 0,
    ...(cacheRead != null && { cacheRead }),
    ...(cacheWrite != null && { cacheWrite }),
  };
}
