/**
 * The turn machine: one step of progress, in at most `maxRetries` attempts (B-1, B-3). It owns retries, waits and
 * target selection (T-3, P-2, P-3). Rules: turn.rules.ts, admission.rules.ts, ending.rules.ts. The session machine starts one turn at a time.
 */

import { and, type DoneStateEvent, not } from 'xstate';
import type { AttemptOutput } from '../attempt/attempt.types.ts';
import type { Delivered, TurnAbort, TurnStop } from '../contract/effects.ts';
import { admissionKey, waitKey } from '../contract/keys.ts';
import { admissionRequest } from './admission.rules.ts';
import { outputOf } from './ending.rules.ts';
import { attemptInput, freshTurn } from './turn.rules.ts';
import { turnSetup } from './turn.setup.ts';
import type { TurnOutput } from './turn.types.ts';

/** Action parameters. */
const ofOutput = ({ event }: { event: { output: AttemptOutput } }) => ({ output: event.output });
const ofDefect = ({ event }: { event: { error: unknown } }) => ({ error: event.error });
const ofStop = ({ event }: { event: TurnStop }) => ({ slug: event.slug, at: event.at });
const ofWait = ({ event }: { event: { output: Delivered<'wait'> } }) => ({ at: event.output.at });

const ofAdmission = ({ event }: { event: { output: Delivered<'admission'> } }) => ({ delivered: event.output });
const ofLeft = ({ event }: { event: { output: Delivered<'admission'> } }) => ({ left: event.output.outcome.left });

const ofCommand = <Command extends TurnStop | TurnAbort>({ event }: { event: Command }) => ({ command: event });

export const turnMachine = turnSetup.createMachine({
  id: 'turn',
  description: 'One step of progress: attempts until one makes progress or none are left.',
  context: ({ input }) => freshTurn(input),
  initial: 'choosing',
  on: {
    'turn.stop': { actions: { type: 'noteStop', params: ofStop } },
    'session.steer': { actions: { type: 'noteSteering', params: ({ event }) => ({ text: event.text }) } },
    'session.gated': { actions: { type: 'noteGate', params: ({ event }) => ({ target: event.target }) } },
  },
  states: {
    choosing: {
      description: 'Is another attempt allowed, and on which target?',
      meta: { rules: ['B-1', 'B-2', 'B-3', 'P-2', 'P-3', 'T-6'] },
      always: [
        { guard: not('attemptsRemain'), target: 'exhausted' },
        { guard: not('targetsRemain'), target: 'exhausted' },
        { guard: not('requestFits'), target: 'exhausted' },
        { guard: and(['targetIsFree', 'mustAsk']), target: 'queuing', actions: 'planAdmission' },
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
          {
            guard: 'mustAsk',
            target: 'queuing',
            actions: ['announceWaited', { type: 'noteWaited', params: ofWait }],
          },
          { target: 'attempting', actions: ['announceWaited', { type: 'beginWaitedAttempt', params: ofWait }] },
        ],
        onError: [
          { guard: not('requestFits'), target: 'exhausted', actions: 'announceWaited' },
          { guard: 'mustAsk', target: 'queuing', actions: 'announceWaited' },
          { target: 'attempting', actions: ['announceWaited', { type: 'beginWaitedAttempt', params: { at: null } }] },
        ],
      },
      on: { 'session.abort': 'aborted' },
    },
    queuing: {
      description: 'The next attempt waits for the gate of its target, or draws on the shared budget.',
      meta: { rules: ['P-7', 'B-8'] },
      tags: 'waiting',
      entry: 'announceQueuing',
      invoke: {
        id: 'admission',
        src: 'admission',
        input: ({ context }) => ({
          key: admissionKey({ turn: context.turn, attempt: context.attempt + 1 }),
          request: admissionRequest(context),
        }),
        onDone: [
          {
            guard: { type: 'isRefused', params: ofLeft },
            target: 'exhausted',
            actions: [{ type: 'announceAdmission', params: ofLeft }, 'giveUp'],
          },
          {
            guard: not('requestFits'),
            target: 'exhausted',
            actions: { type: 'announceAdmission', params: ofLeft },
          },
          {
            target: 'attempting',
            actions: [
              { type: 'announceAdmission', params: ofLeft },
              { type: 'collapseForBudget', params: ofAdmission },
              { type: 'beginAdmittedAttempt', params: ofAdmission },
            ],
          },
        ],
        onError: { target: 'exhausted', actions: { type: 'failUnasked', params: ofDefect } },
      },
      on: {
        'turn.stop': [
          {
            guard: { type: 'isDeadline', params: ofStop },
            target: 'exhausted',
            actions: [{ type: 'noteStop', params: ofStop }, 'giveUp'],
          },
          { actions: { type: 'noteStop', params: ofStop } },
        ],
        'session.abort': 'aborted',
      },
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
