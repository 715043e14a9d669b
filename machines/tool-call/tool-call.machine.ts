/**
 * The tool-call machine: one call of a reply, from its arrival to its one answer (C-1, C-3, C-4).
 * Every path ends in `answered`. Rules: tool-call.rules.ts. The attempt machine starts one for each call.
 */
import { emit, setup } from 'xstate';
import { approvalKey, type Delivered, type TurnStop, toolKey } from '../contract/effects.ts';
import type { Fact } from '../contract/events.ts';
import { leaves } from '../contract/leaf.ts';
import { record } from '../contract/record.ts';
import { answered, cutShort, denied, executed, nameOf, outputOf, settled } from './tool-call.rules.ts';
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
    announceRequest: emit(({ context }) => ({ type: 'tool.requested', kind: context.tool, ...nameOf(context) })),
    announceProgress: emit(({ context: { turn, attempt, callId, progress } }) => ({
      type: 'progress.reported',
      turn,
      attempt,
      callId,
      message: progress,
    })),
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
    announceStart: emit(({ context }) => ({ type: 'tool.started', ...nameOf(context) })),
    settle: record((context: ToolCallContext) => answered(context, settled(context.disposition))),
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
    answerAborted: record((context: ToolCallContext) => answered(context, cutShort('aborted', null))),
    answerBroken: record((context: ToolCallContext) => answered(context, cutShort('internal_error', null))),
  },
  guards: {
    isProgress: ({ context }) => context.tool === 'progress' && context.disposition.kind === 'acknowledge',
    mayRun: ({ context }) => context.disposition.kind === 'run',
    needsApproval: ({ context }) => context.disposition.kind === 'approve',
    isApproved: (_, { delivered }: { delivered: Delivered<'approval'> }) => delivered.outcome.decision === 'approved',
    isDenied: (_, { delivered }: { delivered: Delivered<'approval'> }) => delivered.outcome.decision === 'denied',
  },
}).createMachine({
  id: 'toolCall',
  description: 'One tool call of a reply: checked, approved if needed, run, and answered once.',
  context: ({ input }) => ({ ...input, answer: null }),
  entry: 'announceRequest',
  initial: 'disposing',
  states: {
    disposing: {
      description: 'What should happen to the call?',
      meta: { rules: ['C-1', 'C-5', 'B-5', 'T-2'] },
      always: [
        { guard: 'mayRun', target: 'running' },
        { guard: 'needsApproval', target: 'awaitingApproval' },
        {
          guard: 'isProgress',
          target: 'answered',
          actions: ['announceProgress', 'settle'],
        },
        { target: 'answered', actions: 'settle' },
      ],
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
      description: 'A stop lets the tool finish; an abort cancels it.',
      meta: { rules: ['T-2', 'C-3', 'D-5'] },
      entry: 'announceStart',
      invoke: {
        id: 'tool',
        src: 'tool',
        input: ({ context }) => ({ key: toolKey(context), request: nameOf(context) }),
        onDone: { target: 'answered', actions: { type: 'answerOutcome', params: ofOutcome } },
        onError: { target: 'answered', actions: 'answerBroken' },
      },
      on: { 'session.abort': { target: 'answered', actions: 'answerAborted' } },
    },
    answered: {
      description: 'The call has its one answer.',
      meta: { rules: ['C-1', 'C-4'] },
      type: 'final',
    },
  },
  output: ({ context }) => outputOf(context),
});
