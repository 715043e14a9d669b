import { describe, expect, it } from 'vitest';
import { initialTransition, type SnapshotFrom, transition } from 'xstate';
import { toolCallMachine } from '../../../machines/index.ts';
import type { ToolCallInput } from '../../../machines/tool-call/tool-call.types.ts';

type Snapshot = SnapshotFrom<typeof toolCallMachine>;
type Step = { from: string; event: string; to: Snapshot; answers: number };

const input = (needsApproval: boolean, isClientSide: boolean): ToolCallInput => ({
  turn: 1,
  attempt: 1,
  index: 0,
  callId: 'a',
  name: 'search',
  needsApproval,
  isClientSide,
});

const output = {
  slug: null,
  result: { success: true, value: 1, message: '' },
  output: { type: 'text', value: '1' },
  tokens: 1,
};
const delivered = (outcome: object) => ({ at: 1, chance: 0, outcome });
const events = {
  'approval: approved': {
    type: 'xstate.done.actor.approval',
    output: delivered({ decision: 'approved', reason: null }),
  },
  'approval: denied': { type: 'xstate.done.actor.approval', output: delivered({ decision: 'denied', reason: 'no' }) },
  'approval: timeout': { type: 'xstate.done.actor.approval', output: delivered({ decision: 'timeout', reason: null }) },
  'approval: error': { type: 'xstate.error.actor.approval', error: 'broke' },
  'tool: done': { type: 'xstate.done.actor.tool', output: delivered(output) },
  'tool: error': { type: 'xstate.error.actor.tool', error: 'broke' },
  stop: { type: 'turn.stop', slug: 'stopped', at: null },
  deadline: { type: 'turn.stop', slug: 'budget_exhausted', at: 5 },
  abort: { type: 'session.abort' },
};

const answersIn = (actions: readonly { type: string; params: unknown }[]) =>
  actions.filter((action) => action.type === 'xstate.emit' && JSON.stringify(action.params).includes('"tool.answered"'))
    .length;

/** Returns every path through the machine, with its number of answers. */
function paths(needsApproval: boolean, isClientSide = false): { steps: string[]; answers: number; end: Snapshot }[] {
  const [first, actions] = initialTransition(toolCallMachine, input(needsApproval, isClientSide));
  const walk = (
    snapshot: Snapshot,
    steps: string[],
    answers: number,
  ): { steps: string[]; answers: number; end: Snapshot }[] => {
    if (snapshot.status === 'done') return [{ steps, answers, end: snapshot }];
    const onward = Object.entries(events).flatMap(([name, event]): Step[] => {
      const [to, done] = transition(toolCallMachine, snapshot, event as never);
      const moved = to.value !== snapshot.value;
      return moved ? [{ from: String(snapshot.value), event: name, to, answers: answersIn(done) }] : [];
    });
    expect([snapshot.value, onward.length > 0]).toEqual([snapshot.value, true]);
    return onward.flatMap((step) =>
      walk(step.to, [...steps, `${step.from} --${step.event}-->`], answers + step.answers),
    );
  };
  return walk(first, [], answersIn(actions));
}

describe('the tool-call machine', () => {
  it.each([
    [true, false],
    [false, false],
    [true, true],
    [false, true],
  ])(
    'C-1: if the call needs approval: %s, and is client-side: %s, every path ends in answered with exactly one answer',
    (needsApproval, isClientSide) => {
      for (const { steps, answers, end } of paths(needsApproval, isClientSide)) {
        expect([steps, end.value, answers]).toEqual([steps, 'answered', 1]);
        expect(end.output).toMatchObject({ index: 0, executed: expect.any(Boolean) });
      }
    },
  );

  it('C-1: a stop and the deadline end the wait for an answer from outside', () => {
    const seen = paths(false, true).map(({ steps, end }) => `${steps.join(' ')} ${end.output?.slug}`);
    expect(seen).toEqual([
      'running --tool: done--> null',
      'running --tool: error--> internal_error',
      'running --stop--> stopped',
      'running --deadline--> budget_exhausted',
      'running --abort--> aborted',
    ]);
  });

  it('C-1: a call that needs approval has exactly these paths', () => {
    const seen = paths(true).map(({ steps, end }) => `${steps.join(' ')} ${end.output?.slug}`);
    expect(seen).toEqual([
      'awaitingApproval --approval: approved--> running --tool: done--> null',
      'awaitingApproval --approval: approved--> running --tool: error--> internal_error',
      'awaitingApproval --approval: approved--> running --abort--> aborted',
      'awaitingApproval --approval: denied--> tool_denied',
      'awaitingApproval --approval: timeout--> approval_timeout',
      'awaitingApproval --approval: error--> internal_error',
      'awaitingApproval --stop--> stopped',
      'awaitingApproval --deadline--> budget_exhausted',
      'awaitingApproval --abort--> aborted',
    ]);
  });
});
