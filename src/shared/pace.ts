import { z } from 'zod';
import { count } from '../input/shapes.ts';
import type { Quota, RateLimits } from './rate-limits.ts';

/** What a gate is given; null for no limit. */
export type GateLimits = {
  /** Requests in flight. */
  concurrency: number | null;
  requestsPerMinute: number | null;
  /** Input and output tokens together. */
  tokensPerMinute: number | null;
};

const limit = count.nullable().default(null);

export const gateLimitsSchema = z.strictObject({
  concurrency: limit,
  requestsPerMinute: limit,
  tokensPerMinute: limit,
} satisfies Record<keyof GateLimits, z.ZodType>);

export const noGateLimits: GateLimits = { concurrency: null, requestsPerMinute: null, tokensPerMinute: null };

/** A request that went out. `tokens` is an estimate until its provider has counted them. */
export type Sent = {
  readonly at: number;
  readonly number: number;
  tokens: number;
  /** The tokens of all requests so far, with its own. */
  readonly upTo: number;
  isRefused: boolean;
};

/** At first contact, so many requests are in flight at most (P-7d). */
const firstRoom = 12;
/** Refusals come at once: what is not refused for so long is taken. */
const provenMs = 1_000;
const minuteMs = 60_000;
/** Without a refusal for so long, what was learnt from refusals is forgotten. */
const forgetMs = 5 * minuteMs;
/** A rate is that of at least so many requests, if there were so many. */
const fewestSeen = 8;
const mostBackoffMs = 60_000;

/** How fast a target may be asked: by its limits, its refusals and what its responses say of its limits (P-7). */
export class Pace {
  limits: Readonly<GateLimits>;
  /** Nothing is sent before this time, in epoch ms. */
  private closedUntil = 0;
  /** How many requests may be in flight. */
  private room: number;
  /** So many requests in any period of `ms`, as learnt from a refusal; null without one. */
  private rate: { count: number; ms: number } | null = null;
  private lookBackMs = 0;
  private refusedAt = 0;
  private refusals = 0;
  /** How many full periods without a refusal let one more request through, and how many there were. */
  private patience = 4;
  private calm = { periods: 0, since: 0 };
  private readonly quotas: Record<keyof RateLimits, (Quota & { asOf: number }) | null> = {
    requests: null,
    tokens: null,
  };
  /** The latest request whose response said what is left. */
  private latest = 0;
  private count = 0;
  private tokens = 0;
  /** The requests of the last minute at least, from `first` on. */
  private sent: Sent[] = [];
  private first = 0;

  constructor(limits: GateLimits) {
    this.limits = limits;
    this.room = limits.concurrency ?? firstRoom;
  }

  /** Lowers the limits to those that another agent has for the same target. */
  narrow(limits: GateLimits): void {
    const least = (name: keyof GateLimits) => {
      const [own, other] = [this.limits[name], limits[name]];
      return own === null || other === null ? (own ?? other) : Math.min(own, other);
    };
    this.limits = {
      concurrency: least('concurrency'),
      requestsPerMinute: least('requestsPerMinute'),
      tokensPerMinute: least('tokensPerMinute'),
    };
  }

  /** Whether the limits that it was given make everybody ask. */
  get isGiven(): boolean {
    const { concurrency, requestsPerMinute, tokensPerMinute } = this.limits;
    return concurrency !== null || requestsPerMinute !== null || tokensPerMinute !== null;
  }

  /** Whether it holds back more than those that are in flight. */
  isNarrow(now: number): boolean {
    if (this.rate !== null && now - this.refusedAt > forgetMs) this.forget();
    return this.isGiven || this.rate !== null || this.closedUntil > now || this.quotaOpensAt(now, 0) > now;
  }

  /** When the next request may go out (epoch ms, or `now`); `Infinity` if one in flight must end first. */
  opensAt(now: number, inFlight: number, tokens: number): number {
    if (inFlight >= (this.limits.concurrency ?? Number.POSITIVE_INFINITY)) return Number.POSITIVE_INFINITY;
    const roomAt = inFlight < this.room ? now : this.roomAt(now, inFlight);
    const { requestsPerMinute, tokensPerMinute } = this.limits;
    let at = Math.max(roomAt, this.closedUntil, this.quotaOpensAt(now, tokens));
    if (requestsPerMinute !== null) at = Math.max(at, this.freeAt(now, minuteMs, requestsPerMinute));
    if (tokensPerMinute !== null) at = Math.max(at, this.tokensFreeAt(now, tokensPerMinute, tokens));
    if (this.rate !== null) at = Math.max(at, this.freeAt(now, this.rate.ms, this.rate.count));
    return at;
  }

  /** For how many ms nothing is sent. */
  closedFor(now: number): number {
    return Math.max(0, this.closedUntil - now);
  }

  /** Notes a request that goes out. */
  send(now: number, tokens: number): Sent {
    this.note(1, tokens);
    const one = { at: now, number: this.count, tokens, upTo: this.tokens, isRefused: false };
    this.expire(now);
    this.sent.push(one);
    return one;
  }

  private note(requests: number, tokens: number): void {
    this.count += requests;
    this.tokens += tokens;
    if (this.quotas.requests !== null) this.quotas.requests.left -= requests;
    if (this.quotas.tokens !== null) this.quotas.tokens.left -= tokens;
  }

  /** A request goes out later than its place was taken: until now, the target could neither take nor refuse it. */
  begun(one: Sent, now: number): Sent {
    if (now - one.at < provenMs) return one;
    one.isRefused = true;
    this.note(-1, -one.tokens);
    return this.send(now, one.tokens);
  }

  /** The target took a request: it may get one more at once, and its response says what is left. */
  accepted(one: Sent, limits: RateLimits, now: number): void {
    this.refusals = 0;
    this.room += 1;
    this.grow(now);
    this.learn(one, limits, now);
  }

  /** The target refused a request, and will take another once `retryAfterMs` have passed; null if it does not say. */
  refused(one: Sent, retryAfterMs: number | null, inFlight: number, limits: RateLimits, now: number): void {
    one.isRefused = true;
    const isNew = now >= this.closedUntil;
    if (isNew) {
      this.refusals += 1;
      this.lookBackMs = this.rate?.ms ?? 0;
      if (this.rate !== null) this.patience = Math.min(64, this.patience * 2);
    }
    const waitMs = retryAfterMs ?? Math.min(mostBackoffMs, 1_000 * 2 ** (this.refusals - 1));
    this.closedUntil = Math.max(this.closedUntil, now + waitMs);
    this.room = Math.max(1, inFlight);
    this.rate = this.learntRate(now, Math.max(waitMs, this.lookBackMs));
    this.calm = { periods: 0, since: this.closedUntil };
    this.refusedAt = now;
    this.learn(one, limits, now);
  }

  /**
   * What was taken in the time before a refusal is what is taken in that time and the pause that follows. The time is as
   * long as the pause, and holds some requests, unless there was nothing to send for long.
   */
  private learntRate(now: number, lookBackMs: number): { count: number; ms: number } {
    let taken = 0;
    let earliest = now;
    for (let index = this.sent.length - 1; index >= this.first; index -= 1) {
      const one = this.sent[index];
      if (one === undefined || earliest - one.at > 4 * lookBackMs) break;
      if (taken >= fewestSeen && one.at <= now - lookBackMs) break;
      earliest = one.at;
      if (!one.isRefused) taken += 1;
    }
    const ms = this.closedUntil - earliest;
    // Clocks and ways differ: what comes too early by a hair is refused again.
    return { count: Math.max(1, taken), ms: Math.min(minuteMs, ms + Math.max(25, ms * 0.05)) };
  }

  /** How many requests may be in flight, as far as is known. */
  get places(): number {
    return this.limits.concurrency ?? this.room;
  }

  /** When more may be in flight: twice as many once the last one is taken, but only one more after a refusal. */
  private roomAt(now: number, inFlight: number): number {
    const provenAt = (this.sent.findLast(({ isRefused }) => !isRefused)?.at ?? now) + provenMs;
    if (provenAt > now) return provenAt;
    this.room = this.rate === null ? 2 * inFlight : inFlight + 1;
    return now;
  }

  private forget(): void {
    this.rate = null;
    this.patience = 4;
  }

  /** After some full periods without a refusal, one more request goes out in each. */
  private grow(now: number): void {
    const { rate, calm } = this;
    if (rate === null || now - calm.since < rate.ms) return;
    calm.since = now;
    calm.periods += 1;
    if (calm.periods < this.patience) return;
    calm.periods = 0;
    rate.count += 1;
  }

  private learn(one: Sent, limits: RateLimits, now: number): void {
    // Responses may overtake each other.
    if (one.number < this.latest) return;
    for (const kind of ['requests', 'tokens'] as const) {
      const quota = limits[kind];
      if (quota === null) continue;
      this.latest = one.number;
      // Those sent since may not be counted yet.
      const taken = kind === 'requests' ? this.count - one.number : this.tokens - one.upTo;
      this.quotas[kind] = { ...quota, left: quota.left - taken, asOf: now };
    }
  }

  private quotaOpensAt(now: number, tokens: number): number {
    return Math.max(this.quotaFreeAt('requests', now, 1), this.quotaFreeAt('tokens', now, tokens));
  }

  private quotaFreeAt(kind: keyof RateLimits, now: number, wanted: number): number {
    const quota = this.quotas[kind];
    if (quota === null) return now;
    const { left, resetAt, refillsTo, asOf } = quota;
    if (now >= resetAt) {
      this.quotas[kind] = null;
      return now;
    }
    if (left >= wanted) return now;
    if (refillsTo === null) return resetAt;
    const perMs = Math.max(refillsTo - Math.max(left, 0), 1) / Math.max(resetAt - asOf, 1);
    return Math.min(resetAt, asOf + (wanted - left) / perMs);
  }

  /** When fewer than `count` requests that were taken have gone out within `ms`. */
  private freeAt(now: number, ms: number, count: number): number {
    let seen = 0;
    for (let index = this.sent.length - 1; index >= this.first; index -= 1) {
      const one = this.sent[index];
      if (one === undefined || one.at <= now - ms) return now;
      if (one.isRefused) continue;
      seen += 1;
      if (seen >= count) return one.at + ms;
    }
    return now;
  }

  private tokensFreeAt(now: number, perMinute: number, wanted: number): number {
    let seen = Math.min(wanted, perMinute);
    for (let index = this.sent.length - 1; index >= this.first; index -= 1) {
      const one = this.sent[index];
      if (one === undefined || one.at <= now - minuteMs) return now;
      if (!one.isRefused) seen += one.tokens;
      if (seen > perMinute) return one.at + minuteMs;
    }
    return now;
  }

  private expire(now: number): void {
    const oldest = now - Math.max(minuteMs, this.rate?.ms ?? 0);
    while (this.first < this.sent.length && (this.sent[this.first]?.at ?? now) <= oldest) this.first += 1;
    if (this.first < 64 || this.first * 2 < this.sent.length) return;
    this.sent = this.sent.slice(this.first);
    this.first = 0;
  }
}
