import { z } from 'zod';
import { unlessAborted } from '../../host/deadline.ts';
import { check } from '../../input/check.ts';
import type { PawlErrorCode } from '../../input/errors.ts';
import { aFunction, hasMethods, milliseconds } from '../../input/shapes.ts';
import { isRecord, plainJson } from '../../platform/plain-json.ts';

/** A value of a tool that was kept, and when that was (epoch ms). */
export type CachedValue = { value: unknown; at: number };

/** Where values are kept. What it does not have, or forgets, is made again. */
export type CacheStore = {
  get(key: string): Promise<CachedValue | undefined> | CachedValue | undefined;
  /** Keeps a value for `ttlMs`; it may forget it earlier. */
  set(key: string, kept: CachedValue, ttlMs: number): Promise<void> | void;
};

/** Whether, and how, a tool's values are used again (C-9). Failures never are. */
export type ToolCache = {
  /** How long a value is used, in ms. */
  ttlMs: number;
  /**
   * What a value belongs to. Default: the input. Without it, nothing is kept in a session with a `context`, on which the
   * value may depend.
   */
  key?(input: unknown, context: unknown): string;
  /** Default: in the memory of this process, the latest 1,000 of the tool. */
  store?: CacheStore;
};

const cacheSchema = z.strictObject({
  ttlMs: milliseconds,
  key: aFunction.optional(),
  store: z
    .custom<CacheStore>((value) => hasMethods(value, 'get', 'set'), { error: 'a store: { get, set }' })
    .optional(),
} satisfies Record<keyof ToolCache, z.ZodType>);

const mostKept = 1_000;

/** Keeps the latest values in memory. */
function memoryCache(): CacheStore {
  const kept = new Map<string, CachedValue>();
  return {
    get: (key) => kept.get(key),
    set: (key, value) => {
      kept.delete(key);
      kept.set(key, value);
      const [oldest] = kept.keys();
      if (kept.size > mostKept && oldest !== undefined) kept.delete(oldest);
    },
  };
}

/** The values of one tool or sub-agent, which all sessions share. Calls with the same key that run at once are one. */
export class CachedTool {
  private readonly cache: ToolCache;
  private readonly store: CacheStore;
  private readonly name: string;
  private readonly flights = new Map<string, Promise<unknown>>();

  /** Throws `code` for a cache that cannot be, by its `field`. */
  constructor(name: string, given: ToolCache, field: string, code: PawlErrorCode) {
    check<unknown>(cacheSchema, given, field, code);
    this.name = name;
    this.cache = given;
    this.store = given.store ?? memoryCache();
  }

  /** Returns the value that is kept for an input, or makes it. `hit` is told how old a kept one is, in ms. */
  async value(
    { input, context, now, signal }: { input: unknown; context: unknown; now: () => number; signal: AbortSignal },
    make: () => Promise<unknown>,
    hit: (ageMs: number) => void,
  ): Promise<unknown> {
    const key = this.keyOf(input, context);
    if (key === null) return make();
    for (;;) {
      const kept = await this.store.get(key);
      const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : now() - kept.at;
      if (kept !== undefined && ageMs >= 0 && ageMs < this.cache.ttlMs) {
        hit(ageMs);
        return kept.value;
      }
      const flight = this.flights.get(key);
      // One that is cut off keeps nobody waiting, even if it never ends.
      if (flight === undefined) return this.fly(key, now, () => unlessAborted(signal, make()));
      // Another call makes it. If that fails, or is aborted, this one has its own try.
      const made = await flight.then(
        (value) => ({ value }),
        () => null,
      );
      if (made !== null) {
        hit(0);
        return made.value;
      }
    }
  }

  private async fly(key: string, now: () => number, make: () => Promise<unknown>): Promise<unknown> {
    const flight = make();
    this.flights.set(key, flight);
    try {
      const value = await flight;
      // Only what JSON can hold is the same later.
      if (value !== undefined) await this.store.set(key, { value: plainJson(value), at: now() }, this.cache.ttlMs);
      return value;
    } finally {
      this.flights.delete(key);
    }
  }

  private keyOf(input: unknown, context: unknown): string | null {
    if (this.cache.key !== undefined) return `${this.name} ${this.cache.key(input, context)}`;
    return context === undefined ? `${this.name} ${JSON.stringify(input, inOrder)}` : null;
  }
}

function inOrder(_: string, value: unknown): unknown {
  return isRecord(value)
    ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
    : value;
}
