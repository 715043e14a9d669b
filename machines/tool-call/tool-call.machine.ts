/**
 * The tool-call machine: one call of a reply, from its arrival to its one answer (C-1, C-3, C-4).
 * Every path ends in `answered`. Rules: tool-call.rules.ts. Started by the attempt machine, one for each call.
 */
import { emit, enqueueActions, setup } from 'xstate';
import { type ApprovalOutcome, attemptKey, type StopBelow } from '../contract/effects.ts';
import type { CallName, Fact } from '../contract/events.ts';
import { leaves } from '../contract/leaf.ts';
import { nothingSpent } from '../contract/limits.ts';
import { cutShort, denied, executed, settled } from './tool-call.rules.ts';
import type { Answer, ToolCallContext, ToolCallInput, ToolCallOutput } from './tool-call.types.ts';

export const toolCallMachine = setup({
  types: {
    context: {} as ToolCallContext,
    input: {} as ToolCallInput,
    output: {} as ToolCallOutput,
    events: {} as StopBelow | { type: 'session.abort' },
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
    announceApproval: emit(({ context }, { reason }: { reason: string | null }) => ({
      type: 'tool.approved',
      reason,
      ...nameOf(context),
    })),
    announceDenial: emit(({ context }, { reason }: { reason: string | null }) => ({
      type: 'tool.denied',
      reason,
      ...nameOf(context),
    })),
    announceStart: emit(({ context }) => ({ type: 'tool.started', ...nameOf(context) })),
    answer: enqueueActions(({ context, enqueue }, { at, spent, ...answer }: Answer) => {
      enqueue.assign({ answer: { executed: answer.executed, slug: answer.slug, tokens: answer.tokens, spent, at } });
      enqueue.emit({ type: 'tool.answered', ...nameOf(context), ...answer });
    }),
  },
  guards: {
    isProgress: ({ context }) => context.tool === 'progress' && context.disposition.kind === 'acknowledge',
    mayRun: ({ context }) => context.disposition.kind === 'run',
    needsApproval: ({ context }) => context.disposition.kind === 'approve',
    isApproved: (_, { decision }: { decision: ApprovalOutcome['decision'] }) => decision === 'approved',
    isDenied: (_, { decision }: { decision: ApprovalOutcome['decision'] }) => decision === 'denied',
  },
}).createMachine({
  id: 'toolCall',
  description: 'One tool call of a reply: disposed of, approved where it must be, run, and answered once.',
  context: ({ input }) => ({ ...input, answer: null }),
  entry: 'announceRequest',
  initial: 'disposing',
  states: {
    disposing: {
      description: 'What is to happen with the call?',
      meta: { rules: ['C-1', 'C-5', 'B-5', 'T-2'] },
      always: [
        { guard: 'mayRun', target: 'running' },
        { guard: 'needsApproval', target: 'awaitingApproval' },
        {
          guard: 'isProgress',
          target: 'answered',
          actions: ['announceProgress', { type: 'answer', params: ({ context }) => settled(context.disposition) }],
        },
        { target: 'answered', actions: { type: 'answer', params: ({ context }) => settled(context.disposition) } },
      ],
    },
    awaitingApproval: {
      description: 'Somebody has to decide; the wait can be stopped, aborted, and may time out.',
      meta: { rules: ['C-1', 'D-2'] },
      tags: 'waitingForPerson',
      entry: 'announceApprovalRequest',
      invoke: {
        id: 'approval',
        src: 'approval',
        input: ({ context }) => ({ key: keyOf(context, 'approval'), request: nameOf(context) }),
        onDone: [
          {
            guard: { type: 'isApproved', params: ({ event }) => ({ decision: event.output.outcome.decision }) },
            target: 'running',
            actions: {
              type: 'announceApproval',
              params: ({ event }) => ({ reason: event.output.outcome.reason }),
            },
          },
          {
            guard: { type: 'isDenied', params: ({ event }) => ({ decision: event.output.outcome.decision }) },
            target: 'answered',
            actions: [
              { type: 'announceDenial', params: ({ event }) => ({ reason: event.output.outcome.reason }) },
              {
                type: 'answer',
                params: ({ event }) => denied(event.output.outcome.reason, event.output.at),
              },
            ],
          },
          {
            target: 'answered',
            actions: {
              type: 'answer',
              params: ({ event }) => cutShort('approval_timeout', event.output.at),
            },
          },
        ],
        onError: {
          target: 'answered',
          actions: {
            type: 'answer',
            params: () => cutShort('internal_error', null),
          },
        },
      },
      on: {
        'session.stop': {
          target: 'answered',
          actions: { type: 'answer', params: ({ event }) => cutShort(event.slug, event.at) },
        },
        'session.abort': {
          target: 'answered',
          actions: { type: 'answer', params: () => cutShort('aborted', null) },
        },
      },
    },
    running: {
      description: 'The tool runs. A stop lets it; an abort takes it back.',
      meta: { rules: ['T-2', 'C-3', 'D-5'] },
      entry: 'announceStart',
      invoke: {
        id: 'tool',
        src: 'tool',
        input: ({ context }) => ({ key: keyOf(context, 'tool'), request: nameOf(context) }),
        onDone: {
          target: 'answered',
          actions: {
            type: 'answer',
            params: ({ event }) => executed(event.output.outcome, event.output.at),
          },
        },
        onError: {
          target: 'answered',
          actions: {
            type: 'answer',
            params: () => cutShort('internal_error', null),
          },
        },
      },
      on: {
        'session.abort': {
          target: 'answered',
          actions: { type: 'answer', params: () => cutShort('aborted', null) },
        },
      },
    },
    answered: {
      description: 'The call has its one answer.',
      meta: { rules: ['C-1', 'C-4'] },
      type: 'final',
    },
  },
  output: ({ context }) => ({
    index: context.index,
    ...(context.answer ?? { executed: false, slug: 'internal_error', tokens: 0, spent: nothingSpent, at: null }),
  }),
});

function nameOf({ turn, attempt, index, callId, name }: CallName): CallName {
  return { turn, attempt, index, callId, name };
}

function keyOf({ turn, attempt, index }: CallName, what: 'tool' | 'approval'): string {
  return `${attemptKey(turn, attempt)}/${what}-${index}`;
}
