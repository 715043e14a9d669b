/**
 * The turn machine: one step of progress, in at most `maxRetries` attempts (B-1, B-3). It owns retries, waits and
 * target selection (T-3, P-2, P-3). Rules: turn.rules.ts. The session machine starts one turn at a time.
 */

import { assign, type DoneStateEvent, emit, enqueueActions, not, sendParent, setup } from 'xstate';
import { attemptMachine } from '../attempt/attempt.machine.ts';
import type { AttemptOutput } from '../attempt/attempt.types.ts';
import { steered } from '../contract/context.ts';
import type { Delivered, SessionSteer, TurnAbort, TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { waitKey } from '../contract/keys.ts';
import { leaves } from '../contract/leaf.ts';
import { record } from '../contract/record.ts';
import {
  afterAttempt,
  afterStop,
  afterWait,
  attemptFact,
  attemptInput,
  attemptsRemain,
  beginAttempt,
  brokenAttempt,
  collapseRequests,
  endFact,
  exclusionFacts,
  freshTurn,
  nextTarget,
  outputOf,
  requestFits,
  targetsRemain,
} from './turn.rules.ts';
import type { TurnContext, TurnInput, TurnOutput } from './turn.types.ts';

/** Action parameters. */
const ofOutput = ({ event }: { event: { output: AttemptOutput } }) => ({ output: event.output });
const ofDefect = ({ event }: { event: { error: unknown } }) => ({ error: event.error });
const ofStop = ({ event }: { event: TurnStop }) => ({ slug: event.slug, at: event.at });
const ofWait = ({ event }: { event: { output: Delivered<'wait'> } }) => ({ at: event.output.at });

const ofCommand = <Command extends TurnStop | TurnAbort>({ event }: { event: Command }) => ({ command: event });

export const turnMachine = setup({
  types: {
    context: {} as TurnContext,
    input: {} as TurnInput,
    output: {} as TurnOutput,
    events: {} as TurnStop | SessionSteer | TurnAbort,
    emitted: {} as Fact,
    children: {} as { attempt: 'attempt'; wait: 'wait' },
    meta: {} as { rules: string[] },
    tags: {} as 'waiting',
  },
  actors: { attempt: attemptMachine, wait: leaves.wait },
  actions: {
    announceAttempt: emit(({ context }) => attemptFact(context)),
    beginAttempt: record(beginAttempt),
    planWait: assign(({ context }) => {
      const choice = nextTarget(context);
      return { waiting: choice.kind === 'wait' ? { target: choice.target, dueAt: choice.dueAt } : null };
    }),
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
    attemptWas: (_, { output, status }: { output: AttemptOutput; status: AttemptOutput['status'] }) =>
      output.status === status,
  },
}).createMachine({
  id: 'turn',
  description: 'One step of progress: attempts until one makes progress or none are left.',
  context: ({ input }) => freshTurn(input),
  initial: 'choosing',
  on: {
    'turn.stop': { actions: { type: 'noteStop', params: ofStop } },
    'session.steer': { actions: { type: 'noteSteering', params: ({ event }) => ({ text: event.text }) } },
  },
  states: {
    choosing: {
      description: 'Is another attempt allowed, and on which target?',
      meta: { rules: ['B-1', 'B-2', 'B-3', 'P-2', 'P-3', 'T-6'] },
      always: [
        { guard: not('attemptsRemain'), target: 'exhausted' },
        { guard: not('targetsRemain'), target: 'exhausted' },
        { guard: not('requestFits'), target: 'exhausted' },
        { guard: 'targetIsFree', target: 'attempting', actions: 'beginAttempt' },
        { target: 'backingOff', actions: 'planWait' },
      ],
    },
    attempting: {
      description: 'An attempt is running.',
      meta: { rules: ['B-3', 'B-4', 'B-6', 'F-2', 'T-1', 'T-3'] },
      entry: 'announceAttempt',
      invoke: {
        id: 'attempt',
        src: 'attempt',
        input: ({ context }) => attemptInput(context),
        onDone: [
          {
            guard: { type: 'attemptWas', params: ({ event }) => ({ status: 'progressed', output: event.output }) },
            target: 'progressed',
            actions: [{ type: 'takeAttempt', params: ofOutput }, 'requestCollapse'],
          },
          {
            guard: { type: 'attemptWas', params: ({ event }) => ({ status: 'finished', output: event.output }) },
            target: 'finished',
            actions: { type: 'takeAttempt', params: ofOutput },
          },
          {
            guard: { type: 'attemptWas', params: ({ event }) => ({ status: 'failed', output: event.output }) },
            target: 'choosing',
            actions: [{ type: 'takeAttempt', params: ofOutput }, 'requestCollapse', 'announceExclusion'],
          },
          { target: 'aborted', actions: [{ type: 'takeAttempt', params: ofOutput }, 'requestCollapse'] },
        ],
        onError: {
          target: 'choosing',
          actions: [{ type: 'takeBrokenAttempt', params: ofDefect }, 'requestCollapse'],
        },
      },
      on: {
        'turn.stop': {
          actions: [
            { type: 'noteStop', params: ofStop },
            { type: 'passOn', params: ofCommand },
          ],
        },
        'session.abort': { actions: { type: 'passOn', params: ofCommand } },
      },
    },
    backingOff: {
      description: 'No living target is free, so the next attempt waits for the earliest.',
      meta: { rules: ['P-3'] },
      tags: 'waiting',
      entry: 'announceWait',
      invoke: {
        id: 'wait',
        src: 'wait',
        input: ({ context }) => ({
          key: waitKey({ turn: context.turn, attempt: context.attempt + 1 }),
          request: { dueAt: context.waiting?.dueAt ?? context.at, kind: 'backoff' },
        }),
        onDone: [
          { guard: not('requestFits'), target: 'exhausted', actions: 'announceWaited' },
          { target: 'attempting', actions: ['announceWaited', { type: 'beginWaitedAttempt', params: ofWait }] },
        ],
        onError: [
          { guard: not('requestFits'), target: 'exhausted', actions: 'announceWaited' },
          { target: 'attempting', actions: ['announceWaited', { type: 'beginWaitedAttempt', params: { at: null } }] },
        ],
      },
      on: { 'session.abort': 'aborted' },
    },
    finished: {
      description: 'A report was accepted.',
      meta: { rules: ['F-1'] },
      entry: { type: 'announceEnd', params: { status: 'finished' } },
      type: 'final',
      output: ({ context }) => outputOf(context, 'finished'),
    },
    progressed: {
      description: 'An attempt made progress, so the session continues.',
      meta: { rules: ['B-3', 'T-2'] },
      entry: { type: 'announceEnd', params: { status: 'progressed' } },
      type: 'final',
      output: ({ context }) => outputOf(context, 'progressed'),
    },
    exhausted: {
      description: 'No attempts, targets, budget or room left.',
      meta: { rules: ['B-3', 'P-2', 'P-3'] },
      entry: { type: 'announceEnd', params: { status: 'exhausted' } },
      type: 'final',
      output: ({ context }) => outputOf(context, 'exhausted'),
    },
    aborted: {
      description: 'The session was aborted.',
      meta: { rules: ['D-2'] },
      entry: { type: 'announceEnd', params: { status: 'aborted' } },
      type: 'final',
      output: ({ context }) => outputOf(context, 'aborted'),
    },
  },
  // That of the final state.
  output: ({ event }) => (event as DoneStateEvent<TurnOutput>).output,
});
