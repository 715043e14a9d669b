import type { Delivery, Effect, EffectKind, EffectKinds, Json, SessionCommand } from '../../machines/index.ts';
import type { Host, KeyedDelivery } from './host.ts';

/** How each kind of effect acts on the world. A rejection is a defect, never an expected fault (P-1, D-5). */
export type Effects = {
  [K in EffectKind]: (
    request: EffectKinds[K]['request'],
    context: { readonly key: string; readonly signal: AbortSignal },
  ) => Promise<EffectKinds[K]['outcome']>;
};

/** Whose driver it is: what a session is told, and what only it knows. */
export type DriverOwner = {
  /** Epoch ms. */
  now(): number;
  /** In [0, 1). Must not throw. */
  chance(): number;
  /** Where commands go: the root of the actor tree. */
  command(event: SessionCommand): void;
  /** Before each delivery, in order: what a journal would hold (D-3). Must not throw. */
  delivering(delivery: Delivery): void;
  /** What is said of a defect, without secrets. */
  describeDefect(error: unknown): string;
  /** A result came for an effect that was settled, and was dropped (D-2). What comes after a cancel is not a result. */
  late(key: string): void;
};

/** An effect under way. Its signal is made only where the effect asks for it: many never do. */
class RunningEffect {
  readonly key: string;
  cancelled = false;
  private controller: AbortController | null = null;

  constructor(key: string) {
    this.key = key;
  }

  get signal(): AbortSignal {
    this.controller ??= new AbortController();
    if (this.cancelled) this.controller.abort();
    return this.controller.signal;
  }

  cancel(): void {
    this.cancelled = true;
    this.controller?.abort();
  }
}

/** The memory driver: effects are promises, and deliveries a queue that is worked off one at a time. */
export class MemoryDriver {
  private readonly host: Host;
  private readonly effects: Effects;
  private readonly owner: DriverOwner;
  private readonly running = new Map<string, RunningEffect>();
  private readonly queue: Delivery[] = [];
  private delivering = false;

  constructor(host: Host, effects: Effects, owner: DriverOwner) {
    this.host = host;
    this.effects = effects;
    this.owner = owner;
  }

  /** Starts the actor tree; what comes in meanwhile (from a listener, say) is delivered after. */
  start(startTree: () => void): void {
    this.delivering = true;
    startTree();
    this.pump();
    this.workOff();
  }

  /** Starts and cancels what the actor tree has asked for. */
  private pump(): void {
    const { start, cancel } = this.host.drain();
    for (const key of cancel) {
      this.running.get(key)?.cancel();
      this.running.delete(key);
    }
    for (const effect of start) this.begin(effect);
  }

  command(event: SessionCommand): void {
    this.enqueue({ at: this.owner.now(), event });
  }

  private begin(effect: Effect): void {
    const { owner } = this;
    const { key } = effect;
    const running = new RunningEffect(key);
    this.running.set(key, running);
    const settle = (delivery: KeyedDelivery) => {
      if (running.cancelled) return;
      this.running.delete(key);
      this.enqueue(delivery);
    };
    this.perform(effect, running).then(
      (outcome) => settle({ key, at: owner.now(), chance: owner.chance(), outcome: outcome as Json }),
      (error) => settle({ key, at: owner.now(), defect: owner.describeDefect(error) }),
    );
  }

  private perform(effect: Effect, context: RunningEffect): Promise<EffectKinds[EffectKind]['outcome']> {
    const { effects } = this;
    switch (effect.kind) {
      case 'prepare':
        return effects.prepare(effect.request, context);
      case 'model':
        return effects.model(effect.request, context);
      case 'tool':
        return effects.tool(effect.request, context);
      case 'approval':
        return effects.approval(effect.request, context);
      case 'wait':
        return effects.wait(effect.request, context);
      case 'close':
        return effects.close(effect.request, context);
      default:
        return effect satisfies never;
    }
  }

  /** A delivery that comes while another is at work (a listener that aborts, say) waits its turn. */
  private enqueue(delivery: Delivery): void {
    this.queue.push(delivery);
    if (this.delivering) return;
    this.delivering = true;
    this.workOff();
  }

  private workOff(): void {
    try {
      for (let next = this.queue.shift(); next !== undefined; next = this.queue.shift()) this.deliver(next);
    } finally {
      this.delivering = false;
    }
  }

  private deliver(delivery: Delivery): void {
    const { host, owner } = this;
    owner.delivering(delivery);
    if ('event' in delivery) owner.command(delivery.event);
    else if (!host.deliver(delivery)) owner.late(delivery.key);
    this.pump();
  }
}
