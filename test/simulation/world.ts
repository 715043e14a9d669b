import type { Clock } from '../../src/host/clock.ts';
import type { Choices } from './choices.ts';
import type { Processes } from './processes.ts';
import type { Wire } from './wire.ts';

type Task = { label: string; run: () => void };
type Alarm = { dueAt: number; ring: () => void };

/**
 * The world of a simulated session: its clock, and all that may happen next. Each `step` picks one thing, which happens. A
 * life ends when the process dies; what it had pending never happens. When another process takes the session over, the
 * life continues beside the new one, and does not know.
 */
export class World {
  readonly choices: Choices;
  readonly wire: Wire | null;
  readonly processes: Processes | null;
  /** What happened, a line each. */
  readonly transcript: string[] = [];
  /** How often each kind of trouble was made. */
  readonly troubles = new Map<string, number>();
  steps = 0;
  private time = 1_700_000_000_000;
  private readonly startedAt = this.time;
  private setBackMs = 0;
  life = new Life(this);
  /** Lives whose session another process has taken over. */
  readonly outdated: Life[] = [];

  /** Over `wire`, models and servers are asked over HTTP. With `processes`, servers are processes. */
  constructor(choices: Choices, { wire, processes }: { wire?: Wire; processes?: Processes }) {
    this.choices = choices;
    this.wire = wire ?? null;
    this.processes = processes ?? null;
  }

  /** Whether what is sent to a server arrives at once. */
  get isDirect(): boolean {
    return this.wire === null && this.processes === null;
  }

  /** Simulated ms so far. */
  get passedMs(): number {
    return this.time - this.startedAt;
  }

  now(): number {
    return this.time - this.setBackMs;
  }

  tell(line: string): void {
    this.transcript.push(`${String(this.passedMs).padStart(8)} ms  ${line}`);
  }

  trouble(kind: string): void {
    this.troubles.set(kind, (this.troubles.get(kind) ?? 0) + 1);
  }

  /** Sets the clock back: the time of day, but no alarm. */
  setBack(ms: number): void {
    this.setBackMs += ms;
  }

  /** The process dies, with its connections: a new life begins. */
  die(): void {
    for (const connection of this.life.connections) void connection.close();
    this.life = new Life(this);
  }

  /** Another process takes the session over: a new life begins beside this one. */
  takeOver(): void {
    this.outdated.push(this.life);
    this.life = new Life(this);
  }

  /** Lets one thing happen. Returns false if nothing can. */
  step(): boolean {
    const lives = [this.life, ...this.outdated];
    const tasks = lives.flatMap((life) => life.tasks);
    const alarms = lives.flatMap((life) => life.alarms);
    if (tasks.length + alarms.length === 0) return false;
    this.steps += 1;
    // Time mostly passes only when nothing else can happen.
    const passes = tasks.length === 0 || (alarms.length > 0 && this.choices.below(100) === 99);
    if (passes) {
      const next = alarms.reduce((one, other) => (other.dueAt < one.dueAt ? other : one));
      for (const life of lives) remove(life.alarms, next);
      this.time = Math.max(this.time, next.dueAt);
      this.tell('time passes');
      next.ring();
      return true;
    }
    const task = tasks[this.choices.below(tasks.length)];
    if (task === undefined) throw new Error('there is nothing to pick from');
    for (const life of lives) remove(life.tasks, task);
    this.tell(task.label);
    task.run();
    return true;
  }

  /** Resolves once nothing more follows from what happened. */
  async settled(): Promise<void> {
    await this.wire?.quiet();
    await this.processes?.quiet();
    for (let turn = 0; turn < 4; turn += 1) await new Promise(setImmediate);
  }

  /** When an alarm falls due, in monotonic time, which `setBack` does not change. */
  dueIn(ms: number): number {
    return this.time + ms;
  }
}

/** What may happen in one life of the process. */
export class Life {
  readonly tasks: Task[] = [];
  readonly alarms: Alarm[] = [];
  /** The open connections to servers. */
  readonly connections = new Set<{ close: () => unknown }>();
  /** Whether a write failed; if the session ended nevertheless, its journal lacks the end. */
  hasLostWrite = false;
  private readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  /** It died, or lost its session. */
  get isOver(): boolean {
    return this.world.life !== this;
  }

  get isDead(): boolean {
    return this.isOver && !this.world.outdated.includes(this);
  }

  /** From now on, this may happen. Returns a function that takes it back. */
  task(label: string, run: () => void): () => void {
    const task = { label, run };
    this.tasks.push(task);
    return () => remove(this.tasks, task);
  }

  /** Resolves when it is picked. */
  turn(label: string): Promise<void> {
    return new Promise((resolve) => this.task(label, resolve));
  }

  readonly clock: Clock = {
    now: () => this.world.now(),
    alarm: (delayMs, ring) => {
      const alarm = { dueAt: this.world.dueIn(delayMs), ring };
      this.alarms.push(alarm);
      return () => remove(this.alarms, alarm);
    },
    sleepUntil: (dueAt, signal) =>
      new Promise((resolve) => {
        const end = () => {
          cancel();
          signal.removeEventListener('abort', end);
          resolve();
        };
        const cancel = this.clock.alarm(Math.max(0, dueAt - this.world.now()), end);
        signal.addEventListener('abort', end, { once: true });
        if (signal.aborted) end();
      }),
  };
}

function remove<Item>(items: Item[], item: Item): void {
  const at = items.indexOf(item);
  if (at !== -1) items.splice(at, 1);
}
