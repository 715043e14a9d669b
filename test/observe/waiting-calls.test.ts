import { describe, expect, it } from 'vitest';
import type { Fact } from '../../machines/index.ts';
import { ClientCalls, WaitingApprovals } from '../../src/observe/calls/waiting-calls.ts';

type CallFact = 'tool.approvalRequested' | 'tool.approved' | 'tool.denied' | 'tool.started' | 'tool.answered';

const factOf = (type: CallFact, index: number, name = 'ask'): Fact =>
  ({ type, turn: 2, attempt: 3, index, callId: `call-${index}`, name, executed: true, slug: null }) as Fact;

describe('C-1: the calls that wait for a person', () => {
  it('a call waits from its request until it is approved or answered, and is decided once', () => {
    const approvals = new WaitingApprovals();
    for (const index of [0, 1, 2, 3]) approvals.fact(factOf('tool.approvalRequested', index));
    expect(approvals.waiting).toEqual(['call-0', 'call-1', 'call-2', 'call-3']);
    // Only its own approval or answer ends the wait.
    approvals.fact(factOf('tool.denied', 0));
    approvals.fact(factOf('tool.started', 0));
    approvals.fact(factOf('tool.started', 7));
    approvals.fact(factOf('tool.approved', 1));
    approvals.fact(factOf('tool.answered', 2));
    expect(approvals.waiting).toEqual(['call-0', 'call-3']);
    expect(approvals.takeCall('call-3')).toBe('turn-2/attempt-3/approval-3');
    expect(approvals.takeCall('call-3')).toBeNull();
    expect(approvals.takeCall('call-1')).toBeNull();
    expect(approvals.waiting).toEqual(['call-0']);
  });

  it('a call of a client-side tool waits from its start until it is answered, and is answered once', () => {
    const calls = new ClientCalls(
      new Map([
        ['ask', { isClientSide: true }],
        ['run', { isClientSide: false }],
        ['walk', {}],
      ]),
    );
    calls.fact(factOf('tool.approvalRequested', 9));
    for (const index of [0, 1, 2]) calls.fact(factOf('tool.started', index));
    for (const [index, name] of ['run', 'walk', 'unknown'].entries())
      calls.fact(factOf('tool.started', 3 + index, name));
    expect(calls.waiting).toEqual(['call-0', 'call-1', 'call-2']);
    calls.fact(factOf('tool.approved', 0));
    calls.fact(factOf('tool.answered', 0));
    expect(calls.waiting).toEqual(['call-1', 'call-2']);
    expect(calls.takeCall('call-1')).toEqual(factOf('tool.started', 1));
    expect(calls.takeCall('call-1')).toBeNull();
    expect(calls.waiting).toEqual(['call-2']);
  });
});
