import type { Clock } from '../host/clock.ts';
import type { GateStore } from './gate-store.ts';
import { type GateLimits, Pace, type Sent } from './pace.ts';
import { type RateLimits, rateLimitsIn } from './rate-limits.ts';
import { SharedGate } from './shared-gate.ts';

/** A session that sends to a target. `gated` tells it to ask the gate before its next attempt. */
export type GateMember = { gated(): void };

/** Who asks for a request, and of how many tokens by an estimate. `party` is shared by the sessions of a tree. */
export type GateRequest = {
  party: object;
  priority: number;
  tokens: number;
  clock: Clock;
  signal: AbortSignal;
  /** Hears of a store of the gate that does not answer. Nothing is held back by that. */
  told: (error: unknown) => void;
};
/** Who asks at once, or does not ask. */
type AskingNow = Omit<GateRequest, 'signal' | 'told'>;

/** How a request ended: refused for its rate, or not. `tokens` is what its provider counted; null if it did not. */
export type PassEnd = { isRefused: boolean; retryAfterMs: number | null; tokens: number | null };

type Refusal = { retryAfterMs: number | null; limits: RateLimits };
type Headers = Readonly<Record<string, string>>;
type Waiter = GateRequest & { number: number; resolve(pass: Pass): void; reject(reason: unknown): void };

const noLimits: RateLimits = { requests: null, tokens: null };

/** One request that a gate let through, from then until it has ended. */
export class Pass {
  readonly gate: Gate;
  private sent: Sent;
  private readonly clock: Clock;
  readonly party: object;
  private headers: Headers | null = null;
  private isAccepted = false;
  /** Tells the processes that share the gate how the request ended; null if they do not know of it. */
  onEnd: ((end: { tokens: number | null; closeMs: number | null }) => Promise<void>) | null = null;
  /** Resolves when they have been told. */
  released: Promise<void> = Promise.resolve();
  private isOver = false;

  constructor(gate: Gate, sent: Sent, { clock, party }: Pick<GateRequest, 'clock' | 'party'>) {
    this.gate = gate;
    this.sent = sent;
    this.clock = clock;
    this.party = party;
  }

  /** The request goes out only now, after its place was taken. */
  begin(): void {
    this.sent = this.gate.begun(this.sent, this.clock.now());
  }

  /** The target took the request. */
  accepted(headers: Headers | undefined): void {
    if (this.isAccepted || this.isOver) return;
    this.isAccepted = true;
    const now = this.clock.now();
    this.gate.accepted(this.sent, headers === undefined ? noLimits : rateLimitsIn(headers, now), now);
  }

  /** The target refused the request, with these headers. */
  refused(headers: Headers): void {
    this.headers = headers;
  }

  /** The request has ended. Its place is free. Does nothing the second time. */
  ended({ isRefused, retryAfterMs, tokens }: PassEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    if (tokens !== null) this.sent.tokens = tokens;
    const now = this.clock.now();
    const limits = this.headers === null ? noLimits : rateLimitsIn(this.headers, now);
    const closedMs = this.gate.left(this.sent, this.party, isRefused ? { retryAfterMs, limits } : null, now);
    const counted = this.sent.isRefused ? null : this.sent.tokens;
    if (this.onEnd !== null) this.released = this.onEnd({ tokens: counted, closeMs: isRefused ? closedMs : null });
  }

  /** The request never went out. */
  unused(): void {
    if (this.isOver) return;
    this.sent.isRefused = true;
    this.ended({ isRefused: false, retryAfterMs: null, tokens: 0 });
  }
}

/** The gate of a target, which the sessions of a process share (P-7), and those of other processes if it has a store. */
export class Gate {
  private readonly pace: Pace;
  private readonly members = new Map<GateMember, { isTold: boolean }>();
  private readonly waiting: Waiter[] = [];
  private readonly inFlight = new Map<object, number>();
  private total = 0;
  private count = 0;
  private alarm: AbortController | null = null;
  private isAtStore = false;

  private readonly shared: SharedGate | null;

  constructor(limits: GateLimits, kept: { name: string; store: GateStore } | null = null) {
    this.pace = new Pace(limits);
    this.shared = kept === null ? null : new SharedGate(kept.name, kept.store, () => this.pace.limits);
  }

  /** Lowers the limits to those that another agent has for the same target. */
  narrow(limits: GateLimits): void {
    this.pace.narrow(limits);
  }

  /** Adds a session that may send to the target. Returns what takes it out again. */
  join(member: GateMember): () => void {
    this.members.set(member, { isTold: false });
    return () => this.members.delete(member);
  }

  /** Whether everybody asks from the start: its limits were given, or other processes share it. */
  get isGiven(): boolean {
    return this.shared !== null || this.pace.isGiven;
  }

  /** Whether whoever is to send must ask first. */
  mustAsk(now: number): boolean {
    return (
      this.isGiven || this.waiting.length > 0 || this.pace.isNarrow(now) || this.pace.opensAt(now, this.total, 0) > now
    );
  }

  /** Whether more sessions may come at once than the target is to get. */
  get isCrowded(): boolean {
    return this.members.size > this.pace.places;
  }

  /** Tells a resumed session, which no preparation has told, that it must ask. */
  catchUp(member: GateMember, now: number): void {
    if (this.isGiven || this.pace.isNarrow(now)) this.tell(member);
  }

  /** Notes whether a session asks before each attempt. */
  note(member: GateMember, isTold: boolean): void {
    const known = this.members.get(member);
    if (known !== undefined) known.isTold = isTold;
  }

  /** Lets a request through if it need not wait; else returns null. */
  tryEnter(request: AskingNow): Pass | null {
    const now = request.clock.now();
    const isFree = this.waiting.length === 0 && this.pace.opensAt(now, this.total, request.tokens) <= now;
    return isFree ? this.pass(request, now) : null;
  }

  /** Waits until a request may go out, here and in the processes that share the gate. Rejects with the signal's reason. */
  enter(request: GateRequest): Promise<Pass> {
    const { signal } = request;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      this.count += 1;
      const leave = () => {
        // A request that asks the store no longer waits here; the abort reaches it there.
        const place = this.waiting.indexOf(waiter);
        if (place === -1) return;
        this.waiting.splice(place, 1);
        reject(signal.reason);
        this.pump();
      };
      const waiter: Waiter = {
        ...request,
        number: this.count,
        resolve: (pass) => {
          signal.removeEventListener('abort', leave);
          resolve(pass);
        },
        reject,
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.push(waiter);
      this.pump();
    });
  }

  /** Counts a request that goes out without having asked. */
  pass(request: Omit<AskingNow, 'priority'>, now = request.clock.now()): Pass {
    const { party } = request;
    this.total += 1;
    this.inFlight.set(party, (this.inFlight.get(party) ?? 0) + 1);
    return new Pass(this, this.pace.send(now, request.tokens), request);
  }

  /** For a pass: its request goes out now. */
  begun(sent: Sent, now: number): Sent {
    return this.pace.begun(sent, now);
  }

  /** For a pass: its request was taken. */
  accepted(sent: Sent, limits: RateLimits, now: number): void {
    this.pace.accepted(sent, limits, now);
    if (this.pace.isNarrow(now)) this.tellAll();
    this.pump();
  }

  /** For a pass: its request has ended; `refused` if the target took it for one too many. Returns for how many ms it is closed. */
  left(sent: Sent, party: object, refused: Refusal | null, now: number): number {
    this.total -= 1;
    const own = (this.inFlight.get(party) ?? 1) - 1;
    if (own === 0) this.inFlight.delete(party);
    else this.inFlight.set(party, own);
    if (refused !== null) {
      this.pace.refused(sent, refused.retryAfterMs, this.total, refused.limits, now);
      this.tellAll();
    }
    this.pump();
    return this.pace.closedFor(now);
  }

  /** A session alone knows by itself what its target said. */
  private tellAll(): void {
    if (this.members.size > 1) for (const member of this.members.keys()) this.tell(member);
  }

  private tell(member: GateMember): void {
    const known = this.members.get(member);
    if (known === undefined || known.isTold) return;
    known.isTold = true;
    member.gated();
  }

  /** The next in order: by priority, then whose tree has the fewest requests in flight, then who came first. */
  private next(): Waiter | undefined {
    let best: Waiter | undefined;
    const load = ({ party }: Waiter) => this.inFlight.get(party) ?? 0;
    for (const one of this.waiting) {
      const isBefore =
        best === undefined ||
        one.priority > best.priority ||
        (one.priority === best.priority && load(one) < load(best)) ||
        (one.priority === best.priority && load(one) === load(best) && one.number < best.number);
      if (isBefore) best = one;
    }
    return best;
  }

  private pump(): void {
    this.alarm?.abort();
    this.alarm = null;
    // One at a time, so that the order is kept there, too.
    if (this.isAtStore) return;
    // Who is next matters only once there is a place.
    for (let next = this.waiting[0]; next !== undefined; next = this.waiting[0]) {
      if (this.pace.opensAt(next.clock.now(), this.total, 0) <= next.clock.now()) next = this.next() ?? next;
      const now = next.clock.now();
      const at = this.pace.opensAt(now, this.total, next.tokens);
      if (at > now) {
        if (Number.isFinite(at)) this.wake(next, at);
        return;
      }
      this.waiting.splice(this.waiting.indexOf(next), 1);
      if (this.shared !== null) {
        void this.enterShared(this.shared, next);
        return;
      }
      next.resolve(this.pass(next, now));
    }
  }

  /** Waits for the other processes. If the store does not answer, the request is sent (P-7i). */
  private async enterShared(shared: SharedGate, waiter: Waiter): Promise<void> {
    const { tokens, clock, signal, told } = waiter;
    this.isAtStore = true;
    try {
      const place = await shared.enter(tokens, clock, signal);
      const pass = this.pass(waiter);
      if (place !== null) pass.onEnd = (end) => shared.leave(place, end).catch(told);
      waiter.resolve(pass);
    } catch (error) {
      if (signal.aborted) {
        waiter.reject(error);
      } else {
        told(error);
        waiter.resolve(this.pass(waiter));
      }
    } finally {
      this.isAtStore = false;
      this.pump();
    }
  }

  private wake({ clock }: Waiter, at: number): void {
    const alarm = new AbortController();
    this.alarm = alarm;
    void clock.sleepUntil(at, alarm.signal).then(() => {
      if (this.alarm === alarm) this.pump();
    });
  }
}
