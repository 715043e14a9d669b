/** What the names of the workflow machine mean: each action and guard is a rule, or the fact that it states. */
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { WorkflowAbort } from '../contract/effects.ts';
import { workflowLeaves } from '../contract/leaf.ts';
import type { EndingOutcome, FilingOutcome, Phase, RestoreOutcome, ScanOutcome } from '../contract/work.ts';
import {
  afterCapture,
  afterEnding,
  consecutiveFailuresReached,
  criticalErrorRaised,
  endFact,
  endingFacts,
  newIncidents,
  stopRequested,
} from './ending.rules.ts';
import {
  afterScan,
  afterWork,
  failed,
  isToBeTested,
  itemRemains,
  itemSetAside,
  nextTryAt,
  scanFacts,
  subAgentUnavailable,
  succeeded,
  triesRemain,
  withItem,
} from './item.rules.ts';
import { exitsEarly, noItem, noWork, restored, runIsOver } from './workflow.rules.ts';
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
    tags: {} as 'waiting',
  },
  actors: workflowLeaves,
  actions: {
    announceStart: emit(({ context }) => ({ type: 'workflow.started', run: context.run })),
    announcePhase: emit(({ context }, { phase }: { phase: Phase }) => ({
      type: 'phase.started',
      phase,
      item: context.item.id || null,
    })),
    takeCrash: enqueueActions(({ context, enqueue }, { outcome }: { outcome: RestoreOutcome }) => {
      if (outcome.kind !== 'crashed') return;
      const { change, facts } = restored(context, outcome);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    }),
    noteCritical: assign((_, { phase, message }: { phase: Phase; message: string }) => ({
      critical: { phase, message },
    })),
    takeScan: enqueueActions(({ context, enqueue }, { outcome }: { outcome: ScanOutcome }) => {
      enqueue.assign(afterScan(context, outcome));
      for (const fact of scanFacts(context, outcome)) enqueue.emit(fact);
    }),
    countScan: assign(({ context }) => ({ scans: context.scans + 1, item: noItem, work: noWork })),
    takeItem: assign(({ context }, { outcome }: { outcome: ScanOutcome }) => withItem(context, outcome)),
    announceItem: emit(({ context: { item, iteration } }) => ({ type: 'item.started', item, iteration })),
    // What an earlier try came to is over.
    countTry: assign(({ context }) => ({ tries: context.tries + 1, work: noWork })),
    resetTries: assign({ tries: 0 }),
    takeWork: assign((_, work: Work) => afterWork(work)),
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
    noteFailure: enqueueActions(({ context, enqueue }) => {
      const { change, facts } = failed(context);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    }),
    noteSuccess: enqueueActions(({ context, enqueue }) => {
      enqueue.assign(succeeded(context));
      enqueue.emit({ type: 'item.succeeded', id: context.item.id });
    }),
    noteSetAside: enqueueActions(({ context, enqueue }, { outcome }: { outcome: FilingOutcome }) => {
      const created = outcome.ok ? outcome.created : [];
      enqueue.assign({ ...itemSetAside(context), ...afterEnding(context, { created, problems: [] }) });
      enqueue.emit({
        type: 'item.setAside',
        id: context.item.id,
        needs: context.work.outcome.message,
      });
      for (const fact of endingFacts('settingAside', { created, problems: [] })) enqueue.emit(fact);
    }),
    noteIncidents: enqueueActions(({ context, enqueue }) => {
      const incidents = newIncidents(context);
      enqueue.assign({ incidents: [...context.incidents, ...incidents], captures: context.captures + 1 });
      for (const incident of incidents) enqueue.emit({ type: 'incident.noted', incident });
    }),
    takeCapture: enqueueActions(({ context, enqueue }, { outcome }: { outcome: EndingOutcome }) => {
      enqueue.assign(afterCapture(context, outcome));
      for (const fact of endingFacts('capturing', outcome)) enqueue.emit(fact);
    }),
    takeEnding: enqueueActions(({ context, enqueue }, { phase, outcome }: { phase: Phase; outcome: EndingOutcome }) => {
      enqueue.assign(afterEnding(context, outcome));
      for (const fact of endingFacts(phase, outcome)) enqueue.emit(fact);
    }),
    noteAbort: enqueueActions(({ enqueue }, { reason }: { reason: string }) => {
      enqueue.assign({ abortReason: reason });
      enqueue.emit({ type: 'workflow.aborting', reason });
    }),
    announceEnd: emit(({ context }) => endFact(context)),
  },
  guards: {
    isFresh: (_, { outcome }: { outcome: RestoreOutcome }) => outcome.kind === 'fresh',
    isCrashed: (_, { outcome }: { outcome: RestoreOutcome }) => outcome.kind === 'crashed',
    itemRemains: ({ context }, { outcome }: { outcome: ScanOutcome }) => itemRemains(context, outcome),
    scanFailed: (_, { outcome }: { outcome: ScanOutcome }) => !outcome.ok,
    scanFoundStop: (_, { outcome }: { outcome: ScanOutcome }) => outcome.ok && outcome.stops.length > 0,
    wasFiled: (_, { outcome }: { outcome: FilingOutcome }) => outcome.ok,
    workWas: ({ context }, { status }: { status: Work['outcome']['verdict'] }) =>
      context.work.outcome.verdict === status,
    workWasOn: ({ context }, { status }: { status: Work['phase'] }) => context.work.phase === status,
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
