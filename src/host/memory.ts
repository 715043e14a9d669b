import type { Delivery, Effect, EffectKind, EffectKinds, Json, SessionCommand } from '../../machines/index.ts';
import type { Host, KeyedDelivery } from './host.ts';

export type EffectContext = { readonly key: string; readonly signal: AbortSignal };

/** How effects of some kinds act on the world. A rejection is a defect, never an expected fault (P-1, D-5). */
export type Effects<K extends EffectKind> = {
  [Kind in K]: (request: EffectKinds[Kind]['request'], context: EffectContext) => Promise<EffectKinds[Kind]['outcome']>;
};

/** Does an effect of whatever kind. One of a kind that it does not know is a defect. */
export type Perform = (effect: Effect, context: EffectContext) => Promise<EffectKinds[EffectKind]['outcome']>;

/** Whose driver it is: what a session is told, and what only it knows. */
export type DriverOwner<Command = SessionCommand> = {
  /** Epoch ms. */
  now(): number;
  /** In [0, 1). Must not throw. */
  chance(): number;
  /** Where commands go: the root of the actor tree. */
  command(event: Command): void;
  /** Before each delivery, in order: what a journal would hold (D-3). Must not throw. */
  delivering(delivery: Delivery<Command>): void;
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
export class MemoryDriver<Command = SessionCommand> {
  private readonly host: Host;
  private readonly perform: Perform;
  private readonly owner: DriverOwner<Command>;
  private readonly running = new Map<string, RunningEffect>();
  private readonly queue: Delivery<Command>[] = [];
  private delivering = false;

  constructor(host: Host, perform: Perform, owner: DriverOwner<Command>) {
    this.host = host;
    this.perform = perform;
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

  command(event: Command): void {
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

  /** A delivery that comes while another is at work (a listener that aborts, say) waits its turn. */
  private enqueue(delivery: Delivery<Command>): void {
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

  private deliver(delivery: Delivery<Command>): void {
    const { host, owner } = this;
    owner.delivering(delivery);
    if ('event' in delivery) owner.command(delivery.event);
    else if (!host.deliver(delivery)) owner.late(delivery.key);
    this.pump();
  }
}
