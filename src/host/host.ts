import {
  type Delivered,
  type Delivery,
  delivered,
  type Effect,
  type EffectKind,
  type EffectKinds,
  type HostEvent,
  type LeafRef,
} from '../../machines/index.ts';

/** A result for a key: the outcome of its effect, or a defect in the effect's code. */
export type KeyedDelivery = Extract<Delivery, { key: string }>;

/**
 * The host (D-1, D-2): the actor tree's only interface to the world. Leaf actors request effects, a driver drains and
 * starts them, and results are delivered one at a time. The host is synchronous and does no I/O.
 */
export class Host {
  /** Every key ever requested; null once it is settled or cancelled. */
  private readonly requested = new Map<string, { effect: Effect; leaf: LeafRef } | null>();
  private toStart: Effect[] = [];
  private toCancel: string[] = [];

  /** Handles the event that a leaf emits when it starts or is stopped. */
  takeRequest(event: HostEvent): void {
    if (event.type === 'effect.cancelled') this.cancel(event.key);
    else this.request(event.effect, event.leaf);
  }

  /** Registers an effect. Requesting a key twice is a defect (D-2): the second leaf fails immediately. */
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

  /** Returns the starts and cancellations requested since the last call, in request order. */
  drain(): { start: Effect[]; cancel: string[] } {
    const drained = { start: this.toStart, cancel: this.toCancel };
    this.toStart = [];
    this.toCancel = [];
    return drained;
  }

  /** Delivers a leaf's outcome. Returns false for an unknown or settled key: the late result is ignored (D-2). */
  deliver(delivery: KeyedDelivery): boolean {
    const entry = this.requested.get(delivery.key);
    if (entry == null) return false;
    this.requested.set(delivery.key, null);
    if ('defect' in delivery) entry.leaf.send({ type: 'effect.broke', message: delivery.defect });
    else entry.leaf.send({ type: 'effect.delivered', delivered: deliveredOf(delivery) });
    return true;
  }
}

/** Casts a journaled outcome from JSON. The driver guarantees that it fits the key's kind. */
function deliveredOf({ at, chance, outcome }: Extract<KeyedDelivery, { chance: number }>): Delivered<EffectKind> {
  return delivered(outcome as EffectKinds[EffectKind]['outcome'], at, chance);
}
