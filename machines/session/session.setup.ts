import { assign, emit, enqueueActions, setup, stopChild } from 'xstate';
import { steered } from '../contract/context.ts';
import type { Delivered, SessionCommand, TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { deadlineKey } from '../contract/keys.ts';
import { leaves } from '../contract/leaf.ts';
import type { CollapseRequest } from '../contract/limits.ts';
import { record } from '../contract/record.ts';
import { afterGating } from '../turn/admission.rules.ts';
import { turnMachine } from '../turn/turn.machine.ts';
import type { TurnOutput } from '../turn/turn.types.ts';
import { afterCompaction, compactionIsDue } from './compaction.rules.ts';
import {
  aborted,
  aborting,
  afterPlanning,
  afterPreparing,
  afterTurn,
  budgetMeasures,
  budgetRemains,
  collapse,
  contextMeasures,
  endFact,
  failed,
  failureOf,
  isLastTurn,
  outOfTurns,
  stopping,
  turnsRemain,
  unready,
} from './session.rules.ts';
import type { Ending, SessionContext, SessionInput, SessionOutput } from './session.types.ts';

type Readiness = { delivered: Delivered<'prepare' | 'plan'> };
type DeadlineEvent =
  | { type: 'xstate.done.actor.deadline'; output: Delivered<'wait'> }
  | { type: 'xstate.error.actor.deadline' };

/** The names of the session machine: its actors, actions and guards, and the rule of each. */
export const sessionSetup = setup({
  types: {
    context: {} as SessionContext,
    input: {} as SessionInput,
    output: {} as SessionOutput,
    events: {} as SessionCommand | CollapseRequest | DeadlineEvent,
    emitted: {} as Fact,
    children: {} as {
      prepare: 'prepare';
      deadline: 'wait';
      compact: 'compact';
      plan: 'plan';
      turn: 'turn';
      close: 'close';
    },
    meta: {} as { rules: string[] },
    tags: {} as 'steerable',
  },
  actors: {
    prepare: leaves.prepare,
    compact: leaves.compact,
    plan: leaves.plan,
    wait: leaves.wait,
    turn: turnMachine,
    close: leaves.close,
  },
  actions: {
    announceStart: emit(({ context: { maxTurns, maxRetries, targets } }) => ({
      type: 'session.started',
      maxTurns,
      maxRetries,
      targets: targets.map((target) => target.name),
    })),
    watchDeadline: enqueueActions(({ context: { budget }, enqueue }) => {
      if (budget.deadlineAt === null) return;
      enqueue.spawnChild('wait', {
        id: 'deadline',
        input: { key: deadlineKey, request: { dueAt: budget.deadlineAt, kind: 'deadline' } },
      });
    }),
    unwatchDeadline: stopChild('deadline'),
    noteSteering: assign(({ context }, steering: { text: string }) => steered(context, steering)),
    steerTurn: enqueueActions(({ enqueue }, { text }: { text: string }) =>
      enqueue.sendTo('turn', { type: 'session.steer', text }),
    ),
    announceSteering: emit((_, { text }: { text: string }) => ({ type: 'session.steered', text })),
    takePreparation: record(afterPreparing),
    requestCompaction: assign({ compactRequested: true }),
    noteGate: assign(({ context }, gate: { target: number }) => afterGating(context, gate)),
    gateTurn: enqueueActions(({ enqueue }, { target }: { target: number }) =>
      enqueue.sendTo('turn', { type: 'session.gated', target }),
    ),
    takeCompaction: record(afterCompaction),
    takePlan: record(afterPlanning),
    noteStop: record(stopping),
    noteAbort: record(aborting),
    collapse: record(collapse),
    guardContext: record(contextMeasures),
    guardBudget: record(budgetMeasures),
    beginTurn: assign(({ context }) => ({ turn: context.turn + 1 })),
    announceTurn: emit(({ context }) => ({
      type: 'turn.started',
      turn: context.turn,
      isLastTurn: isLastTurn(context),
    })),
    takeTurn: assign((_, { output }: { output: TurnOutput }) => afterTurn(output)),
    stopTurn: enqueueActions(({ enqueue }, { slug, at }: Omit<TurnStop, 'type'>) =>
      enqueue.sendTo('turn', { type: 'turn.stop', slug, at }),
    ),
    abortTurn: enqueueActions(({ enqueue }) => enqueue.sendTo('turn', { type: 'session.abort' })),
    succeed: assign({ ending: { status: 'succeeded' } }),
    failByDefect: assign((_, { error }: { error: unknown }) => ({ ending: failed('internal_error', String(error)) })),
    failUnready: assign((_, { delivered }: Readiness) => ({ ending: unready(delivered.outcome) })),
    failOutOfTurns: assign(({ context }) => ({ ending: outOfTurns(context) })),
    failExhausted: assign(({ context }, { output }: { output: TurnOutput }) => ({
      ending: { status: 'failed' as const, failure: failureOf(context, output) },
    })),
    abort: assign(({ context }) => ({ ending: aborted(context) })),
    announceEnd: emit(({ context }) => endFact(context)),
  },
  guards: {
    turnsRemain: ({ context }) => turnsRemain(context),
    budgetRemains: ({ context }) => budgetRemains(context),
    stopRequested: ({ context }) => context.stopRequested,
    abortRequested: ({ context }) => context.abortReason !== null,
    compactionIsDue: ({ context }) => compactionIsDue(context),
    plansTurns: ({ context }) => context.plansTurns,
    isReady: (_, { delivered }: Readiness) => delivered.outcome.ok,
    turnWas: (_, { output, status }: { output: TurnOutput; status: TurnOutput['status'] }) => output.status === status,
    endedAs: ({ context }, { status }: { status: Ending['status'] }) => context.ending?.status === status,
  },
});
