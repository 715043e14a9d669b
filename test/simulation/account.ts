import { getEventListeners } from 'node:events';
import type { Delivery } from '../../machines/index.ts';
import type { Journal, Logger, Session, SessionEvent, SessionResult } from '../../src/index.ts';
import { MemoryJournal } from '../../src/journal/memory.ts';
import { type Begun, type Plan, planOf } from './agent.ts';
import type { Disk } from './disk.ts';
import type { Sent } from './model.ts';
import type { Life, World } from './world.ts';

export type Line = Record<string, unknown> & { level: keyof Logger };

/** All that is known of a simulated session. */
export class Account {
  readonly world: World;
  readonly plan: Plan;
  readonly startedAt: number;
  readonly sent: Sent[] = [];
  readonly begun: Begun[] = [];
  readonly lines: Line[] = [];
  readonly events: SessionEvent[] = [];
  /** The events of processes that had lost the session. */
  readonly outdatedEvents: SessionEvent[] = [];
  readonly deliveries: Delivery[] = [];
  readonly broken: string[] = [];
  /** Where its journal is, if not in memory. */
  readonly disk: Disk | null;
  private readonly memory: MemoryJournal | null;
  /** The ids of the calls that a person approved. */
  readonly approved = new Set<string>();
  /** The texts by which the session was steered. */
  readonly steered: string[] = [];
  /** When the last part of a reply was sent to the session itself, in simulated ms. */
  lastPartMs = 0;
  /** The events as a reader got them who kept up. */
  readonly read: SessionEvent[] = [];
  /** The events as someone who reads them at the end gets them. */
  told: readonly SessionEvent[] = [];
  /** How often another life began. */
  deaths = 0;
  /** The sessions of all lives, and whether their results came. */
  readonly followed: { life: Life; hasResult: boolean; signal: AbortSignal }[] = [];
  /** Whether an abort was delivered in this life. */
  isAborted = false;
  private sentBeforeCalm: number | null = null;
  session: Session | null = null;
  result: SessionResult | null = null;
  controller = new AbortController();
  owner = '';

  constructor(world: World, disk: Disk | null) {
    this.world = world;
    this.disk = disk;
    this.plan = planOf(world);
    this.startedAt = world.now();
    this.memory = world.choices.chance(50) ? new MemoryJournal() : null;
  }

  /** The session's journal, or null if it has none. */
  get journal(): Journal | null {
    return this.disk?.journal ?? this.memory;
  }

  /** Some agents of the plans are never compacted. */
  compact(): void {
    if (this.plan.compacts !== 'never' && this.plan.limits.maxRetries > 1) this.session?.compact();
  }

  /** From now on, nothing goes wrong. */
  becomesCalm(): void {
    this.sentBeforeCalm = this.sent.length;
  }

  get sentWhenCalm(): number | null {
    return this.sentBeforeCalm === null ? null : this.sent.length - this.sentBeforeCalm;
  }

  steer(): void {
    const text = `Go on, ${this.steered.length}.`;
    if (this.session?.steer(text) === true) this.steered.push(text);
  }

  breaks(promise: string): void {
    if (!this.broken.includes(promise)) this.broken.push(promise);
  }

  /** How many listeners are left on the signals of callers whose sessions have results. */
  get listenersLeft(): number {
    const left = this.followed.map(({ hasResult, signal }) =>
      hasResult ? getEventListeners(signal, 'abort').length : 0,
    );
    return left.reduce((sum, count) => sum + count, 0);
  }
}
