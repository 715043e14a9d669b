import { approvalKey, type Fact } from '../../machines/index.ts';
import type { Fold } from './events.ts';

/** The calls awaiting approval: the key of the waiting effect, by call id. */
export class WaitingApprovals implements Fold {
  private readonly keys = new Map<string, string>();

  fact(fact: Fact): void {
    if (fact.type === 'tool.approvalRequested') this.keys.set(fact.callId, approvalKey(fact));
    if (fact.type === 'tool.answered' || fact.type === 'tool.approved') this.keys.delete(fact.callId);
  }

  /** The ids of the calls. */
  get waiting(): string[] {
    return [...this.keys.keys()];
  }

  /** Removes the call, so it is decided once. Returns the key to answer; null if no such call waits. */
  take(callId: string): string | null {
    const key = this.keys.get(callId) ?? null;
    this.keys.delete(callId);
    return key;
  }
}
