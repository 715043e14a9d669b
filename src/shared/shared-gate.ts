import { z } from 'zod';
import { type Clock, sleep, systemClock } from '../host/clock.ts';
import { randomId } from '../platform/random-id.ts';
import type { GateStore, KeptGate } from './gate-store.ts';
import type { GateLimits } from './pace.ts';

/** A process that gives no sign of life for so long has no request in flight. */
const livesMs = 30_000;
const minuteMs = 60_000;
/** How long whoever waits for a place looks away, at least and at most. */
const [soonestMs, latestMs] = [50, 1_000];

/** What the processes share: until when nobody sends, what each has in flight, and what went out in the last minute, by second. */
const stateSchema = z.object({
  closedUntil: z.number(),
  processes: z.record(z.string(), z.object({ inFlight: z.number(), until: z.number() })),
  seconds: z.array(z.object({ second: z.number(), requests: z.number(), tokens: z.number() })),
});
type State = z.infer<typeof stateSchema>;

/** The part of a gate that several processes share, in a store (P-7g). Its methods reject if the store does. */
export class SharedGate {
  readonly name: string;
  readonly store: GateStore;
  private readonly limits: () => GateLimits;
  private readonly process = randomId();
  private inFlight = 0;
  private turns: Promise<unknown> = Promise.resolve();
  private stopRenewing: (() => void) | null = null;

  constructor(name: string, store: GateStore, limits: () => GateLimits) {
    this.name = name;
    this.store = store;
    this.limits = limits;
  }

  /** Waits, in the order of this process, until all processes together leave a place for a request of `tokens`. */
  enter(tokens: number, clock: Clock, signal: AbortSignal): Promise<void> {
    const entered = this.turns.then(async () => {
      for (;;) {
        signal.throwIfAborted();
        const waitMs = await this.tryEnter(tokens);
        if (waitMs === null) return;
        await sleep(clock, Math.min(Math.max(waitMs, soonestMs), latestMs), signal);
      }
    });
    this.turns = entered.catch(() => undefined);
    return entered;
  }

  /** A request has ended: `more` tokens than were expected, or fewer. After a refusal nobody sends for `closeMs`. */
  async leave(more: number, closeMs: number | null): Promise<void> {
    this.inFlight -= 1;
    if (this.inFlight === 0) this.stopRenewing?.();
    if (this.inFlight === 0) this.stopRenewing = null;
    await this.change((state, now) => {
      if (closeMs !== null) state.closedUntil = Math.max(state.closedUntil, now + closeMs);
      if (more !== 0 && this.limits().tokensPerMinute !== null) secondOf(state, now).tokens += more;
      return null;
    });
  }

  /** Returns null if it took a place, or in how many ms there may be one. */
  private async tryEnter(tokens: number): Promise<number | null> {
    const waitMs = await this.change((state, now) => {
      const opensAt = opening(state, this.limits(), tokens, now);
      if (opensAt > now) return opensAt - now;
      const { requestsPerMinute, tokensPerMinute } = this.limits();
      if (requestsPerMinute !== null || tokensPerMinute !== null) {
        const second = secondOf(state, now);
        second.requests += 1;
        second.tokens += tokens;
      }
      own(state, this.process, this.inFlight + 1, now);
      return null;
    });
    if (waitMs === null) {
      this.inFlight += 1;
      this.renew();
    }
    return waitMs;
  }

  /** Changes the state, as often as it takes. A change that returns a number is not written. */
  private async change(make: (state: State, now: number) => number | null): Promise<number | null> {
    for (;;) {
      const kept = await this.store.read(this.name);
      const state = stateOf(kept);
      own(state, this.process, this.inFlight, kept.now);
      const waitMs = make(state, kept.now);
      if (waitMs !== null || (await this.store.write(this.name, kept.version, JSON.stringify(state)))) return waitMs;
    }
  }

  /** While requests are in flight, the others see that this process lives. */
  private renew(): void {
    if (this.stopRenewing !== null) return;
    this.stopRenewing = systemClock.alarm(livesMs / 3, () => {
      this.stopRenewing = null;
      if (this.inFlight === 0) return;
      // A store that is away is asked again.
      void this.change(() => null).catch(() => undefined);
      this.renew();
    });
  }
}

/** Returns the state without what is over. */
function stateOf({ state, now }: KeptGate): State {
  const { data = { closedUntil: 0, processes: {}, seconds: [] } } = stateSchema.safeParse(
    state === '' ? undefined : JSON.parse(state),
  );
  const living = Object.entries(data.processes).filter(([, { until }]) => until > now);
  return {
    closedUntil: data.closedUntil,
    processes: Object.fromEntries(living),
    seconds: data.seconds.filter(({ second }) => endOf(second) > now),
  };
}

/** When the requests of a second do not count any more: a minute after the latest that it may hold. */
function endOf(second: number): number {
  return (second + 1) * 1_000 + minuteMs;
}

function secondOf(state: State, now: number): State['seconds'][number] {
  const second = Math.floor(now / 1_000);
  const known = state.seconds.find((one) => one.second === second);
  if (known !== undefined) return known;
  const made = { second, requests: 0, tokens: 0 };
  state.seconds.push(made);
  return made;
}

function own(state: State, process: string, inFlight: number, now: number): void {
  if (inFlight === 0) delete state.processes[process];
  else state.processes[process] = { inFlight, until: now + livesMs };
}

/** When a request of `tokens` may go out, in epoch ms, or `now`. A place that must become free first is looked for soon. */
function opening(state: State, limits: GateLimits, tokens: number, now: number): number {
  const { concurrency, requestsPerMinute, tokensPerMinute } = limits;
  let at = Math.max(now, state.closedUntil);
  const inFlight = Object.values(state.processes).reduce((sum, one) => sum + one.inFlight, 0);
  if (concurrency !== null && inFlight >= concurrency) at = Math.max(at, now + soonestMs);
  let [requests, sum] = [0, 0];
  for (const one of state.seconds.toSorted((a, b) => b.second - a.second)) {
    requests += one.requests;
    sum += one.tokens;
    const isFull =
      (requestsPerMinute !== null && requests >= requestsPerMinute) ||
      (tokensPerMinute !== null && sum > 0 && sum + Math.min(tokens, tokensPerMinute) > tokensPerMinute);
    if (isFull) return Math.max(at, endOf(one.second));
  }
  return at;
}
