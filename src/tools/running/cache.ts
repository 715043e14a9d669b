import { z } from 'zod';
import { unlessAborted } from '../../host/deadline.ts';
import { check } from '../../input/check.ts';
import type { PawlErrorCode } from '../../input/errors.ts';
import { aFunction, hasMethods, milliseconds } from '../../input/shapes.ts';
import { inOrder, plainJson } from '../../platform/plain-json.ts';

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

/** A call whose value may be used again. */
export type CachedCall = {
  input: unknown;
  context: unknown;
  now: () => number;
  signal: AbortSignal;
  /** From its abort on, the call waits for no other. */
  alone?: AbortSignal;
  /** Hears how old the kept value is, in ms. */
  hit: (ageMs: number) => void;
  /** Hears of a store that throws, which fails no call. */
  told: (error: unknown) => void;
};

/** The values of one tool or sub-agent, which all sessions share. Calls with the same key that run at once are one. */
export class CachedTool {
  private readonly cache: ToolCache;
  private readonly store: CacheStore;
  private readonly name: readonly [string, string];
  private readonly flights = new Map<string, Promise<unknown>>();

  /** `name` tells it from others in the same store. Throws `code` for a cache that cannot be, by its `field`. */
  constructor(
    name: readonly [kind: 'tool' | 'agent', name: string],
    given: ToolCache,
    field: string,
    code: PawlErrorCode,
  ) {
    check<unknown>(cacheSchema, given, field, code);
    this.name = name;
    this.cache = given;
    this.store = given.store ?? memoryCache();
  }

  /** Returns the value that is kept for an input, or makes it. */
  async value(
    { input, context, now, signal, alone, hit, told }: CachedCall,
    make: () => Promise<unknown>,
  ): Promise<unknown> {
    const key = this.keyOf(input, context);
    if (key === null) return make();
    for (;;) {
      const kept = await this.keptFor(key, told);
      signal.throwIfAborted();
      const ageMs = kept === undefined ? Number.POSITIVE_INFINITY : now() - kept.at;
      if (kept !== undefined && ageMs >= 0 && ageMs < this.cache.ttlMs) {
        hit(ageMs);
        return kept.value;
      }
      const flight = this.flights.get(key);
      if (flight === undefined || alone?.aborted === true) return this.fly(key, { now, signal, told }, make);
      // Another call makes it. If that fails, or is aborted, this one has its own try.
      const made = flight.then(
        (value) => ({ value }),
        () => null,
      );
      const joined = await unlessAborted(
        signal,
        alone === undefined ? made : unlessAborted(alone, made).catch(() => null),
      );
      if (joined === null) continue;
      hit(0);
      return joined.value;
    }
  }

  /** What cannot be read is made again. */
  private async keptFor(key: string, told: CachedCall['told']): Promise<CachedValue | undefined> {
    try {
      return await this.store.get(key);
    } catch (error) {
      told(error);
      return undefined;
    }
  }

  private async fly(
    key: string,
    { now, signal, told }: Pick<CachedCall, 'now' | 'signal' | 'told'>,
    make: () => Promise<unknown>,
  ): Promise<unknown> {
    // An aborted run does not hold up those that wait for it, even if it never ends.
    const flight = unlessAborted(signal, make());
    this.flights.set(key, flight);
    try {
      const value = await flight;
      // Only what JSON can hold is the same later.
      if (value !== undefined) {
        const store = async () => this.store.set(key, { value: plainJson(value), at: now() }, this.cache.ttlMs);
        await store().catch(told);
      }
      return value;
    } finally {
      if (this.flights.get(key) === flight) this.flights.delete(key);
    }
  }

  private keyOf(input: unknown, context: unknown): string | null {
    const { key } = this.cache;
    if (key !== undefined) return JSON.stringify([...this.name, key(input, context)]);
    return context === undefined ? JSON.stringify([...this.name, input], inOrder) : null;
  }
}
