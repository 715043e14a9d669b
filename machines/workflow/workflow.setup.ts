/** The actions and guards of the workflow machine. Each one applies a rule or emits a fact. */
import { assign, emit, enqueueActions, setup } from 'xstate';
import type { Delivered, WorkflowAbort } from '../contract/effects.ts';
import { workflowLeaves } from '../contract/leaf.ts';
import { record } from '../contract/record.ts';
import type {
  ArchiveOutcome,
  FilingOutcome,
  Phase,
  RestoreOutcome,
  ScanOutcome,
  TakeOutcome,
  WorkOutcome,
} from '../contract/work.ts';
import { itemMachine } from '../item/item.machine.ts';
import type { ItemOutput } from '../item/item.types.ts';
import { afterCapture, endFact, incidentsNoted, incidentsRemain, isDraining, lostEnding } from './ending.rules.ts';
import {
  afterBrokenItem,
  afterItem,
  afterLostScan,
  afterScan,
  itemActorId,
  itemActorIds,
  itemInput,
  itemRemains,
  itemsStarted,
  itemsTaken,
  scanTriesRemain,
  waitFact,
} from './queue.rules.ts';
import {
  agentLost,
  conflicted,
  failed,
  firstHasEnded,
  itemSetAside,
  leftOpen,
  settlingBegun,
  succeeded,
  workBroken,
  workWas,
} from './settling.rules.ts';
import {
  aborting,
  afterCrash,
  afterEnding,
  critical,
  exitsEarly,
  isItemPhase,
  type Refusal,
  refusalOf,
} from './workflow.rules.ts';
import type { WorkflowContext, WorkflowFact, WorkflowInput, WorkflowOutput } from './workflow.types.ts';

type WorkflowEvent =
  | WorkflowAbort
  | { type: `xstate.done.actor.item.${number}`; output: ItemOutput }
  | { type: `xstate.error.actor.item.${number}`; actorId: string; error: unknown };

export const workflowSetup = setup({
  types: {
    context: {} as WorkflowContext,
    input: {} as WorkflowInput,
    output: {} as WorkflowOutput,
    events: {} as WorkflowEvent,
    emitted: {} as WorkflowFact,
    children: {} as {
      restore: 'restore';
      scan: 'scan';
      wait: 'wait';
      take: 'take';
      archive: 'archive';
      setAside: 'setAside';
      capture: 'capture';
      review: 'review';
      summarise: 'summarise';
      [item: `item.${number}`]: 'item';
    },
    meta: {} as { rules: string[] },
    tags: {} as 'waiting' | 'settling' | 'ending',
  },
  actors: { ...workflowLeaves, item: itemMachine },
  actions: {
    announceStart: emit(({ context }) => ({ type: 'workflow.started', run: context.run })),
    announcePhase: emit(({ context }, { phase }: { phase: Phase }) => ({
      type: 'phase.started',
      phase,
      item: isItemPhase(phase) ? (context.inProgress[0]?.item.id ?? null) : null,
    })),
    takeCrash: record(afterCrash),
    noteRefusal: assign(({ context }, { phase, outcome }: { phase: Phase; outcome: Refusal }) =>
      critical(context, phase, refusalOf(outcome)),
    ),
    noteDefect: assign(({ context }, { phase, error }: { phase: Phase; error: unknown }) =>
      critical(context, phase, String(error)),
    ),
    countScan: assign({ scans: ({ context }) => context.scans + 1 }),
    takeScan: record(afterScan),
    takeLostScan: record((context: WorkflowContext, { scan }: { scan: Delivered<'scan'> }) =>
      afterLostScan(context, scan),
    ),
    announceWait: emit(({ context }) => waitFact(context)),
    takeItems: assign(({ context }, { outcome }: { outcome: ScanOutcome }) => itemsTaken(context, outcome)),
    startItems: enqueueActions(({ context, enqueue }) => {
      const { change, facts } = itemsStarted(context);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
      for (const taken of context.taken)
        enqueue.spawnChild('item', { id: itemActorId(taken), input: itemInput(context, taken) });
    }),
    dropTaken: assign({ taken: [] }),
    takeEnd: assign(({ context }, { end }: { end: ItemOutput }) => afterItem(context, end)),
    takeBrokenItem: assign(({ context }, broken: { actorId: string; error: unknown }) =>
      afterBrokenItem(context, broken),
    ),
    abortItems: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'workflow.abort') return;
      for (const item of itemActorIds(context)) enqueue.sendTo(item, event);
    }),
    beginSettling: assign(({ context }) => settlingBegun(context)),
    leaveOpen: assign(({ context }) => leftOpen(context)),
    noteBrokenWork: assign(({ context }) => workBroken(context)),
    noteLostAgent: assign(({ context }) => agentLost(context)),
    noteFailure: record(failed),
    noteConflict: record((context: WorkflowContext, { outcome }: { outcome: ArchiveOutcome }) =>
      conflicted(context, { message: 'conflict' in outcome ? outcome.conflict : '' }),
    ),
    noteSuccess: record(succeeded),
    noteSetAside: record(itemSetAside),
    noteIncidents: record(incidentsNoted),
    countCapture: assign({ captures: ({ context }) => context.captures + 1 }),
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
    scanTriesRemain: ({ context }, { outcome }: { outcome: ScanOutcome }) => scanTriesRemain(context, outcome),
    scanAgentUnavailable: (_, { outcome }: { outcome: ScanOutcome }) => 'unavailable' in outcome,
    scanFailed: (_, { outcome }: { outcome: ScanOutcome }) => !outcome.ok,
    scanFoundStop: (_, { outcome }: { outcome: ScanOutcome }) => outcome.ok && outcome.stops.length > 0,
    itemRemains: ({ context }, { outcome }: { outcome: ScanOutcome }) => itemRemains(context, outcome),
    isInProgress: ({ context }) => context.inProgress.length > 0,
    wereTaken: (_, { outcome }: { outcome: TakeOutcome }) => outcome.ok,
    firstHasEnded: ({ context }) => firstHasEnded(context),
    workWas: ({ context }, { status }: { status: WorkOutcome['verdict'] }) => workWas(context, status),
    wasFiled: (_, { outcome }: { outcome: FilingOutcome | ArchiveOutcome }) => outcome.ok,
    conflicts: (_, { outcome }: { outcome: ArchiveOutcome }) => 'conflict' in outcome,
    isDraining: ({ context }) => isDraining(context),
    incidentsRemain: ({ context }) => incidentsRemain(context),
    abortRequested: ({ context }) => context.abortReason !== null,
    exitsEarly: ({ context }) => exitsEarly(context),
  },
});
