import { approvalKey, type CallName, type Fact } from '../../../machines/index.ts';
import type { Fold, Sighting, ToolTraits } from '../events.ts';

/** The calls awaiting approval, by their ids. */
export class WaitingApprovals implements Fold {
  private readonly calls = new Map<string, CallName>();

  fact(fact: Fact): void {
    if (fact.type === 'tool.approvalRequested') this.calls.set(fact.callId, fact);
    if (fact.type === 'tool.answered' || fact.type === 'tool.approved') this.calls.delete(fact.callId);
  }

  /** The ids of the calls. */
  get waiting(): string[] {
    return [...this.calls.keys()];
  }

  /** Removes the call, so it is decided once. Returns the key to answer; null if no such call waits. */
  takeCall(callId: string): string | null {
    const call = this.calls.get(callId);
    this.calls.delete(callId);
    return call === undefined ? null : approvalKey(call);
  }

  /** The position in its reply of a call that waits; null if no such call does. */
  indexOf(callId: string): number | null {
    return this.calls.get(callId)?.index ?? null;
  }
}

/** The calls of client-side tools that wait for an answer from outside, by call id. */
export class ClientCalls implements Fold {
  private readonly tools: ToolTraits;
  private readonly calls = new Map<string, CallName>();

  constructor(tools: ToolTraits) {
    this.tools = tools;
  }

  fact(fact: Fact): void {
    if (fact.type === 'tool.started' && this.tools.get(fact.name)?.isClientSide) this.calls.set(fact.callId, fact);
    if (fact.type === 'tool.answered') this.calls.delete(fact.callId);
  }

  get waiting(): string[] {
    return [...this.calls.keys()];
  }

  /** Removes the call, so it is answered once. Returns null if no such call waits. */
  takeCall(callId: string): CallName | null {
    const call = this.calls.get(callId) ?? null;
    this.calls.delete(callId);
    return call;
  }
}

/** The ids of the calls whose MCP server has asked its user something. A crash ends the wait for the answer. */
export class AskedCalls implements Fold {
  private readonly calls = new Set<string>();

  sighting(sighting: Sighting): void {
    if (sighting.type === 'tool.asked') this.calls.add(sighting.callId);
    if (sighting.type === 'tool.replied') this.calls.delete(sighting.callId);
    if (sighting.type === 'session.resumed') this.calls.clear();
  }

  fact(fact: Fact): void {
    if (fact.type === 'tool.answered') this.calls.delete(fact.callId);
  }

  get waiting(): string[] {
    return [...this.calls];
  }

  /** Removes the question of a call, so that it cannot be answered twice. Returns false if there is none. */
  takeCall(callId: string): boolean {
    return this.calls.delete(callId);
  }
}
