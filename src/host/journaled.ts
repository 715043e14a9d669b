import type { Delivery, Effect, SessionCommand } from '../../machines/index.ts';
import type { Driver, DriverOwner, DriverStep, Perform } from './driver.ts';
import { DriverCore, type Outcome } from './driver-core.ts';
import { eventLoop } from './event-loop.ts';
import type { Host, KeyedDelivery } from './host.ts';
import type { ReplayDriver } from './replay-driver.ts';

/** Where a driver writes down what it does. Its promises resolve when that is durable (D-3). */
export type DriverLog = {
  start(): Promise<void>;
  begun(keys: readonly string[], at: number): Promise<void>;
  delivered(deliveries: readonly Delivery[]): Promise<void>;
  /** Takes one step of the actor tree, and notes the facts that follow. */
  applying(step: DriverStep): void;
  /** The driver cannot go on. */
  failed(error: unknown): void;
};

/** What a driver must know of the effects of a session. */
export type EffectPolicy = {
  /** The outcome of an effect that had begun when the process died; null if it is performed again (D-4). */
  interrupted(effect: Effect): Outcome | null;
  /** Whether a suspension waits for the effect's end. It does not wait for people, times, other sessions and sub-agents. */
  isAwaited(effect: Effect): boolean;
};

/**
 * Whether the driver begins effects. `held`: after a replay, commands are taken in, but nothing begins yet. `suspending`:
 * what was marked still begins.
 */
type Phase = 'held' | 'running' | 'suspending' | 'released';

/**
 * The journaled driver: like the memory driver, but each delivery is durable before it is delivered, and each effect is
 * marked before it begins. It can stop without ending the session.
 */
export class JournaledDriver implements Driver {
  private readonly log: DriverLog;
  private readonly policy: EffectPolicy;
  private attached: DriverCore<SessionCommand> | null = null;
  private readonly steps: DriverStep[] = [];
  private queue: Delivery[] = [];
  /** When each effect that has not ended was first marked, in epoch ms. */
  private readonly begunAt: Map<string, number>;
  /** The effects that had begun in an earlier life. */
  private readonly begunBefore: ReadonlySet<string>;
  private phase: Phase;
  private working = false;
  private last: Promise<void> = Promise.resolve();
  private onIdle: (() => void) | null = null;

  /** A resumed session continues where `replay` stopped, once `goOn` is called. */
  constructor(log: DriverLog, policy: EffectPolicy, replay: ReplayDriver | null = null) {
    this.log = log;
    this.policy = policy;
    this.phase = replay === null ? 'running' : 'held';
    this.begunAt = replay?.begunAt ?? new Map();
    this.begunBefore = new Set(this.begunAt.keys());
    this.attached = replay?.core ?? null;
  }

  attach(host: Host, perform: Perform, owner: DriverOwner): this {
    this.attached = new DriverCore(host, perform, owner, (key) => this.begunAt.delete(key));
    return this;
  }

  start(startTree: () => void): void {
    const take = () => {
      startTree();
      this.core.drain();
    };
    this.steps.push({ delivery: null, take });
    this.work(() => this.log.start());
  }

  command(event: SessionCommand): void {
    this.enqueue({ at: this.core.owner.now(), event });
  }

  answer(key: string, outcome: Outcome): void {
    this.enqueue(this.core.outcomeOf(key, outcome));
  }

  /** Continues after a replay: the commands that were taken in are delivered, and what is pending begins. */
  goOn(): void {
    this.phase = 'running';
    this.work();
  }

  /** Begins no further effect. Resolves when no awaited effect runs any more, and the last delivery is durable. */
  suspend(): Promise<void> {
    return new Promise((resolve) => {
      if (this.phase === 'held') resolve();
      if (this.phase === 'running') this.phase = 'suspending';
      this.onIdle = resolve;
      this.work();
    });
  }

  /** Resolves when the work at hand is done. */
  async settled(): Promise<void> {
    await this.last;
  }

  /** Whether something is still to be written or delivered. */
  get isBusy(): boolean {
    return this.working;
  }

  /** Stops without ending the session: every running effect's signal aborts, and nothing more is delivered. */
  release(): void {
    this.phase = 'released';
    this.core.cancelAll();
    this.onIdle?.();
  }

  /** The outcome of an effect that had begun in an earlier life, and is not performed again (D-4). */
  private interruptionOf(effect: Effect): KeyedDelivery | null {
    const outcome = this.begunBefore.has(effect.key) ? this.policy.interrupted(effect) : null;
    return outcome === null ? null : this.core.outcomeOf(effect.key, outcome);
  }

  private isMarked({ key }: Effect): boolean {
    return this.begunAt.has(key);
  }

  private get core(): DriverCore<SessionCommand> {
    if (this.attached === null) throw new Error('the driver is not attached to a host');
    return this.attached;
  }

  private enqueue(delivery: Delivery): void {
    this.queue.push(delivery);
    this.work();
  }

  /** Writes, then acts: deliveries first, so that a step's commands reach the effects requested in that step (D-2). */
  private work(first: (() => Promise<void>) | null = null): void {
    if (this.working || this.phase === 'held') return;
    this.last = this.workToTheEnd(first);
  }

  private async workToTheEnd(first: (() => Promise<void>) | null): Promise<void> {
    this.working = true;
    try {
      // Whatever else comes in this step is taken up with it.
      await first?.();
      // Nothing can arrive between the last check and the end.
      while (this.hasWork) {
        if (eventLoop.isDue) {
          await eventLoop.turn();
          // The driver may have been stopped meanwhile.
          if (!this.hasWork) break;
        }
        const written = this.workOnce();
        if (written !== null) await written;
      }
    } catch (error) {
      this.log.failed(error);
    } finally {
      this.working = false;
    }
    if (this.onIdle !== null && !this.isAwaiting) this.onIdle();
  }

  private get isAwaiting(): boolean {
    return [...this.core.running.values()].some(({ effect }) => this.policy.isAwaited(effect));
  }

  private get hasWork(): boolean {
    if (this.phase === 'released') return false;
    // What was marked also begins.
    const mayBegin =
      this.phase === 'running' ? this.core.pending.length > 0 : this.core.pending.some((one) => this.isMarked(one));
    return mayBegin || this.steps.length > 0 || this.queue.length > 0;
  }

  /** Does what comes next. Returns what must be durable before anything else is done, if anything. */
  private workOnce(): Promise<void> | null {
    const step = this.steps.shift();
    if (step !== undefined) {
      this.log.applying(step);
      return null;
    }
    if (this.queue.length > 0) return this.takeUp();
    const interrupted = this.core.pending.flatMap((effect) => this.interruptionOf(effect) ?? []);
    this.queue.push(...interrupted);
    if (interrupted.length > 0) return null;
    const at = this.core.owner.now();
    const unmarked = this.core.pending.filter((effect) => !this.isMarked(effect));
    // What came meanwhile may cancel some of them.
    if (unmarked.length > 0 && this.phase === 'running') return this.mark(unmarked, at);
    const effects = this.core.pending.filter((effect) => this.isMarked(effect));
    this.core.pending = unmarked;
    for (const effect of effects) {
      const { key } = effect;
      const enqueue = (result: KeyedDelivery) => this.enqueue(result);
      this.core.begin(effect, this.begunAt.get(key) ?? at, enqueue, this.begunBefore.has(key));
    }
    return null;
  }

  private async takeUp(): Promise<void> {
    const deliveries = this.queue;
    this.queue = [];
    await this.log.delivered(deliveries);
    for (const delivery of deliveries) this.steps.push({ delivery, take: () => this.core.deliver(delivery) });
  }

  private async mark(effects: readonly Effect[], at: number): Promise<void> {
    const keys = effects.map(({ key }) => key);
    await this.log.begun(keys, at);
    for (const key of keys) this.begunAt.set(key, at);
  }
}
