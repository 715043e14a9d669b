/**
 * The attempt machine: exactly one LLM request, and the answers to the tool calls in its reply (T-1, B-2).
 * It ignores retries, waits and other targets. Rules: reading.rules.ts, disposition.rules.ts, attempt.rules.ts. The turn
 * machine starts it.
 */

import { assign, emit, enqueueActions, setup, stopChild } from 'xstate';
import type { Delivered, TurnAbort, TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { modelKey, toolKey } from '../contract/keys.ts';
import { leaves } from '../contract/leaf.ts';
import { record } from '../contract/record.ts';
import { toolCallMachine } from '../tool-call/tool-call.machine.ts';
import { startFact } from '../tool-call/tool-call.rules.ts';
import type { ToolCallOutput } from '../tool-call/tool-call.types.ts';
import {
  abortedAnswers,
  answerOfBrokenCall,
  answerOfTool,
  begunCalls,
  endFact,
  outputOf,
  runningTools,
  verdictOf,
  waitingCalls,
  withAnswer,
} from './attempt.rules.ts';
import type { AttemptContext, AttemptInput, AttemptOutput, Verdict } from './attempt.types.ts';
import { brokenReading, readDelivery, textMayReport } from './reading.rules.ts';

/** Action parameters. */
const ofDelivery = ({ event }: { event: { output: Delivered<'model'> } }) => ({ delivered: event.output });
const ofDefect = ({ event }: { event: { error: unknown } }) => ({ error: event.error });
const ofStop = ({ event }: { event: TurnStop }) => ({ slug: event.slug });
const ofCommand = <Command extends TurnStop | TurnAbort>({ event }: { event: Command }) => ({ command: event });
const ofAnswer = ({ event }: { event: { output: ToolCallOutput } }) => ({ answer: event.output });
const ofOutcome = ({ event }: { event: { output: Delivered<'tool'>; actorId: string } }) => ({
  actorId: event.actorId,
  delivered: event.output,
});
const ofChild = ({ event }: { event: { actorId: string } }) => ({ actorId: event.actorId });

type AttemptEvent =
  | TurnStop
  | TurnAbort
  | { type: `xstate.done.actor.tool.${number}`; output: Delivered<'tool'>; actorId: string }
  | { type: `xstate.error.actor.tool.${number}`; actorId: string }
  | { type: `xstate.done.actor.toolCall.${number}`; output: ToolCallOutput }
  | { type: `xstate.error.actor.toolCall.${number}`; actorId: string };

export const attemptMachine = setup({
  types: {
    context: {} as AttemptContext,
    input: {} as AttemptInput,
    output: {} as AttemptOutput,
    events: {} as AttemptEvent,
    emitted: {} as Fact,
    children: {} as { model: 'model'; [tool: `tool.${number}`]: 'tool'; [call: `toolCall.${number}`]: 'toolCall' },
    meta: {} as { rules: string[] },
  },
  actors: { model: leaves.model, tool: leaves.tool, toolCall: toolCallMachine },
  actions: {
    read: record(readDelivery),
    noteDefect: assign((_, { error }: { error: unknown }) => ({ reading: brokenReading(String(error)) })),
    noteStop: assign((_, { slug }: { slug: TurnStop['slug'] }) => ({ stopSlug: slug })),
    beginCalls: enqueueActions(({ context, enqueue }) => {
      for (const { call, waits } of begunCalls(context)) {
        if (waits !== null) {
          enqueue.spawnChild('toolCall', { id: `toolCall.${call.index}`, input: waits });
          continue;
        }
        enqueue.emit(startFact(call));
        enqueue.spawnChild('tool', { id: `tool.${call.index}`, input: { key: toolKey(call), request: call } });
      }
    }),
    /** A finished child would keep its output until the attempt ends. */
    dropTool: stopChild((_, { actorId }: { actorId: string }) => actorId),
    takeOutcome: record(answerOfTool),
    takeAnswer: assign(({ context }, { answer }: { answer: ToolCallOutput }) => withAnswer(context, answer)),
    answerBrokenCall: record(answerOfBrokenCall),
    abortTools: enqueueActions(({ context, enqueue }) => {
      for (const index of runningTools(context)) enqueue.stopChild(`tool.${index}`);
    }),
    answerAborted: record(abortedAnswers),
    passOn: enqueueActions(({ context, enqueue }, { command }: { command: TurnStop | TurnAbort }) => {
      for (const index of waitingCalls(context)) enqueue.sendTo(`toolCall.${index}`, command);
    }),
    announceEnd: emit(({ context }) => endFact(context)),
  },
  guards: {
    allAnswered: ({ context }) => context.answers.every((answer) => answer !== null),
    verdictIs: ({ context }, { status }: Pick<Verdict, 'status'>) => verdictOf(context).status === status,
  },
}).createMachine({
  id: 'attempt',
  description: 'One LLM request and the answers to its tool calls.',
  context: ({ input }) => ({ ...input, reading: null, answers: [] }),
  initial: 'requesting',
  states: {
    requesting: {
      description: 'The request is pending, or its reply is arriving.',
      meta: { rules: ['B-2', 'B-6', 'D-1'] },
      invoke: {
        id: 'model',
        src: 'model',
        input: ({ context }) => ({
          key: modelKey(context),
          request: {
            turn: context.turn,
            attempt: context.attempt,
            target: context.target.index,
            notice: context.notice,
            offer: context.offer,
            permission: context.permission,
            textMayReport: textMayReport(context),
            omit: context.omit,
            omitText: context.omitText,
          },
        }),
        onDone: { target: 'answering', actions: { type: 'read', params: ofDelivery } },
        onError: { target: 'judging', actions: { type: 'noteDefect', params: ofDefect } },
      },
      on: {
        'turn.stop': { actions: { type: 'noteStop', params: ofStop } },
        'session.abort': 'aborted',
      },
    },
    answering: {
      description:
        'Each plain call runs its tool here (tool.N); one that waits for a person or a client has a machine (toolCall.N). All are awaited (F-3), and a stop lets running tools finish.',
      meta: { rules: ['C-1', 'C-5', 'F-3'] },
      entry: 'beginCalls',
      always: { guard: 'allAnswered', target: 'judging' },
      on: {
        'xstate.done.actor.tool.*': {
          actions: [
            { type: 'dropTool', params: ofChild },
            { type: 'takeOutcome', params: ofOutcome },
          ],
        },
        'xstate.error.actor.tool.*': { actions: { type: 'answerBrokenCall', params: ofChild } },
        'xstate.done.actor.toolCall.*': { actions: { type: 'takeAnswer', params: ofAnswer } },
        'xstate.error.actor.toolCall.*': { actions: { type: 'answerBrokenCall', params: ofChild } },
        'turn.stop': { actions: { type: 'passOn', params: ofCommand } },
        'session.abort': { actions: ['abortTools', 'answerAborted', { type: 'passOn', params: ofCommand }] },
      },
    },
    judging: {
      description: 'How did the attempt end?',
      meta: { rules: ['T-1', 'T-2', 'T-4'] },
      always: [
        { guard: { type: 'verdictIs', params: { status: 'progressed' } }, target: 'progressed' },
        { guard: { type: 'verdictIs', params: { status: 'finished' } }, target: 'finished' },
        { guard: { type: 'verdictIs', params: { status: 'aborted' } }, target: 'aborted' },
        { target: 'failed' },
      ],
    },
    finished: {
      description: 'A report was accepted.',
      meta: { rules: ['F-1'] },
      entry: 'announceEnd',
      type: 'final',
    },
    progressed: {
      description: 'The attempt made progress: a tool was executed, or one was not, for no fault of the model.',
      meta: { rules: ['T-2'] },
      entry: 'announceEnd',
      type: 'final',
    },
    failed: {
      description: 'No progress; see slugs.',
      meta: { rules: ['S-2', 'T-4'] },
      entry: 'announceEnd',
      type: 'final',
    },
    aborted: {
      description: 'The session was aborted; every received call is answered.',
      meta: { rules: ['C-1', 'D-2'] },
      entry: 'announceEnd',
      type: 'final',
    },
  },
  output: ({ context }) => outputOf(context),
});
