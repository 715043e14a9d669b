import type { Delivery, Effect, EffectKind, EffectKinds, Json } from '../../machines/index.ts';
import type { Driver, DriverOwner, Perform } from './driver.ts';
import { RunningEffect } from './effect-context.ts';
import type { Host, KeyedDelivery } from './host.ts';

/** Makes the memory driver: effects are promises; deliveries are queued. */
export function memoryDriver<Command>(host: Host, perform: Perform, owner: DriverOwner<Command>): Driver<Command> {
  return new MemoryDriver(host, perform, owner);
}

class MemoryDriver<Command> implements Driver<Command> {
  private readonly host: Host;
  private readonly perform: Perform;
  private readonly owner: DriverOwner<Command>;
  private readonly running = new Map<string, RunningEffect>();
  private readonly queue: Delivery<Command>[] = [];
  private pending: Effect[] = [];
  private working = false;

  constructor(host: Host, perform: Perform, owner: DriverOwner<Command>) {
    this.host = host;
    this.perform = perform;
    this.owner = owner;
  }

  start(startTree: () => void): void {
    this.work(() => {
      startTree();
      this.drain();
    });
  }

  command(event: Command): void {
    this.enqueue({ at: this.owner.now(), event });
  }

  answer(key: string, outcome: EffectKinds[EffectKind]['outcome']): void {
    this.enqueue(this.outcomeOf(key, outcome));
  }

  private outcomeOf(key: string, outcome: EffectKinds[EffectKind]['outcome']): KeyedDelivery {
    const { owner } = this;
    return { key, at: owner.now(), chance: owner.chance(), outcome: outcome as Json };
  }

  /** Queues a delivery; one may arrive during another, for example from a listener. */
  private enqueue(delivery: Delivery<Command>): void {
    this.queue.push(delivery);
    if (!this.working) this.work(() => {});
  }

  /** Delivers before starting effects, so that a step's commands reach the effects requested in that step. */
  private work(first: () => void): void {
    this.working = true;
    try {
      first();
      for (;;) {
        const delivery = this.queue.shift();
        if (delivery !== undefined) {
          this.deliver(delivery);
          continue;
        }
        const effect = this.pending.shift();
        if (effect === undefined) return;
        this.begin(effect);
      }
    } finally {
      this.working = false;
    }
  }

  private deliver(delivery: Delivery<Command>): void {
    const { host, owner } = this;
    owner.delivering(delivery);
    if ('event' in delivery) owner.command(delivery.event);
    else if (host.deliver(delivery)) this.release(delivery.key);
    else owner.late(delivery.key);
    this.drain();
  }

  /** Handles the actor tree's new requests. */
  private drain(): void {
    const { start, cancel } = this.host.drain();
    for (const key of cancel) this.release(key);
    this.pending.push(...start);
  }

  /** Releases an effect that was cancelled or answered from outside: it never begins, or its signal aborts. */
  private release(key: string): void {
    this.pending = this.pending.filter((effect) => effect.key !== key);
    this.running.get(key)?.cancel();
    this.running.delete(key);
  }

  private begin(effect: Effect): void {
    const { owner } = this;
    const { key } = effect;
    const running = new RunningEffect(key, owner.now());
    this.running.set(key, running);
    const settle = (delivery: () => KeyedDelivery) => {
      if (running.cancelled) return;
      this.running.delete(key);
      this.enqueue(delivery());
    };
    this.perform(effect, running).then(
      (outcome) => settle(() => this.outcomeOf(key, outcome)),
      (error) => settle(() => ({ key, at: owner.now(), defect: owner.describeDefect(error) })),
    );
  }
}
