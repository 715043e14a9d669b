import type { InspectionEvent } from 'xstate';
import type { Delivery, HostEvent } from '../../machines/index.ts';
import { expected, messageOf, onRejection } from '../errors.ts';
import type { Clock } from './clock.ts';
import type { Driver, MakeDriver, Perform } from './driver.ts';
import { Host } from './host.ts';

/** What `run-machine` needs of an actor: the root of a session, or of a workflow run. */
type RootActor<Command, Output> = {
  start(): unknown;
  send(event: Command): void;
  subscribe(observer: { complete: () => void; error: (error: unknown) => void }): unknown;
  getSnapshot(): { status: string; output?: Output | undefined };
};

/** Settings for `createActor`. */
export type ActorSettings = { clock: typeof noClock; inspect: (event: InspectionEvent) => void };

export type MachineParts<Command, Emitted, Output> = {
  /** Creates the root actor, with these settings. */
  actor: (settings: ActorSettings) => RootActor<Command, Output>;
  perform: Perform;
  driver: MakeDriver;
  clock: Clock;
  random: () => number;
  /** Aborts the machine: its reason becomes the command. */
  signal: AbortSignal | undefined;
  abortCommand: (reason: unknown) => Command;
  /** The user's inspection observer. */
  inspect: ((event: InspectionEvent) => void) | undefined;
  owner: MachineOwner<Command, Emitted>;
};

/** Whom a running machine reports to. None of it may throw. */
export type MachineOwner<Command, Emitted> = {
  /** A fact, in the middle of a step of the actor tree. */
  take(fact: Emitted): void;
  /** Before each delivery, in order. */
  delivering(delivery: Delivery<Command>): void;
  /** A command that came after the end. */
  tooLate(command: Command): void;
  late(key: string): void;
  describeDefect(error: unknown): string;
  /** A function of the user's threw. */
  userCodeFailed(name: string, error: unknown): void;
};

/** How a machine ended: with its output, or with a defect of its own. */
export type MachineEnd<Output> = { output: Output } | { defect: unknown };

/**
 * Runs a machine: its actor on a host, by a driver, with the loop over everything that its actors emit (D-1). Leaves
 * address the host; all else is a fact.
 */
export class RunningMachine<Command, Emitted extends { type: string }, Output> {
  readonly end: Promise<MachineEnd<Output>>;
  private readonly root: RootActor<Command, Output>;
  private readonly driver: Driver<Command>;
  private readonly parts: MachineParts<Command, Emitted, Output>;
  private inspectorFailed = false;

  constructor(parts: MachineParts<Command, Emitted, Output>) {
    this.parts = parts;
    const { owner, clock } = parts;
    const host = new Host();
    this.driver = parts.driver<Command>(host, parts.perform, {
      now: () => clock.now(),
      chance: () => this.chance(),
      command: (event) => this.send(event),
      delivering: (delivery) => owner.delivering(delivery),
      describeDefect: (error) => owner.describeDefect(error),
      late: (key) => owner.late(key),
    });
    const take = (emitted: Emitted | HostEvent) => (isHostEvent(emitted) ? host.take(emitted) : owner.take(emitted));
    this.root = parts.actor({
      clock: noClock,
      inspect: (event) => {
        const { type, actorRef } = event;
        if (type === '@xstate.actor' && isEmitter<Emitted>(actorRef)) actorRef.on('*', take);
        this.inspected(event);
      },
    });
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
    this.listen();
  }

  command(event: Command): void {
    this.driver.command(event);
  }

  answer: Driver<Command>['answer'] = (key, outcome) => this.driver.answer(key, outcome);

  private send(event: Command): void {
    if (this.root.getSnapshot().status === 'active') this.root.send(event);
    else this.parts.owner.tooLate(event);
  }

  private chance(): number {
    try {
      const chance = this.parts.random();
      if (chance >= 0 && chance < 1) return chance;
      throw new Error(expected('random()', chance, 'a number from 0 to below 1'));
    } catch (error) {
      this.parts.owner.userCodeFailed('random', error);
      return 0.5;
    }
  }

  /** An inspector that throws is reported once, and breaks nothing. */
  private inspected(event: InspectionEvent): void {
    const { inspect } = this.parts;
    if (inspect === undefined) return;
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

  private listen(): void {
    const { signal, abortCommand } = this.parts;
    if (signal === undefined) return;
    const abort = () => this.command(abortCommand(messageOf(signal.reason)));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    void this.end.then(() => signal.removeEventListener('abort', abort));
  }
}

/** Timeouts belong to the effects: a machine that asks for a timer is a defect (D-1). */
export const noClock = {
  setTimeout: (): never => {
    throw new Error('machines have no timers: waiting is an effect');
  },
  clearTimeout: () => undefined,
};

function isHostEvent(emitted: { type: string }): emitted is HostEvent {
  return emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled';
}

type Emitter<Emitted> = { on(type: '*', listener: (emitted: Emitted | HostEvent) => void): unknown };

/** Every actor of the system is one: machines emit facts, and leaves emit what they ask of the host. */
function isEmitter<Emitted>(actor: object): actor is Emitter<Emitted> {
  return 'on' in actor && typeof actor.on === 'function';
}
