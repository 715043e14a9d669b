import type { Delivery, Effect, EffectKind, EffectKinds, Json, SessionCommand } from '../../machines/index.ts';
import type { Clock } from './clock.ts';
import type { Host, KeyedDelivery } from './host.ts';

/** How each kind of effect acts on the world. A rejection is a defect, never an expected fault (P-1, D-5). */
export type Effects = {
  [K in EffectKind]: (
    request: EffectKinds[K]['request'],
    context: { readonly key: string; readonly signal: AbortSignal },
  ) => Promise<EffectKinds[K]['outcome']>;
};

export type MemoryDriverOptions = {
  host: Host;
  effects: Effects;
  clock: Clock;
  /** In [0, 1). */
  chance: () => number;
  /** Where commands go: the root of the actor tree. */
  command: (event: SessionCommand) => void;
  /** Before each delivery, in order: what a journal would hold (D-3). */
  onDelivery: (delivery: Delivery) => void;
  /** Code of the caller's threw: it is told, and nothing is lost by it. */
  onObserverFailure: (observer: string, error: unknown) => void;
  /** What is said of a defect, without secrets. */
  describeDefect: (error: unknown) => string;
  /** A result came for an effect that was settled, and was dropped (D-2). What comes after a cancel is not a result. */
  onLate: (key: string) => void;
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
  private readonly options: MemoryDriverOptions;
  private readonly running = new Map<string, RunningEffect>();
  private readonly queue: Delivery[] = [];
  private delivering = false;

  constructor(options: MemoryDriverOptions) {
    this.options = options;
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
    const { start, cancel } = this.options.host.drain();
    for (const key of cancel) {
      this.running.get(key)?.cancel();
      this.running.delete(key);
    }
    for (const effect of start) this.begin(effect);
  }

  command(event: SessionCommand): void {
    this.enqueue({ at: this.options.clock.now(), event });
  }

  private begin(effect: Effect): void {
    const { clock, describeDefect } = this.options;
    const { key } = effect;
    const running = new RunningEffect(key);
    this.running.set(key, running);
    const settle = (delivery: KeyedDelivery) => {
      if (running.cancelled) return;
      this.running.delete(key);
      this.enqueue(delivery);
    };
    this.perform(effect, running).then(
      (outcome) => settle({ key, at: clock.now(), chance: this.chance(), outcome: outcome as Json }),
      (error) => settle({ key, at: clock.now(), defect: describeDefect(error) }),
    );
  }

  private chance(): number {
    try {
      return this.options.chance();
    } catch (error) {
      this.options.onObserverFailure('random', error);
      return 0.5;
    }
  }

  private perform(effect: Effect, context: RunningEffect): Promise<EffectKinds[EffectKind]['outcome']> {
    const { effects } = this.options;
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
    const { host, command, onDelivery, onObserverFailure, onLate } = this.options;
    try {
      onDelivery(delivery);
    } catch (error) {
      onObserverFailure('onDelivery', error);
    }
    if ('event' in delivery) command(delivery.event);
    else if (!host.deliver(delivery)) onLate(delivery.key);
    this.pump();
  }
}
