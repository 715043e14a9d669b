/**
 * The session machine: one run of an agent on one prompt, turn after turn, until a report was accepted or the bound is
 * reached (B-1 to B-5). It owns the turn number, `maxTurns` and failing exactly once. Rules: session.rules.ts. Started by
 * `startSession`.
 */
import { assign, emit, enqueueActions, not, setup, stopChild } from 'xstate';
import type { Delivered, PrepareOutcome, SessionCommand, StopBelow } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { leaves } from '../contract/leaf.ts';
import type { Slug } from '../contract/slugs.ts';
import { turnMachine } from '../turn/turn.machine.ts';
import type { TurnOutput } from '../turn/turn.types.ts';
import {
  aborted,
  afterPreparing,
  afterTurn,
  budgetMeasures,
  budgetRemains,
  collapse,
  contextMeasures,
  endFact,
  failed,
  failureOf,
  freshSession,
  isLastTurn,
  outOfTurns,
  turnInput,
  turnsRemain,
  unprepared,
} from './session.rules.ts';
import type {
  CollapseCause,
  CollapseRequest,
  Ending,
  SessionContext,
  SessionInput,
  SessionOutput,
} from './session.types.ts';

const collapseForStop = { type: 'collapse', params: { reason: 'stop_requested', slugs: ['stopped'] } } as const;
const collapseForBudget = { type: 'collapse', params: { reason: 'budget', slugs: ['budget_exhausted'] } } as const;

type DeadlineEvent =
  | { type: 'xstate.done.actor.deadline'; output: Delivered<'wait'> }
  | { type: 'xstate.error.actor.deadline' };

export const sessionMachine = setup({
  types: {
    context: {} as SessionContext,
    input: {} as SessionInput,
    output: {} as SessionOutput,
    events: {} as SessionCommand | CollapseRequest | DeadlineEvent,
    emitted: {} as Fact,
    children: {} as { prepare: 'prepare'; deadline: 'wait'; turn: 'turn'; close: 'close' },
    meta: {} as { rules: string[] },
  },
  actors: { prepare: leaves.prepare, wait: leaves.wait, turn: turnMachine, close: leaves.close },
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
        input: { key: 'deadline', request: { dueAt: budget.deadlineAt } },
      });
    }),
    unwatchDeadline: stopChild('deadline'),
    announceSteering: emit((_, { text }: { text: string }) => ({ type: 'session.steered', text })),
    noteSize: assign((_, { delivered }: { delivered: Delivered<'prepare'> }) => afterPreparing(delivered)),
    noteStop: enqueueActions(({ enqueue }) => {
      enqueue.assign({ stopRequested: true });
      enqueue.emit({ type: 'session.stopping' });
    }),
    noteAbort: enqueueActions(({ enqueue }, { reason }: { reason: string }) => {
      enqueue.assign({ abortReason: reason });
      enqueue.emit({ type: 'session.aborting', reason });
    }),
    collapse: enqueueActions(({ context, enqueue }, request: CollapseCause) => {
      const { change, facts } = collapse(context, request);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    }),
    guardContext: enqueueActions(({ context, enqueue }) => {
      const { change, facts } = contextMeasures(context);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    }),
    guardBudget: enqueueActions(({ context, enqueue }) => {
      const { change, facts } = budgetMeasures(context);
      enqueue.assign(change);
      for (const fact of facts) enqueue.emit(fact);
    }),
    beginTurn: assign(({ context }) => ({ turn: context.turn + 1 })),
    announceTurn: emit(({ context }) => ({
      type: 'turn.started',
      turn: context.turn,
      isLastTurn: isLastTurn(context),
    })),
    takeTurn: assign(({ context }, { output }: { output: TurnOutput }) => afterTurn(context, output)),
    stopTurn: enqueueActions(({ enqueue }, { slug, at }: Omit<StopBelow, 'type'>) =>
      enqueue.sendTo('turn', { type: 'session.stop', slug, at }),
    ),
    abortTurn: enqueueActions(({ enqueue }) => enqueue.sendTo('turn', { type: 'session.abort' })),
    succeed: assign({ ending: { status: 'succeeded' } }),
    fail: assign((_, { slug, detail }: { slug: Slug; detail: string | null }) => ({ ending: failed(slug, detail) })),
    failUnprepared: assign((_, { outcome }: { outcome: PrepareOutcome }) => ({ ending: unprepared(outcome) })),
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
    isOpen: (_, { ok }: { ok: boolean }) => ok,
    turnWas: (_, { output, status }: { output: TurnOutput; status: TurnOutput['status'] }) => output.status === status,
    endedAs: ({ context }, { status }: { status: Ending['status'] }) => context.ending?.status === status,
  },
}).createMachine({
  id: 'session',
  description: 'One run of an agent on one prompt: bounded, answered and accounted for.',
  context: ({ input }) => freshSession(input),
  entry: 'announceStart',
  on: {
    'session.steer': { actions: { type: 'announceSteering', params: ({ event }) => ({ text: event.text }) } },
  },
  initial: 'running',
  states: {
    running: {
      description: 'The session is at work.',
      meta: { rules: ['B-2', 'B-4', 'D-2'] },
      initial: 'preparing',
      entry: 'watchDeadline',
      exit: 'unwatchDeadline',
      on: {
        'xstate.done.actor.deadline': { actions: collapseForBudget },
        'xstate.error.actor.deadline': {},
        'session.stop': {
          guard: not('stopRequested'),
          actions: ['noteStop', collapseForStop],
        },
        'collapse.requested': {
          actions: { type: 'collapse', params: ({ event: { reason, slugs } }) => ({ reason, slugs }) },
        },
      },
      states: {
        preparing: {
          description: 'The tools are being opened, and the conversation handed in is looked at.',
          meta: { rules: ['C-6', 'T-6'] },
          invoke: {
            id: 'prepare',
            src: 'prepare',
            input: { key: 'prepare', request: {} },
            onDone: [
              {
                guard: { type: 'isOpen', params: ({ event }) => ({ ok: event.output.outcome.ok }) },
                target: 'advancing',
                actions: [{ type: 'noteSize', params: ({ event }) => ({ delivered: event.output }) }, 'guardContext'],
              },
              {
                target: '#session.closing',
                actions: { type: 'failUnprepared', params: ({ event }) => ({ outcome: event.output.outcome }) },
              },
            ],
            onError: {
              target: '#session.closing',
              actions: {
                type: 'fail',
                params: ({ event }) => ({ slug: 'internal_error', detail: String(event.error) }),
              },
            },
          },
          on: {
            'session.abort': {
              target: '#session.closing',
              actions: [{ type: 'noteAbort', params: ({ event }) => ({ reason: event.reason }) }, 'abort'],
            },
          },
        },
        advancing: {
          description: 'May there be another turn?',
          meta: { rules: ['B-2', 'B-3', 'B-4'] },
          entry: 'guardBudget',
          always: [
            { guard: not('turnsRemain'), target: '#session.closing', actions: 'failOutOfTurns' },
            { guard: not('budgetRemains'), target: '#session.closing', actions: 'failOutOfTurns' },
            { target: 'turning', actions: ['beginTurn', 'announceTurn'] },
          ],
        },
        turning: {
          description: 'A turn is under way.',
          meta: { rules: ['B-3', 'B-5'] },
          invoke: {
            id: 'turn',
            src: 'turn',
            input: ({ context }) => turnInput(context),
            onDone: [
              {
                guard: { type: 'turnWas', params: ({ event }) => ({ output: event.output, status: 'finished' }) },
                target: '#session.closing',
                actions: [{ type: 'takeTurn', params: ({ event }) => ({ output: event.output }) }, 'succeed'],
              },
              {
                guard: { type: 'turnWas', params: ({ event }) => ({ output: event.output, status: 'succeeded' }) },
                target: 'advancing',
                actions: [{ type: 'takeTurn', params: ({ event }) => ({ output: event.output }) }, 'guardContext'],
              },
              {
                guard: { type: 'turnWas', params: ({ event }) => ({ output: event.output, status: 'exhausted' }) },
                target: '#session.closing',
                actions: { type: 'failExhausted', params: ({ event }) => ({ output: event.output }) },
              },
              { target: '#session.closing', actions: 'abort' },
            ],
            onError: {
              target: '#session.closing',
              actions: {
                type: 'fail',
                params: ({ event }) => ({ slug: 'internal_error', detail: String(event.error) }),
              },
            },
          },
          on: {
            'xstate.done.actor.deadline': {
              actions: [
                collapseForBudget,
                { type: 'stopTurn', params: ({ event }) => ({ slug: 'budget_exhausted', at: event.output.at }) },
              ],
            },
            'session.stop': {
              guard: not('stopRequested'),
              actions: ['noteStop', collapseForStop, { type: 'stopTurn', params: { slug: 'stopped', at: null } }],
            },
            'session.abort': {
              guard: not('abortRequested'),
              actions: [{ type: 'noteAbort', params: ({ event }) => ({ reason: event.reason }) }, 'abortTurn'],
            },
          },
        },
      },
    },
    closing: {
      description: 'How the session ends is known; the tools are being closed.',
      meta: { rules: ['F-1', 'S-3'] },
      invoke: {
        id: 'close',
        src: 'close',
        input: { key: 'close', request: {} },
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
    aborted: { description: 'Somebody aborted it.', meta: { rules: ['D-2', 'S-3'] }, type: 'final' },
  },
  output: ({ context }) => context.ending ?? failed('internal_error', null),
});
