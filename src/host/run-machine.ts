import type { InspectionEvent } from 'xstate';
import type { Delivery, HostEvent } from '../../machines/index.ts';
import { expected, messageOf, onRejection } from '../input/errors.ts';
import type { Clock } from './clock.ts';
import type { Driver, DriverOwner, MakeDriver, Perform } from './driver.ts';
import type { Outcome } from './driver-core.ts';
import { listen, type System } from './hearing.ts';
import { Host } from './host.ts';

/** The root actor of a session or a workflow run, as far as `run-machine` uses it. */
type RootActor<Command, Output> = {
  readonly system: System;
  start(): unknown;
  send(event: Command): void;
  subscribe(observer: { complete: () => void; error: (error: unknown) => void }): unknown;
  getSnapshot(): ReturnType<Stateful['getSnapshot']> & {
    output?: Output | undefined;
    error?: unknown;
    hasTag(tag: string): boolean;
  };
};

type Inspect = (event: InspectionEvent) => void;
/** Settings for `createActor`. */
export type ActorSettings = { clock: typeof noClock; inspect?: Inspect };

export type MachineParts<Command, Emitted, Output> = {
  /** Creates the root actor, with these settings. */
  actor: (settings: ActorSettings) => RootActor<Command, Output>;
  perform: Perform;
  driver: MakeDriver<Command>;
  clock: Clock;
  random: () => number;
  /** Aborts the machine with the signal's reason. */
  signal: AbortSignal | undefined;
  abortCommand: (reason: unknown) => Command;
  /** The user's inspection observer. */
  inspect: Inspect | undefined;
  owner: MachineOwner<Command, Emitted>;
};

/** Receives a machine's reports. No method may throw. */
export type MachineOwner<Command, Emitted> = {
  /** Takes a fact, in the middle of an actor-tree step. */
  takeFact(fact: Emitted): void;
  /** Before each delivery, in order. */
  delivering(delivery: Delivery<Command>): void;
  /** A command arrived after the end. */
  tooLate(command: Command): void;
  late(key: string): void;
  describeDefect(error: unknown): string;
  /** A user function threw. */
  userCodeFailed(name: string, error: unknown): void;
};

/** How a machine ended: with its output, or with an internal defect. */
export type MachineEnd<Output> = { output: Output } | { defect: unknown };

/**
 * Runs a machine: connects its actor to a host and a driver, and routes its emitted events (D-1). Events from leaves
 * go to the host; the rest are facts.
 */
export class RunningMachine<Command, Emitted extends { type: string }, Output> {
  readonly end: Promise<MachineEnd<Output>>;
  private readonly root: RootActor<Command, Output>;
  private readonly driver: Driver<Command>;
  private readonly parts: MachineParts<Command, Emitted, Output>;
  private inspectorFailed = false;

  constructor(parts: MachineParts<Command, Emitted, Output>) {
    this.parts = parts;
    const { inspect, owner } = parts;
    const host = new Host();
    this.root = parts.actor(
      inspect === undefined
        ? { clock: noClock }
        : { clock: noClock, inspect: (event) => this.inspected(inspect, event) },
    );
    const takeEmitted = (emitted: Emitted | HostEvent) =>
      isHostEvent(emitted) ? host.takeRequest(emitted) : owner.takeFact(emitted);
    listen(this.root.system, { takeEmitted });
    this.driver = parts.driver(host, parts.perform, new Driven(this.root, parts));
    this.end = new Promise((resolve) => {
      this.root.subscribe({
        complete: () => {
          const { output } = this.root.getSnapshot();
          resolve(output === undefined ? { defect: new Error('the machine ended without an output') } : { output });
        },
        error: (defect) => resolve({ defect }),
      });
    });
  }

  /** Starts the actor tree. Not in the constructor, so the owner is complete when the first fact arrives. */
  start(): void {
    this.driver.start(() => this.root.start());
  }

  /** The active states, from the root actor down, such as `turn: attempting`. */
  get states(): string[] {
    return statesOf('', this.root);
  }

  /** The error that broke the machine; undefined if none did. */
  get defect(): unknown {
    return this.root.getSnapshot().error;
  }

  get hasEnded(): boolean {
    return this.root.getSnapshot().status !== 'active';
  }

  /** Whether a state that the root actor is in has the tag. */
  hasTag(tag: string): boolean {
    return this.root.getSnapshot().hasTag(tag);
  }

  command(event: Command): void {
    this.driver.command(event);
  }

  answer(key: string, outcome: Outcome): void {
    this.driver.answer(key, outcome);
  }

  /** An inspector that throws is harmless and reported once. */
  private inspected(inspect: Inspect, event: InspectionEvent): void {
    try {
      onRejection(inspect(event), (error) => this.inspectFailed(error));
    } catch (error) {
      this.inspectFailed(error);
    }
  }

  private inspectFailed(error: unknown): void {
    if (!this.inspectorFailed) this.parts.owner.userCodeFailed('inspect', error);
    this.inspectorFailed = true;
  }

  /** Listens to the abort signal. Commands that came before are delivered first. */
  listen(): void {
    const { signal, abortCommand } = this.parts;
    if (signal === undefined) return;
    const abort = () => this.command(abortCommand(messageOf(signal.reason)));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.leaveSignal = () => signal.removeEventListener('abort', abort);
    void this.end.then(this.leaveSignal);
  }

  /** Stops listening to the abort signal, when the machine ends or is let go. */
  leaveSignal = (): void => {};
}

/** What the driver of a machine may ask of it, and tell it. */
class Driven<Command, Emitted, Output> implements DriverOwner<Command> {
  private readonly root: RootActor<Command, Output>;
  private readonly parts: MachineParts<Command, Emitted, Output>;

  constructor(root: RootActor<Command, Output>, parts: MachineParts<Command, Emitted, Output>) {
    this.root = root;
    this.parts = parts;
  }

  now(): number {
    return this.parts.clock.now();
  }

  chance(): number {
    const { random, owner } = this.parts;
    try {
      const chance = random();
      onRejection(chance, (error) => owner.userCodeFailed('random', error));
      // A pause needs no more digits, and each is written down with its delivery.
      if (chance >= 0 && chance < 1) return Math.floor(chance * 10_000) / 10_000;
      throw new Error(expected('random()', chance, 'a number from 0 to below 1'));
    } catch (error) {
      owner.userCodeFailed('random', error);
      return 0.5;
    }
  }

  command(event: Command): void {
    if (this.root.getSnapshot().status === 'active') this.root.send(event);
    else this.parts.owner.tooLate(event);
  }

  delivering(delivery: Delivery<Command>): void {
    this.parts.owner.delivering(delivery);
  }

  describeDefect(error: unknown): string {
    return this.parts.owner.describeDefect(error);
  }

  late(key: string): void {
    this.parts.owner.late(key);
  }
}

/** Timeouts are effects: a machine that requests a timer is a defect (D-1). */
export const noClock = {
  setTimeout: (): never => {
    throw new Error('machines have no timers: waiting is an effect');
  },
  clearTimeout: () => undefined,
};

function isHostEvent(emitted: { type: string }): emitted is HostEvent {
  return emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled';
}

type Stateful = { getSnapshot(): { value?: unknown; status: string; children?: Record<string, Stateful | undefined> } };

function statesOf(name: string, actor: Stateful): string[] {
  const { value, status, children = {} } = actor.getSnapshot();
  if (value === undefined || (name !== '' && status !== 'active')) return [];
  const below = Object.entries(children).flatMap(([id, child]) => (child === undefined ? [] : statesOf(id, child)));
  return [`${name === '' ? 'session' : name}: ${pathOf(value)}`, ...below];
}

function pathOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  const paths = Object.entries(value).map(([state, inner]) =>
    typeof inner === 'object' && inner !== null && Object.keys(inner).length === 0
      ? state
      : `${state}.${pathOf(inner)}`,
  );
  return paths.join(' and ');
}
