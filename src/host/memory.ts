import type { Delivery } from '../../machines/index.ts';
import type { Driver, DriverOwner, Perform } from './driver.ts';
import { DriverCore, type Outcome } from './driver-core.ts';
import { eventLoop } from './event-loop.ts';
import type { Host } from './host.ts';

/** Makes the memory driver: effects are promises; deliveries are queued. */
export function memoryDriver<Command>(host: Host, perform: Perform, owner: DriverOwner<Command>): Driver<Command> {
  return new MemoryDriver(new DriverCore(host, perform, owner));
}

class MemoryDriver<Command> implements Driver<Command> {
  private readonly core: DriverCore<Command>;
  private readonly queue: Delivery<Command>[] = [];
  private working = false;

  constructor(core: DriverCore<Command>) {
    this.core = core;
  }

  start(startTree: () => void): void {
    this.work(() => {
      startTree();
      this.core.drain();
    });
  }

  command(event: Command): void {
    this.enqueue({ at: this.core.owner.now(), event });
  }

  answer(key: string, outcome: Outcome): void {
    this.enqueue(this.core.outcomeOf(key, outcome));
  }

  /** Queues a delivery; one may arrive during another, for example from a listener. */
  private enqueue(delivery: Delivery<Command>): void {
    this.queue.push(delivery);
    this.goOn();
  }

  private goOn(): void {
    if (!this.working) this.work(() => {});
  }

  /** Delivers before starting effects, so that a step's commands reach the effects requested in that step. */
  private work(first: () => void): void {
    const { core } = this;
    this.working = true;
    try {
      first();
      for (;;) {
        const delivery = this.queue.shift();
        if (delivery !== undefined) {
          core.deliver(delivery);
          continue;
        }
        const effect = core.pending.shift();
        if (effect === undefined) return;
        core.begin(effect, core.owner.now(), (result) => {
          this.queue.push(result);
          if (eventLoop.isDue) void eventLoop.turn().then(() => this.goOn());
          else this.goOn();
        });
      }
    } finally {
      this.working = false;
    }
  }
}
