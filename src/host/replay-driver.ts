import type { Delivery, Effect, SessionCommand } from '../../machines/index.ts';
import type { Driver, DriverOwner, DriverStep, Perform } from './driver.ts';
import { DriverCore } from './driver-core.ts';
import type { Host } from './host.ts';

/** A driver that performs nothing: it takes the steps of the actor tree one by one, as they were written down (D-3). */
export class ReplayDriver implements Driver {
  /** When each effect that has not ended was first marked, in epoch ms. */
  readonly begunAt = new Map<string, number>();
  private attached: DriverCore<SessionCommand> | null = null;
  private readonly steps: DriverStep[] = [];

  attach(host: Host, perform: Perform, owner: DriverOwner): this {
    this.attached = new DriverCore(host, perform, owner, (key) => this.begunAt.delete(key));
    return this;
  }

  get core(): DriverCore<SessionCommand> {
    if (this.attached === null) throw new Error('the driver is not attached to a host');
    return this.attached;
  }

  start(startTree: () => void): void {
    const take = () => {
      startTree();
      this.core.drain();
    };
    this.steps.push({ delivery: null, take });
  }

  /** A replay has its commands and answers from the journal. */
  command(): void {}

  answer(): void {}

  /** Takes up a delivery that was written down. It is delivered by the next step. */
  deliver(delivery: Delivery): void {
    this.steps.push({ delivery, take: () => this.core.deliver(delivery) });
  }

  mark(key: string, at: number): void {
    if (!this.begunAt.has(key)) this.begunAt.set(key, at);
  }

  /** Returns the next step of the actor tree, to be taken; undefined at the end. */
  nextStep(): DriverStep | undefined {
    return this.steps.shift();
  }

  /** Takes the next step of the actor tree. Returns false at the end. */
  step(): boolean {
    const step = this.nextStep();
    step?.take();
    return step !== undefined;
  }

  /** The effects that have not ended. */
  get pending(): readonly Effect[] {
    return this.core.pending;
  }
}
