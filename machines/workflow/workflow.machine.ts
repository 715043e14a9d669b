/**
 * The workflow machine: one run over a backlog, item after item, until none is left or an incident ends it (W-1). Whatever
 * ends it becomes a work item first (W-2), and every path passes through the retrospective and the summary (W-3). Rules:
 * workflow.rules.ts, incident.rules.ts. Started by `runWorkflow`.
 */
import type { EndingOutcome, Phase, WorkPhase } from '../contract/work.ts';
import { captureInput, outputOf, reviewInput, summariseInput } from './ending.rules.ts';
import { archiveInput, scanInput, setAsideInput, waitInput, workInput } from './item.rules.ts';
import { freshRun, refusal } from './workflow.rules.ts';
import { workflowSetup } from './workflow.setup.ts';
import type { Work } from './workflow.types.ts';

/** What the arrows pass on of an outcome, or of a defect. */
const outcome = <O>({ event }: Done<{ outcome: O }>) => ({ outcome: event.output.outcome });
const ended =
  (phase: Phase) =>
  ({ event }: Done<{ outcome: EndingOutcome }>) => ({ phase, ...event.output });
const lost =
  (phase: Phase) =>
  ({ event }: Broken) => ({ phase, outcome: { created: [], problems: [String(event.error)] } });
const work =
  (phase: WorkPhase) =>
  ({ event }: Done<Omit<Work, 'phase'>>) => ({ phase, ...event.output });
const breaks = (phase: Phase) => {
  const params = ({ event }: Broken) => ({ phase, message: String(event.error) });
  return { target: 'capturing', actions: { type: 'noteCritical', params } } as const;
};
const refuses = (phase: Phase) => {
  const params = ({ event }: Done<{ outcome: object }>) => ({ phase, message: refusal(event.output.outcome) });
  return { target: 'capturing', actions: { type: 'noteCritical', params } } as const;
};
type Done<Output> = { event: { output: Output } };
type Broken = { event: { error: unknown } };

export const workflowMachine = workflowSetup.createMachine({
  id: 'workflow',
  description: 'One run over a backlog: every failure of it becomes a work item.',
  context: ({ input }) => freshRun(input),
  entry: 'announceStart',
  on: {
    'workflow.abort': { actions: { type: 'noteAbort', params: ({ event }) => ({ reason: event.reason }) } },
  },
  initial: 'restoring',
  states: {
    restoring: {
      description: 'Did the last run come to its end?',
      meta: { rules: ['W-4'] },
      entry: { type: 'announcePhase', params: { phase: 'restoring' } },
      invoke: {
        id: 'restore',
        src: 'restore',
        input: { key: 'restore', request: {} },
        onDone: [
          { guard: { type: 'isFresh', params: outcome }, target: 'scanning' },
          {
            guard: { type: 'isCrashed', params: outcome },
            target: 'capturing',
            actions: { type: 'takeCrash', params: outcome },
          },
          refuses('restoring'),
        ],
        onError: breaks('restoring'),
      },
    },
    scanning: {
      description: 'The backlog is read: what is open, and does anybody say STOP?',
      meta: { rules: ['W-1'] },
      entry: ['countScan', { type: 'announcePhase', params: { phase: 'scanning' } }],
      invoke: {
        id: 'scan',
        src: 'scan',
        input: ({ context }) => scanInput(context),
        onDone: [
          {
            guard: { type: 'scanFailed', params: outcome },
            target: 'capturing',
            actions: { type: 'takeScan', params: outcome },
          },
          { guard: 'abortRequested', target: 'reviewing' },
          {
            guard: { type: 'scanFoundStop', params: outcome },
            target: 'capturing',
            actions: { type: 'takeScan', params: outcome },
          },
          {
            guard: { type: 'itemRemains', params: outcome },
            target: 'processing',
            actions: [{ type: 'takeScan', params: outcome }, { type: 'takeItem', params: outcome }, 'announceItem'],
          },
          { target: 'reviewing', actions: { type: 'takeScan', params: outcome } },
        ],
        onError: breaks('scanning'),
      },
    },
    processing: {
      description: 'An agent works on the item.',
      meta: { rules: ['W-1'] },
      entry: ['countTry', { type: 'announcePhase', params: { phase: 'processing' } }],
      invoke: {
        id: 'work',
        src: 'work',
        input: ({ context }) => workInput(context, 'processing'),
        onDone: {
          target: 'judging',
          actions: {
            type: 'takeWork',
            params: work('processing'),
          },
        },
        onError: breaks('processing'),
      },
    },
    testing: {
      description: 'An agent tests what was done.',
      meta: { rules: ['W-1'] },
      entry: ['countTry', { type: 'announcePhase', params: { phase: 'testing' } }],
      invoke: {
        id: 'work',
        src: 'work',
        input: ({ context }) => workInput(context, 'testing'),
        onDone: {
          target: 'judging',
          actions: { type: 'takeWork', params: work('testing') },
        },
        onError: breaks('testing'),
      },
    },
    judging: {
      description: 'What did the work come to?',
      meta: { rules: ['W-1'] },
      always: [
        { guard: 'criticalErrorRaised', target: 'capturing' },
        { guard: { type: 'workWas', params: { status: 'aborted' } }, target: 'reviewing' },
        { guard: 'triesRemain', target: 'backingOff', actions: 'announceUnavailable' },
        { guard: 'subAgentUnavailable', target: 'capturing', actions: 'announceUnavailable' },
        { guard: { type: 'workWas', params: { status: 'blocked' } }, target: 'settingAside' },
        { guard: { type: 'workWas', params: { status: 'failed' } }, target: 'tallying', actions: 'noteFailure' },
        { guard: 'isToBeTested', target: 'testing', actions: 'resetTries' },
        { target: 'archiving' },
      ],
    },
    backingOff: {
      description: 'The agent could not be invoked: it is left alone for a while.',
      meta: { rules: ['W-1'] },
      tags: 'waiting',
      entry: 'announceWait',
      invoke: {
        id: 'wait',
        src: 'wait',
        input: ({ context }) => waitInput(context),
        onDone: 'retrying',
        onError: 'retrying',
      },
      on: {
        'workflow.abort': {
          target: 'reviewing',
          actions: { type: 'noteAbort', params: ({ event }) => ({ reason: event.reason }) },
        },
      },
    },
    retrying: {
      description: 'Which agent is to be invoked again?',
      meta: { rules: ['W-1'] },
      always: [
        { guard: { type: 'workWasOn', params: { status: 'testing' } }, target: 'testing' },
        { target: 'processing' },
      ],
    },
    archiving: {
      description: 'The item is done, and is put away.',
      meta: { rules: ['W-1'] },
      entry: { type: 'announcePhase', params: { phase: 'archiving' } },
      invoke: {
        id: 'archive',
        src: 'archive',
        input: ({ context }) => archiveInput(context),
        onDone: [
          {
            guard: { type: 'wasFiled', params: outcome },
            target: 'tallying',
            actions: 'noteSuccess',
          },
          refuses('archiving'),
        ],
        onError: breaks('archiving'),
      },
    },
    settingAside: {
      description: 'The item waits for a person: what they have to do is written down.',
      meta: { rules: ['W-2'] },
      entry: { type: 'announcePhase', params: { phase: 'settingAside' } },
      invoke: {
        id: 'setAside',
        src: 'setAside',
        input: ({ context }) => setAsideInput(context),
        onDone: [
          {
            guard: { type: 'wasFiled', params: outcome },
            target: 'tallying',
            actions: { type: 'noteSetAside', params: outcome },
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
      description: 'What must not be lost becomes a work item.',
      meta: { rules: ['W-2'] },
      entry: ['noteIncidents', { type: 'announcePhase', params: { phase: 'capturing' } }],
      invoke: {
        id: 'capture',
        src: 'capture',
        input: ({ context }) => captureInput(context),
        onDone: {
          target: 'weighing',
          actions: { type: 'takeCapture', params: outcome },
        },
        onError: {
          target: 'weighing',
          actions: { type: 'takeCapture', params: lost('capturing') },
        },
      },
    },
    weighing: {
      description: 'Does what was captured end the run?',
      meta: { rules: ['W-1'] },
      always: [
        { guard: 'runIsOver', target: 'reviewing' },
        { guard: 'abortRequested', target: 'reviewing' },
        { target: 'scanning' },
      ],
    },
    reviewing: {
      description: 'The retrospective.',
      meta: { rules: ['W-3'] },
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
          actions: { type: 'takeEnding', params: lost('reviewing') },
        },
      },
    },
    summarising: {
      description: 'The report of the run.',
      meta: { rules: ['W-3'] },
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
          actions: { type: 'takeEnding', params: lost('summarising') },
        },
      },
    },
    ending: {
      description: 'How did the run end?',
      meta: { rules: ['W-1'] },
      entry: 'announceEnd',
      always: [{ guard: 'exitsEarly', target: 'exitedEarly' }, { target: 'completed' }],
    },
    completed: { description: 'Every item that could be taken was taken.', meta: { rules: ['W-1'] }, type: 'final' },
    exitedEarly: { description: 'An incident or somebody ended it.', meta: { rules: ['W-1'] }, type: 'final' },
  },
  output: ({ context }) => outputOf(context),
});
