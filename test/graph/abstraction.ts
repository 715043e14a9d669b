import type { AnyMachineSnapshot, EventObject } from 'xstate';
import type { Delivered } from '../../machines/index.ts';
import { executed } from '../../machines/tool-call/tool-call.rules.ts';
import { pure } from './coverage.ts';
import { explore, type Walk } from './explore.ts';
import { callClassOf } from './levels/attempt.ts';
import { turnClassOf } from './levels/session.ts';
import { attemptClassOf } from './levels/turn.ts';

/** What the walks of one machine distinguish: its states, and what it gets from the level below. */
export type Abstraction = {
  stateOf: (snapshot: AnyMachineSnapshot) => unknown[];
  eventOf: (event: EventObject) => string;
};

type DoneEvent = { output: never };
const output = (event: EventObject) => (event as EventObject & DoneEvent).output;

/** What a model's outcome holds. */
const modelClassOf = ({ outcome: { fault, calls } }: Delivered<'model'>): string =>
  [
    fault === null ? 'reply' : 'fault',
    ...calls.map(({ tool, needsApproval, report }) => [tool, needsApproval, report?.valid].join(' ')),
  ].join(', ');

export const abstractions: Record<string, Abstraction> = {
  session: {
    stateOf: ({ value, context }) => [
      value,
      context.turn,
      context.maxTurns,
      context.stopRequested,
      context.abortReason !== null,
      context.ending?.status,
    ],
    eventOf: (event) => (event.type === 'xstate.done.actor.turn' ? turnClassOf(output(event)) : event.type),
  },
  turn: {
    stateOf: ({ value, context }) => [value, context.attempt, context.maxAttempts, context.reportOnly],
    eventOf: (event) => (event.type === 'xstate.done.actor.attempt' ? attemptClassOf(output(event)) : event.type),
  },
  attempt: {
    stateOf: ({ value, context }) => [value, context.answers.filter((answer: unknown) => answer === null).length],
    eventOf: (event) => {
      if (event.type === 'xstate.done.actor.model') return modelClassOf(output(event));
      if (event.type.startsWith('xstate.done.actor.toolCall')) return callClassOf(output(event));
      if (event.type.startsWith('xstate.done.actor.tool')) return callClassOf(executed(output(event)));
      return event.type.replace('toolCall', 'tool');
    },
  },
  toolCall: { stateOf: ({ value }) => [value], eventOf: ({ type }) => type },
};

/** A step as an abstraction sees it. */
export function abstracted(
  { stateOf, eventOf }: Abstraction,
  before: AnyMachineSnapshot,
  event: EventObject,
  after: AnyMachineSnapshot,
): string {
  return `${JSON.stringify(stateOf(before))} -- ${eventOf(event)} -> ${JSON.stringify(stateOf(after))}`;
}

/** Returns the steps that the walks of a machine take, as its abstraction sees them. */
export function abstractSteps(abstraction: Abstraction, walks: readonly Walk[]): Set<string> {
  const steps = new Set<string>();
  for (const walk of walks) {
    const { states, edges } = explore(pure(walk));
    for (const { from, event, to } of edges) {
      const [before, after] = [states.get(from), states.get(to)];
      if (before !== undefined && after !== undefined) steps.add(abstracted(abstraction, before, event, after));
    }
  }
  return steps;
}
