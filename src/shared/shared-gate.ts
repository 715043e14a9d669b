import { z } from 'zod';
import { type Clock, sleep, systemClock } from '../host/clock.ts';
import { inTime, unlessAborted } from '../host/deadline.ts';
import { oneAtATime } from '../platform/promises.ts';
import { randomId } from '../platform/random-id.ts';
import type { GateStore, KeptGate } from './gate-store.ts';
import type { GateLimits } from './pace.ts';

/** A process that gives no sign of life for so long has no request in flight. */
const livesMs = 30_000;
const minuteMs = 60_000;
/** How long a store may take to answer, and is left alone once it has not, in ms. */
const [answerMs, awayMs] = [2_000, 30_000];
/** The shortest and the longest pause between two looks for a free place, in ms. */
const [soonestMs, latestMs] = [50, 1_000];

/** What the processes share: until when all pause, what each has in flight, and what was sent lately, by second. */
const stateSchema = z.object({
  closedUntil: z.number(),
  processes: z.record(z.string(), z.object({ inFlight: z.number(), until: z.number() })),
  seconds: z.array(z.object({ second: z.number(), requests: z.number(), tokens: z.number() })),
});
type State = z.infer<typeof stateSchema>;

/** A place that was taken: the second in which its request counts. */
export type TakenPlace = { second: number; tokens: number };

/** How a request ended: `tokens` as they were counted, or null if it does not count, because it was refused or never sent. */
type PlaceEnd = { tokens: number | null; closeMs: number | null };

/**
 * The part of a gate that several processes share, in a store (P-7g). The first call that the store rejects, or does not
 * answer in time, rejects; then the store is left alone for a while, and no call waits for it or rejects (P-7i).
 */
export class SharedGate {
  readonly name: string;
  readonly store: GateStore;
  private readonly limits: () => GateLimits;
  private readonly process = randomId();
  private inFlight = 0;
  /** Changes of the state by this process, one after another. */
  private readonly inTurn = oneAtATime();
  private awayUntil = 0;
  private stopRenewing: (() => void) | null = null;

  constructor(name: string, store: GateStore, limits: () => GateLimits) {
    this.name = name;
    this.store = store;
    this.limits = limits;
  }

  /** Waits until all processes together leave a place for a request of `tokens`; null while the store is left alone. */
  async enter(tokens: number, clock: Clock, signal: AbortSignal): Promise<TakenPlace | null> {
    for (;;) {
      signal.throwIfAborted();
      // A place that is taken after an abort comes back.
      const found = await unlessAborted(signal, this.tryEnter(tokens), (late) => {
        if (late !== 'away' && 'second' in late)
          this.leave(late, { tokens: null, closeMs: null }).catch(() => undefined);
      });
      if (found === 'away') return null;
      if ('second' in found) return found;
      await sleep(clock, Math.min(Math.max(found.waitMs, soonestMs), latestMs), signal);
    }
  }

  /** A request has ended. After a refusal all processes pause for `closeMs`. */
  async leave({ second, tokens: expected }: TakenPlace, { tokens, closeMs }: PlaceEnd): Promise<void> {
    await this.change(-1, (state, now) => {
      if (closeMs !== null) state.closedUntil = Math.max(state.closedUntil, now + closeMs);
      const own = state.seconds.find((one) => one.second === second);
      if (own !== undefined) own.tokens += (tokens ?? 0) - expected;
      if (own !== undefined && tokens === null) own.requests -= 1;
      return null;
    });
  }

  /** Takes a place, or says in how many ms there may be one. */
  private async tryEnter(tokens: number): Promise<TakenPlace | { waitMs: number } | 'away'> {
    let second = 0;
    const waitMs = await this.change(1, (state, now) => {
      const opensAt = opening(state, this.limits(), tokens, now);
      if (opensAt > now) return opensAt - now;
      const { requestsPerMinute, tokensPerMinute } = this.limits();
      second = Math.floor(now / 1_000);
      if (requestsPerMinute === null && tokensPerMinute === null) return null;
      const own = secondOf(state, second);
      own.requests += 1;
      own.tokens += tokens;
      return null;
    });
    if (waitMs === 'away') return 'away';
    return waitMs === null ? { second, tokens } : { waitMs };
  }

  /**
   * Changes the state, as often as it takes, and what this process has in flight. A change that returns a number is not
   * made, nor is one while the store is left alone (`away`). What is not in flight any more is not, even if that cannot be
   * written: the next change brings it along.
   */
  private change(
    more: 1 | 0 | -1,
    make: (state: State, now: number) => number | null,
  ): Promise<number | null | 'away'> {
    if (more === -1) this.inFlight -= 1;
    return this.inTurn(async () => {
      for (;;) {
        // Those that queued before the store went away would each wait for it in vain.
        if (systemClock.now() < this.awayUntil) return 'away';
        const kept = await this.answered(this.store.read(this.name));
        const state = stateOf(kept);
        const waitMs = make(state, kept.now);
        if (waitMs !== null) return waitMs;
        const inFlight = this.inFlight + (more === 1 ? 1 : 0);
        own(state, this.process, inFlight, kept.now);
        if (!(await this.answered(this.store.write(this.name, kept.version, JSON.stringify(state))))) continue;
        if (more === 1) this.inFlight += 1;
        this.renew();
        return null;
      }
    });
  }

  private async answered<Value>(answer: Promise<Value>): Promise<Value> {
    const late = `the store of the gate ${this.name} did not answer within ${answerMs} ms`;
    try {
      return await inTime({ clock: systemClock, timeoutMs: answerMs }, late, () => answer);
    } catch (error) {
      this.awayUntil = systemClock.now() + awayMs;
      throw error;
    }
  }

  /** While requests are in flight, the others see that this process lives. */
  private renew(): void {
    if (this.inFlight === 0) this.stopRenewing?.();
    if (this.inFlight === 0) this.stopRenewing = null;
    if (this.inFlight === 0 || this.stopRenewing !== null) return;
    this.stopRenewing = systemClock.alarm(livesMs / 3, () => {
      this.stopRenewing = null;
      // A store that is away is asked again.
      const again = () => this.renew();
      this.change(0, () => null).then((found) => found === 'away' && again(), again);
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

function secondOf(state: State, second: number): State['seconds'][number] {
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
