/** The actions and guards of the workflow machine. Each one applies a rule or emits a fact. */
import { assign, emit, setup } from 'xstate';
import type { Delivered, WorkflowAbort } from '../contract/effects.ts';
import { workflowLeaves } from '../contract/leaf.ts';
import { record } from '../contract/record.ts';
import type { FilingOutcome, Phase, RestoreOutcome, ScanOutcome } from '../contract/work.ts';
import {
  afterCapture,
  consecutiveFailuresReached,
  criticalErrorRaised,
  endFact,
  incidentsNoted,
  lostEnding,
  stopRequested,
} from './ending.rules.ts';
import {
  afterLostScan,
  afterScan,
  afterWork,
  failed,
  isScanning,
  isToBeTested,
  itemRemains,
  itemSetAside,
  nextTryAt,
  noTries,
  scanBegun,
  subAgentUnavailable,
  succeeded,
  triesRemain,
  withItem,
} from './item.rules.ts';
import {
  aborting,
  afterCrash,
  afterEnding,
  critical,
  exitsEarly,
  noWork,
  type Refusal,
  refusalOf,
  runIsOver,
} from './workflow.rules.ts';
import type { Work, WorkflowContext, WorkflowFact, WorkflowInput, WorkflowOutput } from './workflow.types.ts';

export const workflowSetup = setup({
  types: {
    context: {} as WorkflowContext,
    input: {} as WorkflowInput,
    output: {} as WorkflowOutput,
    events: {} as WorkflowAbort,
    emitted: {} as WorkflowFact,
    children: {} as {
      restore: 'restore';
      scan: 'scan';
      work: 'work';
      wait: 'wait';
      archive: 'archive';
      setAside: 'setAside';
      capture: 'capture';
      review: 'review';
      summarise: 'summarise';
    },
    meta: {} as { rules: string[] },
    tags: {} as 'waiting' | 'item' | 'ending',
  },
  actors: workflowLeaves,
  actions: {
    announceStart: emit(({ context }) => ({ type: 'workflow.started', run: context.run })),
    announcePhase: emit(({ context }, { phase }: { phase: Phase }) => ({
      type: 'phase.started',
      phase,
      item: context.item.id || null,
    })),
    announceWorkPhase: emit(({ context: { phase, item } }) => ({ type: 'phase.started', phase, item: item.id })),
    takeCrash: record(afterCrash),
    noteRefusal: assign((_, { phase, outcome }: { phase: Phase; outcome: Refusal }) =>
      critical(phase, refusalOf(outcome)),
    ),
    noteDefect: assign((_, { phase, error }: { phase: Phase; error: unknown }) => critical(phase, String(error))),
    noteWorkDefect: assign(({ context }, { error }: { error: unknown }) => critical(context.phase, String(error))),
    takeScan: record(afterScan),
    countScan: assign(({ context }) => scanBegun(context)),
    takeLostScan: assign(({ context }, { scan }: { scan: Delivered<'scan'> }) => afterLostScan(context, scan)),
    takeItem: assign(({ context }, { outcome }: { outcome: ScanOutcome }) => withItem(context, outcome)),
    announceItem: emit(({ context: { item, iteration } }) => ({ type: 'item.started', item, iteration })),
    // The outcome of an earlier try no longer counts.
    countTry: assign(({ context }) => ({ tries: context.tries + 1, work: noWork })),
    beginTesting: assign({ phase: 'testing', ...noTries }),
    takeWork: assign(({ context }, { work }: { work: Work }) => afterWork(context, work)),
    announceUnavailable: emit(({ context: { work, tries } }) => ({
      type: 'agent.unavailable',
      agent: work.outcome.agent,
      tries,
      message: work.outcome.message,
    })),
    announceWait: emit(({ context }) => ({
      type: 'wait.started',
      agent: context.work.outcome.agent,
      dueAt: nextTryAt(context),
    })),
    noteFailure: record(failed),
    noteSuccess: record(succeeded),
    noteSetAside: record(itemSetAside),
    noteIncidents: record(incidentsNoted),
    takeCapture: record(afterCapture),
    takeLostCapture: record((context: WorkflowContext, { error }: { error: unknown }) =>
      afterCapture(context, { outcome: lostEnding(error) }),
    ),
    takeEnding: record(afterEnding),
    takeLostEnding: record((context: WorkflowContext, { phase, error }: { phase: Phase; error: unknown }) =>
      afterEnding(context, { phase, outcome: lostEnding(error) }),
    ),
    noteAbort: record(aborting),
    announceEnd: emit(({ context }) => endFact(context)),
  },
  guards: {
    isFresh: (_, { outcome }: { outcome: RestoreOutcome }) => outcome.kind === 'fresh',
    isCrashed: (_, { outcome }: { outcome: RestoreOutcome }) => outcome.kind === 'crashed',
    itemRemains: ({ context }, { outcome }: { outcome: ScanOutcome }) => itemRemains(context, outcome),
    scanAgentUnavailable: (_, { outcome }: { outcome: ScanOutcome }) => 'unavailable' in outcome,
    isScanning: ({ context }) => isScanning(context),
    scanFailed: (_, { outcome }: { outcome: ScanOutcome }) => !outcome.ok,
    scanFoundStop: (_, { outcome }: { outcome: ScanOutcome }) => outcome.ok && outcome.stops.length > 0,
    wasFiled: (_, { outcome }: { outcome: FilingOutcome }) => outcome.ok,
    workWas: ({ context }, { status }: { status: Work['outcome']['verdict'] }) =>
      context.work.outcome.verdict === status,
    isToBeTested: ({ context }) => isToBeTested(context),
    triesRemain: ({ context }) => triesRemain(context),
    subAgentUnavailable: ({ context }) => subAgentUnavailable(context),
    consecutiveFailuresReached: ({ context }) => consecutiveFailuresReached(context),
    stopRequested: ({ context }) => stopRequested(context),
    criticalErrorRaised: ({ context }) => criticalErrorRaised(context),
    abortRequested: ({ context }) => context.abortReason !== null,
    runIsOver: ({ context }) => runIsOver(context),
    exitsEarly: ({ context }) => exitsEarly(context),
  },
});
