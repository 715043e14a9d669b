import type { AnyActorLogic, AnyActorRef, AnyStateMachine, EventObject } from 'xstate';

export type System = AnyActorRef['system'];

/** Gets what the actors of a system emit. */
export type EmissionListener = { takeEmitted(emitted: EventObject): void };

type Implemented = AnyStateMachine['implementations']['actors'][string];

const listeners = new WeakMap<System, EmissionListener>();

/** From now on, `listener` gets what the actors of a system emit, if their logic is `heard`. */
export function listen(system: System, listener: EmissionListener): void {
  listeners.set(system, listener);
}

/**
 * Returns logic whose actors, and all below them, can be heard. An inspector learns of each actor too, but for an
 * inspector XState builds an event for every step, action and snapshot.
 */
export function heard<Logic extends AnyActorLogic>(logic: Logic): Logic {
  const below: AnyActorLogic = isMachine(logic) ? withActorsHeard(logic) : logic;
  const getInitialSnapshot: AnyActorLogic['getInitialSnapshot'] = (scope, input) => {
    const { emit, system } = scope;
    // A subscription (`on`) would cost each actor two tables.
    scope.emit = (emitted) => {
      // Looked up late: a system gets its listener after its first actors exist.
      listeners.get(system)?.takeEmitted(emitted);
      emit(emitted);
    };
    return below.getInitialSnapshot(scope, input);
  };
  return Object.create(below, { getInitialSnapshot: { value: getInitialSnapshot } });
}

function withActorsHeard(machine: AnyStateMachine): AnyStateMachine {
  const actors = Object.entries(machine.implementations.actors).map(([name, actor]) => [name, implemented(actor)]);
  return machine.provide({ actors: Object.fromEntries(actors) });
}

function implemented(actor: Implemented): Implemented {
  return 'src' in actor ? { ...actor, src: heard(actor.src) } : heard(actor);
}

function isMachine(logic: AnyActorLogic): logic is AnyStateMachine {
  return 'implementations' in logic && 'provide' in logic;
}
