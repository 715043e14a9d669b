import type { Delivery, Effect, EffectKind, EffectKinds, Json } from '../../machines/index.ts';
import type { DriverOwner, Perform } from './driver.ts';
import { LeftForLater, RunningEffect } from './effect-context.ts';
import type { Host, KeyedDelivery } from './host.ts';

export type Outcome = EffectKinds[EffectKind]['outcome'];

/** The part that all drivers share: it delivers to the host, and tracks the effects that are pending or running. */
export class DriverCore<Command> {
  /** The effects that have been requested and have not begun. */
  pending: Effect[] = [];
  readonly running = new Map<string, RunningEffect>();
  readonly owner: DriverOwner<Command>;
  private readonly host: Host;
  readonly perform: Perform;
  private readonly onSettled: (key: string) => void;

  /** `onSettled` is called when an effect has ended or was cancelled, before its signal aborts. */
  constructor(host: Host, perform: Perform, owner: DriverOwner<Command>, onSettled: (key: string) => void = () => {}) {
    this.host = host;
    this.perform = perform;
    this.owner = owner;
    this.onSettled = onSettled;
  }

  outcomeOf(key: string, outcome: Outcome): KeyedDelivery {
    const { owner } = this;
    return { key, at: owner.now(), chance: owner.chance(), outcome: outcome as Json };
  }

  deliver(delivery: Delivery<Command>): void {
    const { host, owner } = this;
    owner.delivering(delivery);
    if ('event' in delivery) owner.command(delivery.event);
    else if (host.deliver(delivery)) this.settle(delivery.key);
    else owner.late(delivery.key);
    this.drain();
  }

  /** Handles the actor tree's new requests. */
  drain(): void {
    const { start, cancel } = this.host.drain();
    for (const key of cancel) this.settle(key);
    this.pending.push(...start);
  }

  /** Performs an effect that first began at `since` (epoch ms). Passes on its result unless it was cancelled. */
  begin(effect: Effect, since: number, enqueue: (delivery: KeyedDelivery) => void, isAgain = false): void {
    const { key } = effect;
    const running = new RunningEffect(effect, since, isAgain);
    this.running.set(key, running);
    const settle = (delivery: () => KeyedDelivery) => {
      if (running.cancelled) return;
      this.running.delete(key);
      enqueue(delivery());
    };
    this.perform(effect, running).then(
      (outcome) => settle(() => this.outcomeOf(key, outcome)),
      (error) => settle(() => this.defectOf(key, error)),
    );
  }

  defectOf(key: string, error: unknown): KeyedDelivery {
    const { owner } = this;
    return { key, at: owner.now(), defect: owner.describeDefect(error) };
  }

  /** Cancels every running effect: another process resumes the session. */
  cancelAll(): void {
    for (const running of this.running.values()) running.cancel(new LeftForLater());
  }

  /** Forgets an effect that was delivered, cancelled or answered from outside: it never begins, or its signal aborts. */
  private settle(key: string): void {
    this.pending = this.pending.filter((effect) => effect.key !== key);
    this.onSettled(key);
    this.running.get(key)?.cancel();
    this.running.delete(key);
  }
}
