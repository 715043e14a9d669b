import type { ApprovalOutcome } from '../../machines/index.ts';

const nobody: ApprovalOutcome = { decision: 'timeout', reason: null };

type Waiting = {
  callId: string;
  /** Null until the effect waits: somebody may decide as soon as the request is seen. */
  settle: ((outcome: ApprovalOutcome) => void) | null;
  decided: ApprovalOutcome | null;
};

/** The approval effect: calls that wait for somebody's decision, by call id. */
export class Approvals {
  private waiting: Waiting[] = [];

  /** From now on the call may be decided. */
  announce(callId: string): void {
    this.waiting.push({ callId, settle: null, decided: null });
  }

  /** Waits for a decision about a call: until it comes, `timeoutMs` (null: for ever) are over, or `signal` aborts. */
  wait(callId: string, timeoutMs: number | null, signal: AbortSignal): Promise<ApprovalOutcome> {
    return new Promise((resolve) => {
      const timeout = timeoutMs === null ? undefined : setTimeout(() => settle(nobody), timeoutMs);
      const settle = (outcome: ApprovalOutcome) => {
        clearTimeout(timeout);
        signal.removeEventListener('abort', abort);
        this.waiting = this.waiting.filter((one) => one.callId !== callId);
        resolve(outcome);
      };
      const abort = () => settle(nobody);
      signal.addEventListener('abort', abort, { once: true });
      const announced = this.waiting.find((one) => one.callId === callId);
      if (announced?.decided != null) settle(announced.decided);
      else if (announced !== undefined) announced.settle = settle;
    });
  }

  waitsFor(callId: string): boolean {
    return this.waiting.some((one) => one.callId === callId && one.decided === null);
  }

  /** Decides about a call, once. False: no such call waits. */
  decide(callId: string, approved: boolean, reason: string | null): boolean {
    const found = this.waiting.find((one) => one.callId === callId && one.decided === null);
    if (found === undefined) return false;
    const decided: ApprovalOutcome = { decision: approved ? 'approved' : 'denied', reason };
    found.decided = decided;
    found.settle?.(decided);
    return true;
  }
}
