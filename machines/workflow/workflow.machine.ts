/**
 * The workflow machine: one run over a backlog, until no item is left or an incident ends it (W-1). Up to `concurrency`
 * items are in progress, each in a machine of its own; they are settled one by one, in the order in which they were
 * taken. An incident becomes a work item (W-2), and every path passes through the retrospective and the summary (W-3).
 * Rules: {workflow,queue,settling,incident,ending}.rules.ts. `runWorkflow` starts it.
 */

import type { Delivered } from '../contract/effects.ts';
import { restoreKey } from '../contract/keys.ts';
import type { EndingOutcome, Phase } from '../contract/work.ts';
import type { ItemOutput } from '../item/item.types.ts';
import { captureInput, outputOf, reviewInput, summariseInput } from './ending.rules.ts';
import { scanInput, takeInput, waitInput } from './queue.rules.ts';
import { archiveInput, setAsideInput } from './settling.rules.ts';
import { freshRun, type Refusal } from './workflow.rules.ts';
import { workflowSetup } from './workflow.setup.ts';

/** Action parameters. */
type Done<Output> = { event: { output: Output } };
type Broken = { event: { error: unknown } };
const ofOutcome = <Outcome>({ event }: Done<{ outcome: Outcome }>) => ({ outcome: event.output.outcome });
const ofScan = ({ event }: Done<Delivered<'scan'>>) => ({ scan: event.output });
const ofEnd = ({ event }: Done<ItemOutput>) => ({ end: event.output });
type BrokenItem = { event: { actorId: string; error: unknown } };
const ofBrokenItem = ({ event }: BrokenItem) => ({ actorId: event.actorId, error: event.error });
const ofDefect = ({ event }: Broken) => ({ error: event.error });
const ofReason = ({ event }: { event: { reason: string } }) => ({ reason: event.reason });
const aborts = [{ type: 'noteAbort', params: ofReason }, 'abortItems'] as const;

/** Builders for the transitions of an effect that a phase requires. */
const ended =
  (phase: Phase) =>
  ({ event }: Done<{ outcome: EndingOutcome }>) => ({ phase, outcome: event.output.outcome });
const lost =
  (phase: Phase) =>
  ({ event }: Broken) => ({ phase, error: event.error });
const refuses = (phase: Phase, ...also: 'leaveOpen'[]) => {
  const params = ({ event }: Done<{ outcome: Refusal }>) => ({ phase, outcome: event.output.outcome });
  return { target: 'tallying', actions: [{ type: 'noteRefusal', params }, ...also] } as const;
};
const breaks = (phase: Phase, ...also: 'leaveOpen'[]) => {
  return { target: 'tallying', actions: [{ type: 'noteDefect', params: lost(phase) }, ...also] } as const;
};

export const workflowMachine = workflowSetup.createMachine({
  id: 'workflow',
  description: 'One run over a backlog; every failure becomes a work item.',
  context: ({ input }) => freshRun(input),
  entry: 'announceStart',
  on: {
    'workflow.abort': { actions: aborts },
    'xstate.done.actor.item.*': { actions: { type: 'takeEnd', params: ofEnd } },
    'xstate.error.actor.item.*': { actions: { type: 'takeBrokenItem', params: ofBrokenItem } },
  },
  initial: 'restoring',
  states: {
    restoring: {
      description: 'Did the last run finish?',
      meta: { rules: ['W-4'] },
      entry: { type: 'announcePhase', params: { phase: 'restoring' } },
      invoke: {
        id: 'restore',
        src: 'restore',
        input: { key: restoreKey, request: {} },
        onDone: [
          { guard: { type: 'isFresh', params: ofOutcome }, target: 'scanning' },
          {
            guard: { type: 'isCrashed', params: ofOutcome },
            target: 'tallying',
            actions: { type: 'takeCrash', params: ofOutcome },
          },
          refuses('restoring'),
        ],
        onError: breaks('restoring'),
      },
    },
    scanning: {
      description: 'The backlog is read for open items and STOP markers.',
      meta: { rules: ['W-1'] },
      entry: ['countScan', { type: 'announcePhase', params: { phase: 'scanning' } }],
      invoke: {
        id: 'scan',
        src: 'scan',
        input: ({ context }) => scanInput(context),
        onDone: [
          {
            guard: { type: 'scanTriesRemain', params: ofOutcome },
            target: 'backingOff',
            actions: { type: 'takeLostScan', params: ofScan },
          },
          {
            guard: { type: 'scanAgentUnavailable', params: ofOutcome },
            target: 'tallying',
            actions: { type: 'takeLostScan', params: ofScan },
          },
          {
            guard: { type: 'scanFailed', params: ofOutcome },
            target: 'tallying',
            actions: { type: 'takeScan', params: ofOutcome },
          },
          { guard: 'abortRequested', target: 'tallying' },
          {
            guard: { type: 'scanFoundStop', params: ofOutcome },
            target: 'tallying',
            actions: { type: 'takeScan', params: ofOutcome },
          },
          {
            guard: { type: 'itemRemains', params: ofOutcome },
            target: 'taking',
            actions: [
              { type: 'takeScan', params: ofOutcome },
              { type: 'takeItems', params: ofOutcome },
            ],
          },
          { guard: 'isInProgress', target: 'working', actions: { type: 'takeScan', params: ofOutcome } },
          { target: 'reviewing', actions: { type: 'takeScan', params: ofOutcome } },
        ],
        onError: breaks('scanning'),
      },
    },
    backingOff: {
      description: 'The scan agent was unavailable; the run waits before a retry.',
      meta: { rules: ['W-1'] },
      tags: 'waiting',
      entry: 'announceWait',
      invoke: {
        id: 'wait',
        src: 'wait',
        input: ({ context }) => waitInput(context),
        onDone: 'scanning',
        onError: 'scanning',
      },
      on: { 'workflow.abort': { target: 'tallying', actions: aborts } },
    },
    taking: {
      description: 'The new items are recorded in the state file.',
      meta: { rules: ['W-4'] },
      invoke: {
        id: 'take',
        src: 'take',
        input: ({ context }) => takeInput(context),
        onDone: [
          { guard: 'abortRequested', target: 'tallying', actions: 'dropTaken' },
          { guard: { type: 'wereTaken', params: ofOutcome }, target: 'working', actions: 'startItems' },
          refuses('processing'),
        ],
        onError: breaks('processing'),
      },
    },
    working: {
      description: 'Agents work on the items in progress. The first of them is settled first.',
      meta: { rules: ['W-1'] },
      tags: 'settling',
      always: { guard: 'firstHasEnded', target: 'judging', actions: 'beginSettling' },
    },
    judging: {
      description: 'How did the work on the first item end?',
      meta: { rules: ['W-1'] },
      tags: 'settling',
      always: [
        { guard: { type: 'workWas', params: { status: 'critical' } }, target: 'tallying', actions: 'noteBrokenWork' },
        { guard: { type: 'workWas', params: { status: 'aborted' } }, target: 'tallying', actions: 'leaveOpen' },
        { guard: { type: 'workWas', params: { status: 'unstarted' } }, target: 'tallying', actions: 'leaveOpen' },
        {
          guard: { type: 'workWas', params: { status: 'unavailable' } },
          target: 'tallying',
          actions: 'noteLostAgent',
        },
        { guard: { type: 'workWas', params: { status: 'blocked' } }, target: 'settingAside' },
        { guard: { type: 'workWas', params: { status: 'failed' } }, target: 'tallying', actions: 'noteFailure' },
        { target: 'archiving' },
      ],
    },
    archiving: {
      description: 'The finished item is merged and archived.',
      meta: { rules: ['W-1'] },
      tags: 'settling',
      entry: { type: 'announcePhase', params: { phase: 'archiving' } },
      invoke: {
        id: 'archive',
        src: 'archive',
        input: ({ context }) => archiveInput(context),
        onDone: [
          { guard: { type: 'wasFiled', params: ofOutcome }, target: 'tallying', actions: 'noteSuccess' },
          {
            guard: { type: 'conflicts', params: ofOutcome },
            target: 'tallying',
            actions: { type: 'noteConflict', params: ofOutcome },
          },
          refuses('archiving', 'leaveOpen'),
        ],
        onError: breaks('archiving', 'leaveOpen'),
      },
    },
    settingAside: {
      description: 'The item waits for a person; the task is recorded.',
      meta: { rules: ['W-2'] },
      tags: 'settling',
      entry: { type: 'announcePhase', params: { phase: 'settingAside' } },
      invoke: {
        id: 'setAside',
        src: 'setAside',
        input: ({ context }) => setAsideInput(context),
        onDone: [
          {
            guard: { type: 'wasFiled', params: ofOutcome },
            target: 'tallying',
            actions: { type: 'noteSetAside', params: ofOutcome },
          },
          refuses('settingAside', 'leaveOpen'),
        ],
        onError: breaks('settingAside', 'leaveOpen'),
      },
    },
    tallying: {
      description: 'May the run take more items? If not, those in progress are settled first.',
      meta: { rules: ['W-1'] },
      tags: 'settling',
      entry: 'noteIncidents',
      always: [
        { guard: 'isDraining', target: 'working' },
        { guard: 'incidentsRemain', target: 'capturing' },
        { guard: 'exitsEarly', target: 'reviewing' },
        { target: 'scanning' },
      ],
    },
    capturing: {
      description: 'Each incident becomes a work item.',
      meta: { rules: ['W-2'] },
      tags: 'ending',
      entry: ['countCapture', { type: 'announcePhase', params: { phase: 'capturing' } }],
      invoke: {
        id: 'capture',
        src: 'capture',
        input: ({ context }) => captureInput(context),
        onDone: { target: 'tallying', actions: { type: 'takeCapture', params: ofOutcome } },
        onError: { target: 'tallying', actions: { type: 'takeLostCapture', params: ofDefect } },
      },
    },
    reviewing: {
      description: 'The retrospective.',
      meta: { rules: ['W-3'] },
      tags: 'ending',
      entry: { type: 'announcePhase', params: { phase: 'reviewing' } },
      invoke: {
        id: 'review',
        src: 'review',
        input: ({ context }) => reviewInput(context),
        onDone: { target: 'summarising', actions: { type: 'takeEnding', params: ended('reviewing') } },
        onError: { target: 'summarising', actions: { type: 'takeLostEnding', params: lost('reviewing') } },
      },
    },
    summarising: {
      description: 'The report of the run.',
      meta: { rules: ['W-3'] },
      tags: 'ending',
      entry: { type: 'announcePhase', params: { phase: 'summarising' } },
      invoke: {
        id: 'summarise',
        src: 'summarise',
        input: ({ context }) => summariseInput(context),
        onDone: { target: 'ending', actions: { type: 'takeEnding', params: ended('summarising') } },
        onError: { target: 'ending', actions: { type: 'takeLostEnding', params: lost('summarising') } },
      },
    },
    ending: {
      description: 'How did the run end?',
      meta: { rules: ['W-1'] },
      tags: 'ending',
      entry: 'announceEnd',
      always: [{ guard: 'exitsEarly', target: 'exitedEarly' }, { target: 'completed' }],
    },
    completed: {
      description: 'No further item may be taken.',
      meta: { rules: ['W-1'] },
      tags: 'ending',
      type: 'final',
    },
    exitedEarly: {
      description: 'An incident or an abort ended it.',
      meta: { rules: ['W-1'] },
      tags: 'ending',
      type: 'final',
    },
  },
  output: ({ context }) => outputOf(context),
});
