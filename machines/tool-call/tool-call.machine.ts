/**
 * The tool-call machine: one call that waits for a person or a client, until its one answer (C-1, C-3, C-4). Every path
 * ends in `answered`. Rules: tool-call.rules.ts. The attempt machine starts one for each such call; it runs the tools of
 * others, and answers those that need none, itself.
 */

import { emit, setup } from 'xstate';
import type { Delivered, TurnStop } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { approvalKey, toolKey } from '../contract/keys.ts';
import { leaves } from '../contract/leaf.ts';
import { record } from '../contract/record.ts';
import { answered, cutShort, denied, executed, nameOf, outputOf, startFact, unawaited } from './tool-call.rules.ts';
import type { ToolCallContext, ToolCallInput, ToolCallOutput } from './tool-call.types.ts';

/** Action parameters. */
const ofDecision = ({ event }: { event: { output: Delivered<'approval'> } }) => ({ delivered: event.output });
const ofOutcome = ({ event }: { event: { output: Delivered<'tool'> } }) => ({ delivered: event.output });
const ofStop = ({ event }: { event: TurnStop }) => ({ slug: event.slug, at: event.at });

export const toolCallMachine = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    output: {} as ToolCallOutput,
    events: {} as TurnStop | { type: 'session.abort' },
    emitted: {} as Fact,
    meta: {} as { rules: string[] },
    tags: {} as 'waitingForPerson',
  },
  actors: { approval: leaves.approval, tool: leaves.tool },
  actions: {
    announceApprovalRequest: emit(({ context }) => ({ type: 'tool.approvalRequested', ...nameOf(context) })),
    announceApproval: emit(({ context }, { delivered }: { delivered: Delivered<'approval'> }) => ({
      type: 'tool.approved',
      reason: delivered.outcome.reason,
      ...nameOf(context),
    })),
    announceDenial: emit(({ context }, { delivered }: { delivered: Delivered<'approval'> }) => ({
      type: 'tool.denied',
      reason: delivered.outcome.reason,
      ...nameOf(context),
    })),
    announceStart: emit(({ context }) => startFact(context)),
    answerDenied: record((context: ToolCallContext, { delivered }: { delivered: Delivered<'approval'> }) =>
      answered(context, denied(delivered)),
    ),
    answerTimeout: record((context: ToolCallContext, { delivered }: { delivered: Delivered<'approval'> }) =>
      answered(context, cutShort('approval_timeout', delivered.at)),
    ),
    answerOutcome: record((context: ToolCallContext, { delivered }: { delivered: Delivered<'tool'> }) =>
      answered(context, executed(delivered)),
    ),
    answerStopped: record((context: ToolCallContext, { slug, at }: Pick<TurnStop, 'slug' | 'at'>) =>
      answered(context, cutShort(slug, at)),
    ),
    answerUnawaited: record((context: ToolCallContext, { slug, at }: Pick<TurnStop, 'slug' | 'at'>) =>
      answered(context, unawaited(slug, at)),
    ),
    answerAborted: record((context: ToolCallContext) => answered(context, cutShort('aborted', null))),
    answerBroken: record((context: ToolCallContext) => answered(context, cutShort('internal_error', null))),
  },
  guards: {
    needsApproval: ({ context }) => context.needsApproval,
    isClientSide: ({ context }) => context.isClientSide,
    isApproved: (_, { delivered }: { delivered: Delivered<'approval'> }) => delivered.outcome.decision === 'approved',
    isDenied: (_, { delivered }: { delivered: Delivered<'approval'> }) => delivered.outcome.decision === 'denied',
  },
}).createMachine({
  id: 'toolCall',
  description: 'A call that waits for a person or a client, answered once.',
  context: ({ input }) => ({ ...input, answer: null }),
  initial: 'disposing',
  states: {
    disposing: {
      description: 'Must the call be approved first?',
      meta: { rules: ['C-1', 'T-2'] },
      always: [{ guard: 'needsApproval', target: 'awaitingApproval' }, { target: 'running' }],
    },
    awaitingApproval: {
      description: 'The call awaits approval; a stop, an abort or a timeout ends the wait.',
      meta: { rules: ['C-1', 'D-2'] },
      tags: 'waitingForPerson',
      entry: 'announceApprovalRequest',
      invoke: {
        id: 'approval',
        src: 'approval',
        input: ({ context }) => ({ key: approvalKey(context), request: nameOf(context) }),
        onDone: [
          {
            guard: { type: 'isApproved', params: ofDecision },
            target: 'running',
            actions: { type: 'announceApproval', params: ofDecision },
          },
          {
            guard: { type: 'isDenied', params: ofDecision },
            target: 'answered',
            actions: [
              { type: 'announceDenial', params: ofDecision },
              { type: 'answerDenied', params: ofDecision },
            ],
          },
          { target: 'answered', actions: { type: 'answerTimeout', params: ofDecision } },
        ],
        onError: { target: 'answered', actions: 'answerBroken' },
      },
      on: {
        'turn.stop': { target: 'answered', actions: { type: 'answerStopped', params: ofStop } },
        'session.abort': { target: 'answered', actions: 'answerAborted' },
      },
    },
    running: {
      description: 'A stop lets the tool finish, unless its answer comes from outside; an abort cancels it.',
      meta: { rules: ['C-1', 'T-2', 'C-3', 'D-5'] },
      entry: 'announceStart',
      invoke: {
        id: 'tool',
        src: 'tool',
        input: ({ context }) => ({ key: toolKey(context), request: nameOf(context) }),
        onDone: { target: 'answered', actions: { type: 'answerOutcome', params: ofOutcome } },
        onError: { target: 'answered', actions: 'answerBroken' },
      },
      on: {
        'turn.stop': {
          guard: 'isClientSide',
          target: 'answered',
          actions: { type: 'answerUnawaited', params: ofStop },
        },
        'session.abort': { target: 'answered', actions: 'answerAborted' },
      },
    },
    answered: {
      description: 'The call has its one answer.',
      meta: { rules: ['C-1', 'C-4'] },
      type: 'final',
    },
  },
  output: ({ context }) => outputOf(context),
});
