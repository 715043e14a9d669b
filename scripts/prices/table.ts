/** Makes the table of prices of what `@pydantic/genai-prices` collects from the pages of the providers. */

type Match = { equals?: string; starts_with?: string; or?: Match[] };
type Tiers = { base: number; tiers: { price: number; start: number }[] };
type Rates = Record<string, number | Tiers | undefined>;
type Conditional = { constraint?: { type: string; start_date?: string }; prices: Rates };
type Published = {
  id: string;
  models: { id: string; deprecated?: boolean; match: Match; prices: Rates | Conditional[] }[];
};

import { undated } from '../../src/vocabulary/known-prices.ts';

/** The providers, by the names that targets have. */
const providers: Readonly<Record<string, string>> = {
  ...{ anthropic: 'anthropic', google: 'google', groq: 'groq', mistral: 'mistral', openai: 'openai' },
  'x-ai': 'xai',
};

/** Models that are not asked for replies of an agent. */
const others =
  /audio|realtime|tts|image|whisper|embed|moderation|transcri|vision|ocr|search|instruct$|^ada|babbage|davinci|curie/;

export type PriceRow = {
  name: string;
  input: number;
  output: number;
  cacheRead: number | null;
  cacheWrite: number | null;
  longContext: {
    above: number;
    input: number;
    output: number;
    cacheRead: number | null;
    cacheWrite: number | null;
  } | null;
};

/** Returns the rows of the well-known models as of a day (`2026-09-23`), by name. */
export function priceRows(published: readonly Published[], day: string): PriceRow[] {
  const rows = new Map<string, PriceRow>();
  for (const { id, models } of published) {
    const provider = providers[id];
    if (provider === undefined) continue;
    for (const model of models) {
      const rates = ratesAt(model.prices, day);
      if (rates === null || model.deprecated === true || others.test(model.id)) continue;
      const row = rowOf(rates);
      if (row === null) continue;
      for (const name of new Set([model.id, ...idsIn(model.match)])) {
        if (isForeign(provider, name)) continue;
        rows.set(`${provider}:${name}`, { name: `${provider}:${name}`, ...row });
      }
    }
  }
  const known = [...rows.values()].filter((row) => !isSameAs(rows.get(undated(row.name)), row));
  return known.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Whether a name is to be left out: another vendor's model, or a name of OpenAI or Anthropic that no request uses. */
function isForeign(provider: string, name: string): boolean {
  return (
    (provider === 'google' && !/^gem/.test(name)) ||
    // No request names these: a tuned model has an organization and an id.
    (provider === 'openai' && /(^|\.)ft[:-]/.test(name)) ||
    (provider === 'anthropic' && /\.|^claude-[2-9]-?[\d-]*-?[a-z]*$/.test(name) && !/^claude-3-/.test(name))
  );
}

/** A dated version without a row of its own costs what its name costs. */
function isSameAs(one: PriceRow | undefined, other: PriceRow): boolean {
  if (one === undefined || one === other) return false;
  return JSON.stringify({ ...one, name: '' }) === JSON.stringify({ ...other, name: '' });
}

function idsIn({ equals, starts_with: prefix, or = [] }: Match): string[] {
  return [equals, prefix, ...or.flatMap(idsIn)].flatMap(
    // A beginning that is cut off in the middle is no name.
    (id) => (id === undefined || /([-.@]|-20\d\d)$/.test(id) ? [] : [id]),
  );
}

/** The rates that hold on a day; null where they depend on the hour. */
function ratesAt(prices: Rates | Conditional[], day: string): Rates | null {
  if (!Array.isArray(prices)) return prices;
  if (prices.some(({ constraint }) => constraint?.type === 'time_of_date')) return null;
  const valid = prices.filter(({ constraint }) => (constraint?.start_date ?? '') <= day);
  return valid.at(-1)?.prices ?? null;
}

function rowOf(rates: Rates): Omit<PriceRow, 'name'> | null {
  const base = (name: string) => {
    const rate = rates[`${name}_mtok`];
    return typeof rate === 'object' ? rate.base : (rate ?? null);
  };
  const [input, output] = [base('input'), base('output')];
  if (input === null || output === null || input + output === 0) return null;
  const starts = ['input', 'output'].flatMap((name) => {
    const rate = rates[`${name}_mtok`];
    return typeof rate === 'object' ? rate.tiers.map(({ start }) => start) : [];
  });
  const above = starts.length === 0 ? null : Math.min(...starts);
  const beyond = (name: string) => {
    const rate = rates[`${name}_mtok`];
    return typeof rate === 'object' ? (rate.tiers.at(-1)?.price ?? rate.base) : (rate ?? null);
  };
  const caches = (of: (name: string) => number | null) => ({
    cacheRead: of('cache_read'),
    cacheWrite: of('cache_write'),
  });
  const longContext =
    above === null
      ? null
      : { above, input: beyond('input') ?? input, output: beyond('output') ?? output, ...caches(beyond) };
  return { input, output, ...caches(base), longContext };
}

/** Writes the source file. */
export function priceSource(rows: readonly PriceRow[], version: string, day: string): string {
  const lines = rows.map(({ name, input, output, cacheRead, cacheWrite, longContext: more }) => {
    const long = more === null ? [] : [more.above, more.input, more.output, more.cacheRead, more.cacheWrite];
    const cells = [name, input, output, cacheRead, cacheWrite, ...long];
    while (cells.at(-1) === null) cells.pop();
    return `  ${JSON.stringify(cells)},`;
  });
  return `// Made by \`npm run prices\` of @pydantic/genai-prices ${version}. Do not edit.

/** The day of the prices. */
export const pricesOf = '${day}';

/**
 * US dollars per million tokens: input, output, read from the cache, written to it; and from so many input tokens on, the
 * same again.
 */
export const priceRows: readonly (readonly [name: string, ...rates: (number | null)[]])[] = [
${lines.join('\n')}
];
`;
}
