import { getAdjacencyMap, getShortestPaths, getSimplePaths } from '@xstate/graph';
import {
  type AnyActor,
  type AnyActorLogic,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createActor,
  type EventObject,
  setup,
} from 'xstate';
import type { Fact, WorkflowFact } from '../../machines/index.ts';
import { arrowName, guardName } from '../../src/inspect/recorded/arrow-names.ts';

/** A walk of one machine: its input and the events possible in each state. Lower levels appear only as outcomes. */
export type Walk = {
  machine: AnyStateMachine;
  input: unknown;
  events: (snapshot: AnyMachineSnapshot) => EventObject[];
  /** Returns the key that identifies a state; by default it includes the whole context. */
  key?: (snapshot: AnyMachineSnapshot) => string;
};

export type Edge = { from: string; event: EventObject; to: string };
export type Graph = {
  states: Map<string, AnyMachineSnapshot>;
  edges: Edge[];
  /** The shortest sequence of events that leads to each state. */
  shortest: Map<string, EventObject[]>;
};

const wholeKey = (snapshot: AnyMachineSnapshot) => JSON.stringify([snapshot.value, snapshot.status, snapshot.context]);
const isInit = (event: EventObject) => event.type.startsWith('xstate.init');

function options({ input, events, key = wholeKey }: Walk) {
  return { input, events, serializeState: key, serializeEvent: (event: EventObject) => JSON.stringify(event) } as never;
}

/** Returns all reachable states and all arrows between them. */
export function explore(walk: Walk): Graph {
  const states = new Map<string, AnyMachineSnapshot>();
  const edges: Edge[] = [];
  const map = getAdjacencyMap(walk.machine as never, options(walk)) as Record<
    string,
    { state: AnyMachineSnapshot; transitions: Record<string, { event: EventObject; state: AnyMachineSnapshot }> }
  >;
  const key = walk.key ?? wholeKey;
  for (const [from, { state, transitions }] of Object.entries(map)) {
    states.set(from, state);
    for (const { event, state: next } of Object.values(transitions)) edges.push({ from, event, to: key(next) });
  }
  const shortest = new Map(
    getShortestPaths(walk.machine as never, options(walk)).map((path) => [
      key(path.state as never),
      path.steps.map((step) => step.event as EventObject).filter((event) => !isInit(event)),
    ]),
  );
  return { states, edges, shortest };
}

/** Returns the events of every path that visits no state twice. */
export function simplePaths(walk: Walk): EventObject[][] {
  return getSimplePaths(walk.machine as never, options(walk)).map((path) =>
    path.steps.map((step) => step.event as EventObject).filter((event) => !isInit(event)),
  );
}

/** The results of one event. The first step of a trail is the start of the machine. */
export type Step = {
  event: EventObject | null;
  /** The arrows taken, including those of `always` and of invokes. */
  arrows: string[];
  /** All output, in order: facts, events sent to other actors, and invocations of the level below. */
  out: ({ fact: Fact | WorkflowFact } | { sent: EventObject; to: string } | { asked: string; input: unknown })[];
  /** The state value after the event, as JSON. */
  value: string;
  context: Record<string, unknown>;
  children: string[];
};

/** The record of a path walked in a real actor. */
export type Trail = {
  steps: Step[];
  facts: (Fact | WorkflowFact)[];
  snapshots: AnyMachineSnapshot[];
  arrows: Set<string>;
  end: AnyMachineSnapshot;
};

const inert = {
  getInitialSnapshot: () => ({ status: 'active', output: undefined, error: undefined }),
  transition: (snapshot: unknown) => snapshot,
  getPersistedSnapshot: (snapshot: unknown) => snapshot,
} as unknown as AnyActorLogic;

/** Returns the machine with inert actors below it and with guards that report each result to `told`. */
export function silenced(machine: AnyStateMachine, told: (guard: string, said: boolean) => void): AnyStateMachine {
  const { actors, guards } = machine.implementations;
  const wrapped = Object.entries(guards).map(([name, guard]) => [
    name,
    typeof guard === 'function'
      ? (args: never, params: never) => {
          const said = (guard as (args: never, params: never) => boolean)(args, params);
          told(guardName(name, params), said);
          return said;
        }
      : guard,
  ]);
  return machine.provide({
    actors: Object.fromEntries(Object.keys(actors).map((name) => [name, inert])),
    guards: Object.fromEntries(wrapped),
  } as never);
}

/** Walks a path in a real actor, under a parent that accepts every event. */
export function follow(machine: AnyStateMachine, input: unknown, events: readonly EventObject[]): Trail {
  const snapshots: AnyMachineSnapshot[] = [];
  const steps: Step[] = [];
  const stepOf = (event: EventObject | null): Step => {
    const step: Step = { event, arrows: [], out: [], value: '', context: {}, children: [] };
    steps.push(step);
    return step;
  };
  let step = stepOf(null);
  const parent = setup({ actors: { walked: machine } }).createMachine({
    invoke: { id: 'walked', src: 'walked', input: input as never },
    on: { '*': {} },
  });
  const ends: AnyMachineSnapshot[] = [];
  const actor = createActor(parent, {
    inspect: (inspected) => {
      const actorRef = inspected.actorRef as AnyActor;
      if (
        inspected.type === '@xstate.event' &&
        (inspected.sourceRef as AnyActor | undefined)?.id === 'walked' &&
        !isInternal(inspected.event)
      ) {
        step.out.push({ sent: inspected.event, to: actorRef._parent === undefined ? 'parent' : actorRef.id });
      }
      if (inspected.type === '@xstate.actor' && actorRef._parent?.id === 'walked') {
        step.out.push({ asked: `${actorRef.src} as ${actorRef.id}`, input: actorRef.options.input });
      }
      if (actorRef.id !== 'walked') return;
      if (inspected.type === '@xstate.actor') actorRef.on('*', (fact) => step.out.push({ fact: fact as never }));
      if (inspected.type === '@xstate.microstep') {
        for (const transition of inspected._transitions) step.arrows.push(arrowName(transition as never));
        snapshots.push(inspected.snapshot as AnyMachineSnapshot);
      }
      if (inspected.type === '@xstate.snapshot') {
        const snapshot = inspected.snapshot as AnyMachineSnapshot;
        step.value = JSON.stringify(snapshot.value);
        step.context = snapshot.context;
        ends.push(snapshot);
      }
    },
  });
  actor.start();
  const walked = actor.getSnapshot().children.walked;
  const children = () => Object.keys((walked?.getSnapshot() as AnyMachineSnapshot | undefined)?.children ?? {});
  step.children = children();
  for (const event of events) {
    if (ends.at(-1)?.status === 'done') break;
    step = stepOf(event);
    walked?.send(event);
    step.children = children();
  }
  const end = ends.at(-1) ?? (walked?.getSnapshot() as AnyMachineSnapshot);
  actor.stop();
  const facts = steps.flatMap(({ out }) => out.flatMap((one) => ('fact' in one ? [one.fact] : [])));
  return { steps, facts, snapshots, arrows: new Set(steps.flatMap(({ arrows }) => arrows)), end };
}

const isInternal = ({ type }: EventObject) => type.startsWith('xstate.');

/** Returns all arrows in the configuration. */
export function allArrows(machine: AnyStateMachine): Set<string> {
  const arrows = new Set<string>();
  const visit = (node: AnyStateMachine['root']): void => {
    for (const transition of node.transitions.values())
      for (const one of transition) arrows.add(arrowName(one as never));
    for (const one of node.always ?? []) arrows.add(arrowName(one as never));
    for (const child of Object.values(node.states)) visit(child as never);
  };
  visit(machine.root);
  return arrows;
}

/** Returns the ids of all states in the configuration. */
export function allStates(machine: AnyStateMachine): string[] {
  const ids = (node: AnyStateMachine['root']): string[] => [
    node.id,
    ...Object.values(node.states).flatMap((child) => ids(child as never)),
  ];
  return ids(machine.root);
}

/** Returns the states that cannot reach a final state. */
export function deadEnds({ states, edges }: Graph): string[] {
  const into = new Map<string, string[]>();
  for (const { from, to } of edges) into.set(to, [...(into.get(to) ?? []), from]);
  const alive = new Set([...states].flatMap(([key, snapshot]) => (snapshot.status === 'done' ? [key] : [])));
  for (const key of alive) for (const from of into.get(key) ?? []) alive.add(from);
  return [...states.keys()].filter((key) => !alive.has(key));
}
