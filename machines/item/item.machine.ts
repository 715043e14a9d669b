/**
 * The item machine: the work on one item of a backlog, then its test (W-1). It retries an unavailable agent, and leaves
 * every other outcome to the workflow machine, which starts one for each item that it takes. Rules: item.rules.ts.
 */
import { assign, emit, setup } from 'xstate';
import type { Delivered, WorkflowAbort } from '../contract/effects.ts';
import { workflowLeaves } from '../contract/leaf.ts';
import {
  afterWork,
  brokenWork,
  endFact,
  freshItem,
  isToBeTested,
  outputOf,
  testingBegun,
  triesAreSpent,
  triesRemain,
  tryBegun,
  unavailableFact,
  waitFact,
  waitInput,
  workInput,
} from './item.rules.ts';
import type { ItemContext, ItemFact, ItemInput, ItemOutput, Work } from './item.types.ts';

/** Action parameters. */
const ofWork = ({ event }: { event: { output: Delivered<'work'> } }) => ({ work: event.output });
const ofDefect = ({ event }: { event: { error: unknown } }) => ({ error: event.error });

export const itemMachine = setup({
  types: {
    context: {} as ItemContext,
    input: {} as ItemInput,
    output: {} as ItemOutput,
    events: {} as WorkflowAbort,
    emitted: {} as ItemFact,
    children: {} as { work: 'work'; wait: 'wait' },
    meta: {} as { rules: string[] },
    tags: {} as 'waiting',
  },
  actors: { work: workflowLeaves.work, wait: workflowLeaves.wait },
  actions: {
    countTry: assign(({ context }) => tryBegun(context)),
    announcePhase: emit(({ context: { phase, item } }) => ({ type: 'phase.started', phase, item: item.id })),
    takeWork: assign(({ context }, { work }: { work: Work }) => afterWork(context, work)),
    noteDefect: assign(({ context }, { error }: { error: unknown }) => brokenWork(context, error)),
    beginTesting: assign(() => testingBegun()),
    announceUnavailable: emit(({ context }) => unavailableFact(context)),
    announceWait: emit(({ context }) => waitFact(context)),
    noteAbort: assign({ isAborted: true }),
    announceEnd: emit(({ context }) => endFact(context)),
  },
  guards: {
    triesRemain: ({ context }) => triesRemain(context),
    triesAreSpent: ({ context }) => triesAreSpent(context),
    isToBeTested: ({ context }) => isToBeTested(context),
  },
}).createMachine({
  id: 'item',
  description: 'The work on one item, and its test.',
  context: ({ input }) => freshItem(input),
  initial: 'working',
  on: { 'workflow.abort': { actions: 'noteAbort' } },
  states: {
    working: {
      description: 'An agent works on the item, or tests the result.',
      meta: { rules: ['W-1'] },
      entry: ['countTry', 'announcePhase'],
      invoke: {
        id: 'work',
        src: 'work',
        input: ({ context }) => workInput(context),
        onDone: { target: 'judging', actions: { type: 'takeWork', params: ofWork } },
        onError: { target: 'ended', actions: { type: 'noteDefect', params: ofDefect } },
      },
    },
    judging: {
      description: 'Does another agent have to work?',
      meta: { rules: ['W-1'] },
      always: [
        { guard: 'triesRemain', target: 'backingOff', actions: 'announceUnavailable' },
        { guard: 'triesAreSpent', target: 'ended', actions: 'announceUnavailable' },
        { guard: 'isToBeTested', target: 'working', actions: 'beginTesting' },
        { target: 'ended' },
      ],
    },
    backingOff: {
      description: 'The agent was unavailable; the item waits before a retry.',
      meta: { rules: ['W-1'] },
      tags: 'waiting',
      entry: 'announceWait',
      invoke: {
        id: 'wait',
        src: 'wait',
        input: ({ context }) => waitInput(context),
        onDone: 'working',
        onError: 'working',
      },
      on: { 'workflow.abort': { target: 'ended', actions: 'noteAbort' } },
    },
    ended: {
      description: 'The run settles items in the order in which it took them.',
      meta: { rules: ['W-1'] },
      entry: 'announceEnd',
      type: 'final',
    },
  },
  output: ({ context }) => outputOf(context),
});
