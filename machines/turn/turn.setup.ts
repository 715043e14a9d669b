import { assign, emit, enqueueActions, sendParent, setup } from 'xstate';
import { attemptMachine } from '../attempt/attempt.machine.ts';
import type { AttemptOutput } from '../attempt/attempt.types.ts';
import { steered } from '../contract/context.ts';
import type { Delivered, SessionGated, SessionSteer, TurnAbort, TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { leaves } from '../contract/leaf.ts';
import type { RequestsLeft } from '../contract/limits.ts';
import { record } from '../contract/record.ts';
import { afterAdmission, afterGating, collapseFor, givenUp, mustAsk, unasked } from './admission.rules.ts';
import { endFact } from './ending.rules.ts';
import {
  afterAttempt,
  afterStop,
  afterWait,
  attemptFact,
  attemptsRemain,
  beginAttempt,
  brokenAttempt,
  collapseRequests,
  exclusionFacts,
  nextTarget,
  requestFits,
  targetsRemain,
} from './turn.rules.ts';
import type { TurnContext, TurnInput, TurnOutput } from './turn.types.ts';

/** The names of the turn machine: its actors, actions and guards, and the rule of each. */
export const turnSetup = setup({
  types: {
    context: {} as TurnContext,
    input: {} as TurnInput,
    output: {} as TurnOutput,
    events: {} as TurnStop | SessionSteer | SessionGated | TurnAbort,
    emitted: {} as Fact,
    children: {} as { attempt: 'attempt'; wait: 'wait'; admission: 'admission' },
    meta: {} as { rules: string[] },
    tags: {} as 'waiting',
  },
  actors: { attempt: attemptMachine, wait: leaves.wait, admission: leaves.admission },
  actions: {
    announceAttempt: emit(({ context }) => attemptFact(context)),
    beginAttempt: record(beginAttempt),
    planWait: assign(({ context }) => {
      const choice = nextTarget(context);
      return { waiting: choice.kind === 'wait' ? { target: choice.target, dueAt: choice.dueAt } : null };
    }),
    planAdmission: assign(({ context }) => {
      const choice = nextTarget(context);
      return { waiting: 'target' in choice ? { target: choice.target, dueAt: context.at } : null };
    }),
    announceQueuing: emit(({ context: { turn, attempt, targets, waiting } }) => ({
      type: 'admission.requested',
      turn,
      attempt: attempt + 1,
      target: targets[waiting?.target ?? 0]?.name ?? '',
    })),
    announceAdmission: emit(({ context: { turn, attempt } }, { left }: { left: RequestsLeft }) => ({
      type: 'admission.ended',
      turn,
      attempt: attempt + 1,
      left,
    })),
    beginAdmittedAttempt: record(afterAdmission),
    collapseForBudget: enqueueActions(({ enqueue }, { delivered }: { delivered: Delivered<'admission'> }) => {
      for (const request of collapseFor(delivered)) enqueue(sendParent(request));
    }),
    giveUp: assign(({ context }) => givenUp(context)),
    failUnasked: assign(({ context }, defect: { error: unknown }) => unasked(context, defect)),
    noteGate: assign(({ context }, gate: { target: number }) => afterGating(context, gate)),
    noteWaited: assign(({ context }, { at }: { at: number | null }) => ({ at: Math.max(context.at, at ?? 0) })),
    announceWait: emit(({ context }) => ({
      type: 'wait.started',
      turn: context.turn,
      attempt: context.attempt + 1,
      target: context.targets[context.waiting?.target ?? 0]?.name ?? '',
      dueAt: context.waiting?.dueAt ?? context.at,
    })),
    announceWaited: emit(({ context: { turn, attempt } }) => ({ type: 'wait.ended', turn, attempt: attempt + 1 })),
    beginWaitedAttempt: record(afterWait),
    takeAttempt: assign(({ context }, { output }: { output: AttemptOutput }) => afterAttempt(context, output)),
    requestCollapse: enqueueActions(({ context, enqueue }) => {
      for (const request of collapseRequests(context)) enqueue(sendParent(request));
    }),
    takeBrokenAttempt: record(brokenAttempt),
    announceExclusion: record((context: TurnContext) => ({ change: {}, facts: exclusionFacts(context) })),
    noteSteering: assign(({ context }, steering: { text: string }) => steered(context, steering)),
    noteStop: assign(({ context }, stop: Pick<TurnStop, 'slug' | 'at'>) => afterStop(context, stop)),
    passOn: enqueueActions(({ enqueue }, { command }: { command: TurnStop | TurnAbort }) =>
      enqueue.sendTo('attempt', command),
    ),
    announceEnd: emit(({ context }, { status }: Pick<TurnOutput, 'status'>) => endFact(context, status)),
  },
  guards: {
    attemptsRemain: ({ context }) => attemptsRemain(context),
    targetsRemain: ({ context }) => targetsRemain(context),
    requestFits: ({ context }) => requestFits(context),
    targetIsFree: ({ context }) => nextTarget(context).kind === 'free',
    mustAsk: ({ context }) => mustAsk(context),
    isRefused: (_, { left }: { left: RequestsLeft }) => left === 'none',
    isDeadline: (_, { at }: { at: number | null }) => at !== null,
    attemptWas: (_, { output, status }: { output: AttemptOutput; status: AttemptOutput['status'] }) =>
      output.status === status,
  },
});
