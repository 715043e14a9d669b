import type { AnyMachineSnapshot, EventObject } from 'xstate';
import {
  type ItemOutput,
  type ItemRef,
  itemMachine,
  type StopMarker,
  type WorkOutcome,
} from '../../../machines/index.ts';
import type { Walk } from '../explore.ts';
import { broke, delivered, done } from './shared.ts';

export const item = (number: number, over: Partial<ItemRef> = {}): ItemRef => ({
  id: `BUG-00${number}`,
  kind: 'bug',
  title: `Bug ${number}`,
  priority: 'P1',
  component: null,
  createdAt: null,
  blocked: false,
  folder: `bugs/BUG-00${number}`,
  ...over,
});

export const marker: StopMarker = { file: 'comments.md', item: null, request: 'Build it.', component: null };

export const worked = (over: Partial<WorkOutcome>): WorkOutcome => ({
  verdict: 'succeeded',
  agent: 'worker',
  slugs: [],
  message: 'so it went',
  requests: 1,
  lookedFor: [],
  stops: [],
  changed: [],
  ...over,
});

const outcomes = [
  worked({}),
  worked({ stops: [marker] }),
  worked({ verdict: 'failed', slugs: ['retries_exhausted'] }),
  worked({ verdict: 'failed', slugs: ['retries_exhausted'], stops: [marker] }),
  worked({ verdict: 'blocked' }),
  worked({ verdict: 'unavailable', lookedFor: ['agents/'] }),
  worked({ verdict: 'unstarted' }),
  worked({ verdict: 'critical' }),
  worked({ verdict: 'aborted' }),
];

/** The ways in which the work on an item ends, for the level above. */
export const itemOutputs: ItemOutput[] = outcomes.map((outcome) => ({
  iteration: 1,
  phase: 'processing',
  outcome,
  tries: 2,
  tryErrors: [],
  changed: [],
}));

export const itemClassOf = ({ outcome: { verdict, stops } }: ItemOutput): string =>
  `${verdict}${stops.length > 0 ? ', STOP' : ''}`;

export function itemWalk(tests: boolean, maxTries: number): Walk {
  const leave = { type: 'workflow.abort', reason: 'enough' };
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    switch (snapshot.value) {
      case 'working':
        return [...outcomes.map((outcome) => done('work', delivered(outcome))), broke('work'), leave];
      case 'backingOff':
        return [done('wait', delivered({})), broke('wait'), leave];
      default:
        return [];
    }
  };
  const input = { run: 'now', item: item(1), iteration: 1, tests, maxTries };
  return { machine: itemMachine, input, events };
}
