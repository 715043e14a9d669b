import { approvalKey, type Fact } from '../../machines/index.ts';
import type { Fold } from './events.ts';

/** The calls that wait for an approval: the key of the effect that waits, by call id. */
export class WaitingApprovals implements Fold {
  private readonly keys = new Map<string, string>();

  fact(fact: Fact): void {
    if (fact.type === 'tool.approvalRequested') this.keys.set(fact.callId, approvalKey(fact));
    if (fact.type === 'tool.answered' || fact.type === 'tool.approved') this.keys.delete(fact.callId);
  }

  has(callId: string): boolean {
    return this.keys.has(callId);
  }

  /** Takes the call off the list, so that it is decided once. Returns the key to answer; null if the call doesn't wait. */
  take(callId: string): string | null {
    const key = this.keys.get(callId) ?? null;
    this.keys.delete(callId);
    return key;
  }
}
