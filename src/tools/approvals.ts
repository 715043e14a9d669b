import type { ApprovalOutcome } from '../../machines/index.ts';

const nobody: ApprovalOutcome = { decision: 'timeout', reason: null };

/** The approval effect: calls that wait for somebody's decision, by call id. */
export class Approvals {
  private readonly waiting = new Map<string, (outcome: ApprovalOutcome) => void>();

  /** Waits for a decision about a call: until it comes, `timeoutMs` (null: for ever) are over, or `signal` aborts. */
  wait(callId: string, timeoutMs: number | null, signal: AbortSignal): Promise<ApprovalOutcome> {
    return new Promise((resolve) => {
      const timeout = timeoutMs === null ? undefined : setTimeout(() => settle(nobody), timeoutMs);
      const settle = (outcome: ApprovalOutcome) => {
        clearTimeout(timeout);
        signal.removeEventListener('abort', abort);
        this.waiting.delete(callId);
        resolve(outcome);
      };
      const abort = () => settle(nobody);
      this.waiting.set(callId, settle);
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** Decides about a call. False: no such call waits. */
  decide(callId: string, approved: boolean, reason: string | null): boolean {
    const settle = this.waiting.get(callId);
    settle?.({ decision: approved ? 'approved' : 'denied', reason });
    return settle !== undefined;
  }
}
