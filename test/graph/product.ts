import { createHash } from 'node:crypto';
import {
  type Actor,
  type AnyActorRef,
  type AnyMachineSnapshot,
  createActor,
  type EventObject,
  type InspectionEvent,
  type Snapshot,
} from 'xstate';
import {
  type Effect,
  type Fact,
  type HostEvent,
  type SessionCommand,
  type SessionInput,
  sessionMachine,
} from '../../machines/index.ts';
import { Host } from '../../src/host/host.ts';
import { noClock } from '../../src/host/run-machine.ts';
import { abstracted, abstractions } from './abstraction.ts';
import { Bookkeeper, freshLedger, type Ledger, type Settled } from './ledger.ts';

/** A walk of all machines of a session together. Only the results of their effects are made up. */
export type Whole = {
  input: SessionInput;
  settlings: (effect: Effect) => Settled[];
  /** The names of the model outcomes among them. */
  models: readonly string[];
  /** Each comes once, at any state. */
  commands: readonly SessionCommand[];
};

/** A step of one of the machines. */
type Seen = { event: EventObject; before: AnyMachineSnapshot; after: AnyMachineSnapshot };

type Happening = { command: SessionCommand } | { effect: Effect; settled: Settled };

type WholeState = { saved: Snapshot<unknown>; pending: Effect[]; ledger: Ledger; isOver: boolean };

export type Product = {
  states: number;
  /** The steps from state to state, by number. */
  edges: { from: number; to: number; isCommand: boolean }[];
  /** The steps of each machine, by its id, as its abstraction sees them. */
  steps: Map<string, Set<string>>;
  /** What was broken, each with the shortest way there. */
  broken: string[];
};

/** The most states of a walk; one with more counts as endless. */
const mostStates = 200_000;

/** Visits every state that the machines of a session can reach together. */
export function exploreWhole(whole: Whole): Product {
  const product: Product = { states: 0, edges: [], steps: new Map(), broken: [] };
  const numbers = new Map<string, number>();
  const queue: { number: number; state: WholeState; way: string }[] = [];
  const visit = (state: WholeState, way: string): number => {
    const key = digest(JSON.stringify([state.saved, state.ledger]));
    const known = numbers.get(key);
    if (known !== undefined) return known;
    product.states += 1;
    if (product.states > mostStates) throw new Error(`a walk has more than ${mostStates} states:${way}`);
    numbers.set(key, product.states);
    const { broken } = state.ledger;
    // Nothing that follows a broken promise is of interest.
    if (broken.length > 0) product.broken.push(`${broken.join('; ')}:${way}`);
    else if (!state.isOver) queue.push({ number: product.states, state, way });
    return product.states;
  };
  visit(new Run(whole, null).end(), '');
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { number: from, state, way } = next;
    for (const happening of happenings(whole, state)) {
      const run = new Run(whole, state);
      run.take(happening);
      const to = visit(run.end(), `${way} ${nameOf(happening)},`);
      for (const step of run.seen) note(product.steps, step);
      product.edges.push({ from, to, isCommand: 'command' in happening });
    }
  }
  return product;
}

const digest = (text: string) => createHash('sha256').update(text).digest('base64');

function note(steps: Product['steps'], { event, before, after }: Seen): void {
  const { id } = after.machine;
  const abstraction = abstractions[id];
  if (abstraction === undefined) throw new Error(`the machine ${id} has no abstraction`);
  const known = steps.get(id) ?? new Set();
  steps.set(id, known.add(abstracted(abstraction, before, event, after)));
}

const nameOf = (happening: Happening) =>
  'command' in happening ? happening.command.type : `${happening.effect.key} ${happening.settled.name}`;

function happenings({ settlings, commands }: Whole, { pending, ledger }: WholeState): Happening[] {
  return [
    ...pending.flatMap((effect) => settlings(effect).map((settled) => ({ effect, settled }))),
    ...commands.filter(({ type }) => !ledger.commands.includes(type)).map((command) => ({ command })),
  ];
}

/** The machines of a session in one state, and what is noted of the one step that they take from it. */
class Run {
  readonly seen: Seen[] = [];
  private readonly actor: Actor<typeof sessionMachine>;
  private readonly host = new Host();
  private readonly keeper: Bookkeeper;
  private readonly last = new Map<unknown, AnyMachineSnapshot>();
  private pending: Effect[];
  private isSeen = false;

  /** Restores the machines from `before`, so a state needs no path to it; or starts them. */
  constructor({ input }: Whole, before: WholeState | null) {
    this.keeper = new Bookkeeper(before?.ledger ?? freshLedger(input), input);
    const saved = before === null ? {} : { snapshot: structuredClone(before.saved) as never };
    const inspect = (event: InspectionEvent) => this.inspected(event);
    this.actor = createActor(sessionMachine, { input, clock: noClock, ...saved, inspect });
    this.actor.start();
    this.pending = this.host.drain().start;
    if (before === null) this.begun(this.pending);
    this.remember(this.actor);
    this.isSeen = true;
  }

  take(happening: Happening): void {
    if ('command' in happening) {
      this.keeper.commanded(happening.command);
      this.actor.send(happening.command);
    } else {
      const { effect, settled } = happening;
      const { key } = effect;
      this.keeper.settled(effect, settled);
      const { now: at } = this.keeper.ledger;
      const { outcome } = settled;
      this.host.deliver(outcome === undefined ? { key, at, defect: 'it broke' } : { key, at, chance: 0.5, outcome });
      this.pending = this.pending.filter((one) => one.key !== key);
    }
    const { start, cancel } = this.host.drain();
    this.begun(start);
    this.pending = [...this.pending.filter(({ key }) => !cancel.includes(key)), ...start];
  }

  end(): WholeState {
    const snapshot = this.actor.getSnapshot();
    const { status, context } = snapshot;
    const isOver = status !== 'active';
    const { keeper, pending } = this;
    const { ledger } = keeper;
    keeper.promise(status !== 'error', 'no machine breaks');
    keeper.promise(isOver === (ledger.ends === 1), 'S-3: the session ended if and only if it reported an end');
    const isWaiting = pending.some(({ key }) => key !== 'deadline');
    keeper.promise(isOver || isWaiting, 'a session ends, or waits for an effect');
    keeper.promise(
      !snapshot.matches({ running: 'turning' }) || context.spent.requests === ledger.sentBefore,
      `B-7: ${ledger.sentBefore} requests were sent before the turn, and ${context.spent.requests} are counted`,
    );
    const saved = this.actor.getPersistedSnapshot();
    this.isSeen = false;
    this.actor.stop();
    return { saved, pending, ledger, isOver };
  }

  private begun(effects: readonly Effect[]): void {
    for (const effect of effects) this.keeper.begun(effect);
  }

  private inspected(inspected: InspectionEvent): void {
    const actor = inspected.actorRef as AnyActorRef;
    if (inspected.type === '@xstate.actor')
      actor.on('*', (emitted: Fact | HostEvent) => {
        if (emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled') this.host.takeRequest(emitted);
        else this.keeper.fact(emitted);
      });
    if (inspected.type !== '@xstate.snapshot' || !('value' in inspected.snapshot)) return;
    const after = inspected.snapshot as AnyMachineSnapshot;
    const before = this.last.get(actor);
    const { event } = inspected;
    if (this.isSeen && before !== undefined && event.type !== 'xstate.stop') this.seen.push({ event, before, after });
    this.last.set(actor, after);
  }

  /** Notes the snapshots of `actor` and of the machines below it. */
  private remember(actor: AnyActorRef): void {
    const snapshot = actor.getSnapshot();
    if (!('value' in snapshot)) return;
    this.last.set(actor, snapshot);
    for (const child of Object.values(snapshot.children)) this.remember(child as AnyActorRef);
  }
}
