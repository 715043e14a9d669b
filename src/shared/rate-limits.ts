/** What a provider's response says of what is left of one of its rate limits. `resetAt` is epoch ms. */
export type Quota = {
  left: number;
  resetAt: number;
  /** The whole limit, if it refills bit by bit until `resetAt`; null if it is restored at once then. */
  refillsTo: number | null;
};

/** What is left of a target's rate limits; null for what a response does not say. */
export type RateLimits = { requests: Quota | null; tokens: Quota | null };

/** How providers name their headers: of which limit, and whether it refills bit by bit, as a bucket does. */
const families: readonly { kind: keyof RateLimits; left: string; reset: string; limit: string; isBucket: boolean }[] = [
  ...(['requests', 'tokens'] as const).flatMap((kind) => [
    {
      ...{ kind, left: `x-ratelimit-remaining-${kind}`, reset: `x-ratelimit-reset-${kind}` },
      ...{ limit: `x-ratelimit-limit-${kind}`, isBucket: true },
    },
    {
      ...{ kind, left: `anthropic-ratelimit-${kind}-remaining`, reset: `anthropic-ratelimit-${kind}-reset` },
      ...{ limit: `anthropic-ratelimit-${kind}-limit`, isBucket: true },
    },
  ]),
  ...['x-ratelimit', 'ratelimit'].map((name) => {
    const kind = 'requests' as const;
    return { kind, left: `${name}-remaining`, reset: `${name}-reset`, limit: `${name}-limit`, isBucket: false };
  }),
];

/** Reads the rate-limit headers of a response (P-7). `now` is epoch ms. What has no known form is as if it were not there. */
export function rateLimitsIn(headers: Readonly<Record<string, string>>, now: number): RateLimits {
  const limits: RateLimits = { requests: null, tokens: null };
  let lower: Map<string, string> | null = null;
  for (const name in headers) {
    if (!/ratelimit/i.test(name)) continue;
    lower ??= new Map(Object.entries(headers).map(([key, value]) => [key.toLowerCase(), value]));
  }
  if (lower === null) return limits;
  for (const { kind, left, reset, limit, isBucket } of families) {
    const remaining = Number(lower.get(left) ?? Number.NaN);
    const resetAt = timeOf(lower.get(reset) ?? '', now);
    if (limits[kind] !== null || !Number.isFinite(remaining) || remaining < 0 || resetAt === null) continue;
    const whole = Number(lower.get(limit) ?? Number.NaN);
    limits[kind] = { left: remaining, resetAt, refillsTo: isBucket && whole > remaining ? whole : null };
  }
  return limits;
}

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Returns the time (epoch ms) that a header states: `1m30.5s`, `120ms`, seconds, a time in s or ms, a date; null for another. */
function timeOf(text: string, now: number): number | null {
  const given = text.trim();
  if (/^\d+(\.\d+)?$/.test(given)) {
    const number = Number(given);
    // What is larger than any delay is a time.
    if (number > 1e11) return number;
    return number > 1e9 ? number * 1_000 : now + number * 1_000;
  }
  if (/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(given)) {
    const parts = [...given.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
    return now + parts.reduce((sum, [, count, unit = 'ms']) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
  }
  const date = /\d:\d\d/.test(given) ? Date.parse(given) : Number.NaN;
  return Number.isNaN(date) ? null : date;
}
