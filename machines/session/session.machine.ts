/**
 * The session machine: one run of an agent on one prompt, turn after turn, until a report is accepted or the bound is
 * reached (B-1 to B-5). It owns the turn number, `maxTurns` and the session's single failure. Rules:
 * session.rules.ts. `startSession` starts it.
 */

import { not } from 'xstate';
import type { SessionGated, SessionSteer } from '../contract/effects.ts';
import { closeKey, compactKey, planKey, prepareKey } from '../contract/keys.ts';
import type { CollapseCause } from '../contract/limits.ts';
import { compactRequest } from './compaction.rules.ts';
import { failed, freshSession, planRequest, turnInput } from './session.rules.ts';
import { sessionSetup } from './session.setup.ts';

/** Action parameters. */
const ofOutput = <Output>({ event }: { event: { output: Output } }) => ({ output: event.output });
const ofDelivery = <D>({ event }: { event: { output: D } }) => ({ delivered: event.output });
const ofDefect = ({ event }: { event: { error: unknown } }) => ({ error: event.error });
const ofCause = ({ event }: { event: CollapseCause }) => ({ reason: event.reason, slugs: event.slugs });
const ofText = ({ event }: { event: SessionSteer }) => ({ text: event.text });
const ofTarget = ({ event }: { event: SessionGated }) => ({ target: event.target });
const ofReason = ({ event }: { event: { reason: string } }) => ({ reason: event.reason });

const collapseForStop = { type: 'collapse', params: { reason: 'stop_requested', slugs: ['stopped'] } } as const;
const stop = ['noteStop', collapseForStop] as const;
const abortAtOnce = {
  target: '#session.closing',
  actions: [{ type: 'noteAbort', params: ofReason }, 'abort'],
} as const;
const collapseForBudget = { type: 'collapse', params: { reason: 'budget', slugs: ['budget_exhausted'] } } as const;

export const sessionMachine = sessionSetup.createMachine({
  id: 'session',
  description: 'One run of an agent on one prompt: bounded, answered and accounted for.',
  context: ({ input }) => freshSession(input),
  entry: 'announceStart',
  on: {
    'session.steer': {
      actions: [
        { type: 'announceSteering', params: ofText },
        { type: 'noteSteering', params: ofText },
      ],
    },
  },
  initial: 'running',
  states: {
    running: {
      description: 'The session is running.',
      meta: { rules: ['B-2', 'B-4', 'D-2'] },
      tags: 'steerable',
      initial: 'preparing',
      entry: 'watchDeadline',
      exit: 'unwatchDeadline',
      on: {
        'xstate.done.actor.deadline': { actions: collapseForBudget },
        'xstate.error.actor.deadline': {},
        'session.stop': {
          guard: not('stopRequested'),
          actions: stop,
        },
        'session.compact': { actions: 'requestCompaction' },
        'session.gated': { actions: { type: 'noteGate', params: ofTarget } },
        'collapse.requested': {
          actions: { type: 'collapse', params: ofCause },
        },
      },
      states: {
        preparing: {
          description: 'The tools are opened and the conversation is checked.',
          meta: { rules: ['C-6', 'T-6'] },
          invoke: {
            id: 'prepare',
            src: 'prepare',
            input: { key: prepareKey, request: {} },
            onDone: [
              {
                guard: { type: 'isReady', params: ofDelivery },
                target: 'advancing',
                actions: { type: 'takePreparation', params: ofDelivery },
              },
              { target: '#session.closing', actions: { type: 'failUnready', params: ofDelivery } },
            ],
            onError: { target: '#session.closing', actions: { type: 'failByDefect', params: ofDefect } },
          },
          on: { 'session.abort': abortAtOnce },
        },
        compacting: {
          description: 'One message takes the place of earlier ones.',
          meta: { rules: ['T-9'] },
          invoke: {
            id: 'compact',
            src: 'compact',
            input: ({ context }) => ({ key: compactKey(context.turn + 1), request: compactRequest(context) }),
            onDone: {
              target: 'advancing',
              actions: { type: 'takeCompaction', params: ofDelivery },
            },
            onError: { target: '#session.closing', actions: { type: 'failByDefect', params: ofDefect } },
          },
          on: { 'session.abort': abortAtOnce },
        },
        advancing: {
          description: 'Is another turn allowed?',
          meta: { rules: ['B-2', 'B-3', 'B-4', 'T-6', 'T-9'] },
          entry: 'guardBudget',
          always: [
            { guard: not('turnsRemain'), target: '#session.closing', actions: 'failOutOfTurns' },
            { guard: not('budgetRemains'), target: '#session.closing', actions: 'failOutOfTurns' },
            { guard: 'compactionIsDue', target: 'compacting' },
            { guard: 'plansTurns', target: 'planning' },
            { target: 'turning', actions: ['guardContext', 'beginTurn', 'announceTurn'] },
          ],
        },
        planning: {
          description: 'The next turn is planned.',
          meta: { rules: ['T-7'] },
          invoke: {
            id: 'plan',
            src: 'plan',
            input: ({ context }) => ({ key: planKey(context.turn + 1), request: planRequest(context) }),
            onDone: [
              {
                guard: { type: 'isReady', params: ofDelivery },
                target: 'turning',
                actions: [{ type: 'takePlan', params: ofDelivery }, 'guardBudget', 'beginTurn', 'announceTurn'],
              },
              { target: '#session.closing', actions: { type: 'failUnready', params: ofDelivery } },
            ],
            onError: { target: '#session.closing', actions: { type: 'failByDefect', params: ofDefect } },
          },
          on: { 'session.abort': abortAtOnce },
        },
        turning: {
          description: 'A turn is running.',
          meta: { rules: ['B-3', 'B-5'] },
          invoke: {
            id: 'turn',
            src: 'turn',
            input: ({ context }) => turnInput(context),
            onDone: [
              {
                guard: { type: 'turnWas', params: ({ event }) => ({ status: 'finished', output: event.output }) },
                target: '#session.closing',
                actions: [{ type: 'takeTurn', params: ofOutput }, 'succeed'],
              },
              {
                guard: { type: 'turnWas', params: ({ event }) => ({ status: 'progressed', output: event.output }) },
                target: 'advancing',
                actions: { type: 'takeTurn', params: ofOutput },
              },
              {
                guard: { type: 'turnWas', params: ({ event }) => ({ status: 'exhausted', output: event.output }) },
                target: '#session.closing',
                actions: { type: 'failExhausted', params: ofOutput },
              },
              { target: '#session.closing', actions: 'abort' },
            ],
            onError: { target: '#session.closing', actions: { type: 'failByDefect', params: ofDefect } },
          },
          on: {
            'session.steer': {
              actions: [
                { type: 'announceSteering', params: ofText },
                { type: 'steerTurn', params: ofText },
              ],
            },
            'xstate.done.actor.deadline': {
              actions: [
                collapseForBudget,
                { type: 'stopTurn', params: ({ event }) => ({ slug: 'budget_exhausted', at: event.output.at }) },
              ],
            },
            'session.stop': {
              guard: not('stopRequested'),
              actions: [...stop, { type: 'stopTurn', params: { slug: 'stopped', at: null } }],
            },
            'session.gated': {
              actions: [
                { type: 'noteGate', params: ofTarget },
                { type: 'gateTurn', params: ofTarget },
              ],
            },
            'session.abort': {
              guard: not('abortRequested'),
              actions: [{ type: 'noteAbort', params: ofReason }, 'abortTurn'],
            },
          },
        },
      },
    },
    closing: {
      description: 'The outcome is known; the tools are closing.',
      meta: { rules: ['F-1', 'S-3'] },
      invoke: {
        id: 'close',
        src: 'close',
        input: { key: closeKey, request: {} },
        onDone: 'ending',
        onError: 'ending',
      },
    },
    ending: {
      description: 'How did the session end?',
      meta: { rules: ['F-1', 'S-3'] },
      entry: 'announceEnd',
      always: [
        { guard: { type: 'endedAs', params: { status: 'succeeded' } }, target: 'succeeded' },
        { guard: { type: 'endedAs', params: { status: 'aborted' } }, target: 'aborted' },
        { target: 'failed' },
      ],
    },
    succeeded: { description: 'A report was accepted.', meta: { rules: ['F-1'] }, type: 'final' },
    failed: { description: 'The bound, a fault or a defect ended it.', meta: { rules: ['B-3', 'S-3'] }, type: 'final' },
    aborted: { description: 'It was aborted.', meta: { rules: ['D-2', 'S-3'] }, type: 'final' },
  },
  output: ({ context }) => context.ending ?? failed('internal_error', null),
});
