import type { AnyMachineSnapshot, EventObject } from 'xstate';
import { nothingSpent, type Slug, toolCallMachine } from '../../../machines/index.ts';
import type { ToolCallInput } from '../../../machines/tool-call/tool-call.types.ts';
import type { Walk } from '../explore.ts';
import { abort, broke, delivered, done, stops } from './shared.ts';

export function toolCallWalk(needsApproval: boolean, isClientSide = false): Walk {
  const input: ToolCallInput = {
    turn: 1,
    attempt: 1,
    index: 0,
    callId: 'a',
    name: 't',
    needsApproval,
    isClientSide,
  };
  const result = { success: true, value: 1, message: '' };
  const output = { type: 'text', value: '1' };
  const ran = (slug: Slug | null) =>
    done('tool', delivered({ slug, result, output, tokens: 1, kept: null, spent: nothingSpent }));
  const decided = (decision: string) => done('approval', delivered({ decision, reason: null }));
  const events = (snapshot: AnyMachineSnapshot): EventObject[] => {
    if (snapshot.matches('awaitingApproval')) {
      return [decided('approved'), decided('denied'), decided('timeout'), broke('approval'), ...stops, abort];
    }
    if (!snapshot.matches('running')) return [];
    return [
      ran(null),
      ran('tool_exec_failed'),
      ran('tool_timeout'),
      ran('interrupted'),
      ran('invalid_tool_input'),
      ran('check_failed'),
      ran('budget_exhausted'),
      broke('tool'),
      ...stops,
      abort,
    ];
  };
  return { machine: toolCallMachine, input, events };
}
