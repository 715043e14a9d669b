import type { Delivered, Delivery, Effect, EffectKind, EffectKinds, HostEvent, LeafRef } from '../../machines/index.ts';

/** A result for a key: an outcome of its effect, or a defect of the effect's own code. */
export type KeyedDelivery = Extract<Delivery, { key: string }>;

/**
 * The host (D-1, D-2): the one door between the actor tree and the world. Leaves request effects, a driver drains them
 * and starts them, and what comes back is delivered one at a time. Synchronous, and without any I/O of its own.
 */
export class Host {
  /** Every key that was ever requested; null once it is settled or cancelled. */
  private readonly requested = new Map<string, { effect: Effect; leaf: LeafRef } | null>();
  private toStart: Effect[] = [];
  private toCancel: string[] = [];

  /** What a leaf says when it starts or is stopped. */
  take(event: HostEvent): void {
    if (event.type === 'effect.cancelled') this.cancel(event.key);
    else this.request(event.effect, event.leaf);
  }

  /** A key requested twice is a defect (D-2): the second leaf fails at once. */
  request(effect: Effect, leaf: LeafRef): void {
    if (this.requested.has(effect.key)) {
      leaf.send({ type: 'effect.broke', message: `the effect ${effect.key} was requested twice` });
      return;
    }
    this.requested.set(effect.key, { effect, leaf });
    this.toStart.push(effect);
  }

  cancel(key: string): void {
    if (this.requested.get(key) == null) return;
    this.requested.set(key, null);
    const waiting = this.toStart.findIndex((effect) => effect.key === key);
    if (waiting === -1) this.toCancel.push(key);
    else this.toStart.splice(waiting, 1);
  }

  /** The effects to start and to cancel since the last time, in the order they were asked for. */
  drain(): { start: Effect[]; cancel: string[] } {
    const drained = { start: this.toStart, cancel: this.toCancel };
    this.toStart = [];
    this.toCancel = [];
    return drained;
  }

  /** Gives a leaf its outcome. False: the key is unknown or settled, so the result is late and is ignored (D-2). */
  deliver(delivery: KeyedDelivery): boolean {
    const entry = this.requested.get(delivery.key);
    if (entry == null) return false;
    this.requested.set(delivery.key, null);
    if ('defect' in delivery) entry.leaf.send({ type: 'effect.broke', message: delivery.defect });
    else entry.leaf.send({ type: 'effect.delivered', delivered: deliveredOf(delivery) });
    return true;
  }

  /** The effects that are under way. */
  underWay(): Effect[] {
    return [...this.requested.values()].flatMap((entry) => (entry === null ? [] : [entry.effect]));
  }
}

/** A journaled outcome is JSON; that it has the shape of its key's kind is the driver's promise. */
function deliveredOf({ at, chance, outcome }: Extract<KeyedDelivery, { chance: number }>): Delivered<EffectKind> {
  return { at, chance, outcome: outcome as EffectKinds[EffectKind]['outcome'] };
}
