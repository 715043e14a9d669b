import type { Effect, SessionCommand } from '../../machines/index.ts';
import type { Driver, DriverOwner, Perform } from './driver.ts';
import type { Outcome } from './driver-core.ts';
import type { Host } from './host.ts';
import { type DriverLog, type EffectPolicy, JournaledDriver } from './journaled.ts';
import { ReplayDriver } from './replay-driver.ts';

/** The driver of a session that is resumed: one that replays, then, from `catchUp` on, one that lives (D-3, D-4). */
export class ResumedDriver implements Driver {
  readonly replay = new ReplayDriver();
  private readonly log: DriverLog;
  private readonly policy: EffectPolicy;
  private live: JournaledDriver | null = null;

  constructor(log: DriverLog, policy: EffectPolicy) {
    this.log = log;
    this.policy = policy;
  }

  attach(host: Host, perform: Perform, owner: DriverOwner): this {
    this.replay.attach(host, perform, owner);
    return this;
  }

  start(startTree: () => void): void {
    this.replay.start(startTree);
  }

  command(event: SessionCommand): void {
    this.live?.command(event);
  }

  answer(key: string, outcome: Outcome): void {
    this.live?.answer(key, outcome);
  }

  /** Whether the session's tools had been opened. */
  get needsTools(): boolean {
    const { pending } = this.replay;
    return pending.length > 0 && !pending.some(({ kind }) => kind === 'prepare' || kind === 'close');
  }

  /** The keys of the effects that had begun and are not performed again. */
  get interrupted(): string[] {
    const isOver = (effect: Effect) => this.replay.begunAt.has(effect.key) && this.policy.interrupted(effect) !== null;
    return this.replay.pending.flatMap((effect) => (isOver(effect) ? [effect.key] : []));
  }

  /** Takes the steps whose deliveries were written down, but not what followed from them. From then on, it lives. */
  catchUp(): void {
    for (let step = this.replay.nextStep(); step !== undefined; step = this.replay.nextStep()) this.log.applying(step);
    this.live = new JournaledDriver(this.log, this.policy, this.replay);
  }

  goOn(): void {
    this.live?.goOn();
  }

  async suspend(): Promise<void> {
    await this.live?.suspend();
  }

  async settled(): Promise<void> {
    await this.live?.settled();
  }

  get isBusy(): boolean {
    return this.live?.isBusy ?? false;
  }

  release(): void {
    this.live?.release();
  }
}
