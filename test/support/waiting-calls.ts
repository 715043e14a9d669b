import type { WaitingCall } from '../../src/journal/journal.ts';

/** Calls of a session that wait for approval, and for answers. */
export function waitingCalls(sessionId: string, approvals: readonly string[], answers: readonly string[] = []) {
  const calls = (callIds: readonly string[], awaits: WaitingCall['awaits']) =>
    callIds.map((callId): WaitingCall => ({ sessionId, callId, awaits }));
  return [...calls(approvals, 'approval'), ...calls(answers, 'answer')];
}
