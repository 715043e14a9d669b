import type { ApprovalOutcome } from '../../machines/index.ts';

const nobody: ApprovalOutcome = { decision: 'timeout', reason: null };

/** The approval effect: calls that wait for somebody's decision, by call id. */
export class Approvals {
  private waiting: { callId: string; settle: (outcome: ApprovalOutcome) => void }[] = [];

  /** Waits for a decision about a call: until it comes, `timeoutMs` (null: for ever) are over, or `signal` aborts. */
  wait(callId: string, timeoutMs: number | null, signal: AbortSignal): Promise<ApprovalOutcome> {
    return new Promise((resolve) => {
      const timeout = timeoutMs === null ? undefined : setTimeout(() => settle(nobody), timeoutMs);
      const settle = (outcome: ApprovalOutcome) => {
        clearTimeout(timeout);
        signal.removeEventListener('abort', abort);
        this.waiting = this.waiting.filter((one) => one.settle !== settle);
        resolve(outcome);
      };
      const abort = () => settle(nobody);
      this.waiting.push({ callId, settle });
      signal.addEventListener('abort', abort, { once: true });
    });
  }

  /** Decides about a call. False: no such call waits. */
  decide(callId: string, approved: boolean, reason: string | null): boolean {
    const found = this.waiting.find((one) => one.callId === callId);
    found?.settle({ decision: approved ? 'approved' : 'denied', reason });
    return found !== undefined;
  }
}
