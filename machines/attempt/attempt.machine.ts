/**
 * The attempt machine: exactly one LLM request, and the answers to the tool calls in its reply (T-1, B-2).
 * It knows nothing of retries, waits or other targets. Rules: attempt.rules.ts. Started by the turn machine.
 */
import { assign, emit, enqueueActions, setup } from 'xstate';
import { attemptKey, type Delivered, type StopBelow } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { leaves } from '../contract/leaf.ts';
import { toolCallMachine } from '../tool-call/tool-call.machine.ts';
import { cutShort } from '../tool-call/tool-call.rules.ts';
import type { AnswerSummary, ToolCallOutput } from '../tool-call/tool-call.types.ts';
import {
  answersLackBeside,
  brokenReading,
  endFact,
  outputOf,
  readOutcome,
  reportFacts,
  textMayReport,
  unanswered,
  verdictOf,
  withAnswer,
} from './attempt.rules.ts';
import type { AttemptContext, AttemptInput, AttemptOutput, Verdict } from './attempt.types.ts';

type AttemptEvent =
  | StopBelow
  | { type: 'session.abort' }
  | { type: `xstate.done.actor.tool.${number}`; output: ToolCallOutput }
  | { type: `xstate.error.actor.tool.${number}`; actorId: string };

export const attemptMachine = setup({
  types: {
    context: {} as AttemptContext,
    input: {} as AttemptInput,
    output: {} as AttemptOutput,
    events: {} as AttemptEvent,
    emitted: {} as Fact,
    children: {} as { model: 'model'; [tool: `tool.${number}`]: 'toolCall' },
    meta: {} as { rules: string[] },
  },
  actors: { model: leaves.model, toolCall: toolCallMachine },
  actions: {
    read: enqueueActions(({ context, enqueue }, { delivered }: { delivered: Delivered<'model'> }) => {
      const reading = readOutcome(delivered, context);
      const { contextTokens: _, omittedTokens: __, textReport: ___, ...outcome } = delivered.outcome;
      enqueue.assign({ reading, answers: reading.calls.map(() => null) });
      enqueue.emit({ type: 'attempt.replied', ...nameOf(context), ...outcome });
      for (const fact of reportFacts(context, reading, delivered)) enqueue.emit(fact);
    }),
    noteDefect: assign((_, { message }: { message: string }) => ({ reading: brokenReading(message) })),
    noteStop: assign((_, { slug }: StopBelow) => ({ stopSlug: slug })),
    startCalls: enqueueActions(({ context: { turn, attempt, reading }, enqueue }) => {
      for (const [index, call] of (reading?.calls ?? []).entries()) {
        enqueue.spawnChild('toolCall', { id: `tool.${index}`, input: { turn, attempt, index, ...call } });
      }
    }),
    takeAnswer: assign(({ context }, { index, ...answer }: ToolCallOutput) => ({
      answers: withAnswer(context, index, answer),
    })),
    answerBrokenCall: enqueueActions(({ context, enqueue }, { index }: { index: number }) => {
      const { at, spent, ...answer } = cutShort('internal_error', null);
      const summary: AnswerSummary = { executed: answer.executed, slug: answer.slug, tokens: answer.tokens, spent, at };
      const { callId, name } = context.reading?.calls[index] ?? { callId: '', name: '' };
      const { turn, attempt } = context;
      enqueue.emit({ type: 'tool.answered', turn, attempt, index, callId, name, ...answer });
      enqueue.assign({ answers: withAnswer(context, index, summary) });
    }),
    passOn: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'session.stop' && event.type !== 'session.abort') return;
      for (const index of unanswered(context)) enqueue.sendTo(`tool.${index}`, event);
    }),
    announceEnd: emit(({ context }) => endFact(context)),
  },
  guards: {
    bringsCalls: (_, { calls }: { calls: number }) => calls > 0,
    answersLackBeside: ({ context }, { index }: { index: number }) => answersLackBeside(context, index),
    verdictIs: ({ context }, { outcome }: { outcome: Verdict['outcome'] }) => verdictOf(context).outcome === outcome,
  },
}).createMachine({
  id: 'attempt',
  description: 'One LLM request, and the answers to the tool calls in its reply.',
  context: ({ input }) => ({ ...input, reading: null, answers: [] }),
  initial: 'requesting',
  states: {
    requesting: {
      description: 'The request is on its way, or its reply is coming in.',
      meta: { rules: ['B-2', 'B-6', 'D-1'] },
      invoke: {
        id: 'model',
        src: 'model',
        input: ({ context }) => ({
          key: `${attemptKey(context.turn, context.attempt)}/model`,
          request: {
            turn: context.turn,
            attempt: context.attempt,
            target: context.target.index,
            notice: context.notice,
            offer: context.offer,
            textMayReport: textMayReport(context),
            omitTokens: context.omitTokens,
          },
        }),
        onDone: [
          {
            guard: { type: 'bringsCalls', params: ({ event }) => ({ calls: event.output.outcome.calls.length }) },
            target: 'answering',
            actions: { type: 'read', params: ({ event }) => ({ delivered: event.output }) },
          },
          { target: 'judging', actions: { type: 'read', params: ({ event }) => ({ delivered: event.output }) } },
        ],
        onError: {
          target: 'judging',
          actions: { type: 'noteDefect', params: ({ event }) => ({ message: String(event.error) }) },
        },
      },
      on: {
        'session.stop': { actions: { type: 'noteStop', params: ({ event }) => event } },
        'session.abort': 'aborted',
      },
    },
    answering: {
      description: 'Every call of the reply is a machine of its own; all of them are awaited (F-3).',
      meta: { rules: ['C-1', 'C-5', 'F-3'] },
      entry: 'startCalls',
      on: {
        'xstate.done.actor.tool.*': [
          {
            guard: { type: 'answersLackBeside', params: ({ event }) => ({ index: event.output.index }) },
            actions: { type: 'takeAnswer', params: ({ event }) => event.output },
          },
          { target: 'judging', actions: { type: 'takeAnswer', params: ({ event }) => event.output } },
        ],
        'xstate.error.actor.tool.*': [
          {
            guard: { type: 'answersLackBeside', params: ({ event }) => ({ index: indexOf(event.actorId) }) },
            actions: { type: 'answerBrokenCall', params: ({ event }) => ({ index: indexOf(event.actorId) }) },
          },
          {
            target: 'judging',
            actions: { type: 'answerBrokenCall', params: ({ event }) => ({ index: indexOf(event.actorId) }) },
          },
        ],
        'session.stop': { actions: 'passOn' },
        'session.abort': { actions: 'passOn' },
      },
    },
    judging: {
      description: 'What came of the attempt?',
      meta: { rules: ['T-1', 'T-2', 'T-4'] },
      always: [
        { guard: { type: 'verdictIs', params: { outcome: 'succeeded' } }, target: 'succeeded' },
        { guard: { type: 'verdictIs', params: { outcome: 'finished' } }, target: 'finished' },
        { guard: { type: 'verdictIs', params: { outcome: 'aborted' } }, target: 'aborted' },
        { target: 'failed' },
      ],
    },
    finished: {
      description: 'A report was accepted.',
      meta: { rules: ['F-1'] },
      entry: 'announceEnd',
      type: 'final',
    },
    succeeded: {
      description: 'At least one tool was executed.',
      meta: { rules: ['T-2'] },
      entry: 'announceEnd',
      type: 'final',
    },
    failed: {
      description: 'Neither; slugs say why.',
      meta: { rules: ['S-2', 'T-4'] },
      entry: 'announceEnd',
      type: 'final',
    },
    aborted: {
      description: 'The session was aborted; every call that had come is answered.',
      meta: { rules: ['C-1', 'D-2'] },
      entry: 'announceEnd',
      type: 'final',
    },
  },
  output: ({ context }) => outputOf(context),
});

function nameOf({ turn, attempt, target }: AttemptInput): { turn: number; attempt: number; target: string } {
  return { turn, attempt, target: target.name };
}

function indexOf(actorId: string): number {
  return Number(actorId.slice('tool.'.length));
}
