/**
 * The workflow machine: one run over a backlog, item by item, until none is left or an incident ends it (W-1). An
 * incident first becomes a work item (W-2), and every path passes through the retrospective and the summary (W-3).
 * Rules: workflow.rules.ts, item.rules.ts, incident.rules.ts, ending.rules.ts. `runWorkflow` starts it.
 */
import type { Delivered } from '../contract/effects.ts';
import type { EndingOutcome, Phase } from '../contract/work.ts';
import { captureInput, outputOf, reviewInput, summariseInput } from './ending.rules.ts';
import { archiveInput, scanInput, setAsideInput, waitInput, workInput } from './item.rules.ts';
import { freshRun, type Refusal } from './workflow.rules.ts';
import { workflowSetup } from './workflow.setup.ts';

/** Action parameters. */
type Done<Output> = { event: { output: Output } };
type Broken = { event: { error: unknown } };
const ofOutcome = <Outcome>({ event }: Done<{ outcome: Outcome }>) => ({ outcome: event.output.outcome });
const ofScan = ({ event }: Done<Delivered<'scan'>>) => ({ scan: event.output });
const ofWork = ({ event }: Done<Delivered<'work'>>) => ({ work: event.output });
const ofDefect = ({ event }: Broken) => ({ error: event.error });
const ofReason = ({ event }: { event: { reason: string } }) => ({ reason: event.reason });

/** The transitions of an effect that a phase requires. */
const ended =
  (phase: Phase) =>
  ({ event }: Done<{ outcome: EndingOutcome }>) => ({ phase, outcome: event.output.outcome });
const lost =
  (phase: Phase) =>
  ({ event }: Broken) => ({ phase, error: event.error });
const refuses = (phase: Phase) => {
  const params = ({ event }: Done<{ outcome: Refusal }>) => ({ phase, outcome: event.output.outcome });
  return { target: 'capturing', actions: { type: 'noteRefusal', params } } as const;
};
const breaks = (phase: Phase) => {
  return { target: 'capturing', actions: { type: 'noteDefect', params: lost(phase) } } as const;
};

export const workflowMachine = workflowSetup.createMachine({
  id: 'workflow',
  description: 'One run over a backlog; every failure becomes a work item.',
  context: ({ input }) => freshRun(input),
  entry: 'announceStart',
  on: {
    'workflow.abort': { actions: { type: 'noteAbort', params: ofReason } },
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
        input: { key: 'restore', request: {} },
        onDone: [
          { guard: { type: 'isFresh', params: ofOutcome }, target: 'scanning' },
          {
            guard: { type: 'isCrashed', params: ofOutcome },
            target: 'capturing',
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
            guard: { type: 'scanAgentUnavailable', params: ofOutcome },
            target: 'judging',
            actions: { type: 'takeLostScan', params: ofScan },
          },
          {
            guard: { type: 'scanFailed', params: ofOutcome },
            target: 'capturing',
            actions: { type: 'takeScan', params: ofOutcome },
          },
          { guard: 'abortRequested', target: 'reviewing' },
          {
            guard: { type: 'scanFoundStop', params: ofOutcome },
            target: 'capturing',
            actions: { type: 'takeScan', params: ofOutcome },
          },
          {
            guard: { type: 'itemRemains', params: ofOutcome },
            target: 'working',
            actions: [{ type: 'takeScan', params: ofOutcome }, { type: 'takeItem', params: ofOutcome }, 'announceItem'],
          },
          { target: 'reviewing', actions: { type: 'takeScan', params: ofOutcome } },
        ],
        onError: breaks('scanning'),
      },
    },
    working: {
      description: 'An agent works on the item, or tests the result.',
      meta: { rules: ['W-1'] },
      tags: 'item',
      entry: ['countTry', 'announceWorkPhase'],
      invoke: {
        id: 'work',
        src: 'work',
        input: ({ context }) => workInput(context),
        onDone: { target: 'judging', actions: { type: 'takeWork', params: ofWork } },
        onError: { target: 'capturing', actions: { type: 'noteWorkDefect', params: ofDefect } },
      },
    },
    judging: {
      description: 'How did the agent end?',
      meta: { rules: ['W-1'] },
      tags: 'item',
      always: [
        { guard: 'criticalErrorRaised', target: 'capturing' },
        { guard: { type: 'workWas', params: { status: 'aborted' } }, target: 'reviewing' },
        { guard: { type: 'workWas', params: { status: 'unstarted' } }, target: 'tallying' },
        { guard: 'triesRemain', target: 'backingOff', actions: 'announceUnavailable' },
        { guard: 'subAgentUnavailable', target: 'capturing', actions: 'announceUnavailable' },
        { guard: { type: 'workWas', params: { status: 'blocked' } }, target: 'settingAside' },
        { guard: { type: 'workWas', params: { status: 'failed' } }, target: 'tallying', actions: 'noteFailure' },
        { guard: 'isToBeTested', target: 'working', actions: 'beginTesting' },
        { target: 'archiving' },
      ],
    },
    backingOff: {
      description: 'The agent was unavailable; the run waits before a retry.',
      meta: { rules: ['W-1'] },
      tags: ['item', 'waiting'],
      entry: 'announceWait',
      invoke: {
        id: 'wait',
        src: 'wait',
        input: ({ context }) => waitInput(context),
        onDone: [{ guard: 'isScanning', target: 'scanning' }, { target: 'working' }],
        onError: [{ guard: 'isScanning', target: 'scanning' }, { target: 'working' }],
      },
      on: {
        'workflow.abort': {
          target: 'reviewing',
          actions: { type: 'noteAbort', params: ofReason },
        },
      },
    },
    archiving: {
      description: 'The finished item is archived.',
      meta: { rules: ['W-1'] },
      tags: 'item',
      entry: { type: 'announcePhase', params: { phase: 'archiving' } },
      invoke: {
        id: 'archive',
        src: 'archive',
        input: ({ context }) => archiveInput(context),
        onDone: [
          {
            guard: { type: 'wasFiled', params: ofOutcome },
            target: 'tallying',
            actions: 'noteSuccess',
          },
          refuses('archiving'),
        ],
        onError: breaks('archiving'),
      },
    },
    settingAside: {
      description: 'The item waits for a person; the task is recorded.',
      meta: { rules: ['W-2'] },
      tags: 'item',
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
          refuses('settingAside'),
        ],
        onError: breaks('settingAside'),
      },
    },
    tallying: {
      description: 'May the run take another item?',
      meta: { rules: ['W-1'] },
      always: [
        { guard: 'consecutiveFailuresReached', target: 'capturing' },
        { guard: 'stopRequested', target: 'capturing' },
        { guard: 'abortRequested', target: 'reviewing' },
        { target: 'scanning' },
      ],
    },
    capturing: {
      description: 'Each incident becomes a work item.',
      meta: { rules: ['W-2'] },
      tags: 'ending',
      entry: ['noteIncidents', { type: 'announcePhase', params: { phase: 'capturing' } }],
      invoke: {
        id: 'capture',
        src: 'capture',
        input: ({ context }) => captureInput(context),
        onDone: {
          target: 'weighing',
          actions: { type: 'takeCapture', params: ofOutcome },
        },
        onError: {
          target: 'weighing',
          actions: { type: 'takeLostCapture', params: ofDefect },
        },
      },
    },
    weighing: {
      description: 'Do the incidents end the run?',
      meta: { rules: ['W-1'] },
      tags: 'ending',
      always: [
        { guard: 'runIsOver', target: 'reviewing' },
        { guard: 'abortRequested', target: 'reviewing' },
        { target: 'scanning' },
      ],
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
        onDone: {
          target: 'summarising',
          actions: { type: 'takeEnding', params: ended('reviewing') },
        },
        onError: {
          target: 'summarising',
          actions: { type: 'takeLostEnding', params: lost('reviewing') },
        },
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
        onDone: {
          target: 'ending',
          actions: { type: 'takeEnding', params: ended('summarising') },
        },
        onError: {
          target: 'ending',
          actions: { type: 'takeLostEnding', params: lost('summarising') },
        },
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
