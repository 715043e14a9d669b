/** A call of a session or of one of its sub-agents. */
export type CallReference = { sessionId: string; callId: string };

/** Returns the id under which a page decides a call. */
export function approvalIdOf({ sessionId, callId }: CallReference): string {
  return `${encodeURIComponent(sessionId)}/${encodeURIComponent(callId)}`;
}

/** Decodes an approval id; null if Pawl did not make it. */
export function callOfApproval(id: string): CallReference | null {
  const [sessionId, callId, ...more] = id.split('/');
  if (sessionId === undefined || callId === undefined || more.length > 0) return null;
  try {
    return { sessionId: decodeURIComponent(sessionId), callId: decodeURIComponent(callId) };
  } catch {
    return null;
  }
}

const innerPrefix = 'inner:';

/** Returns the id of a part for a call that is not in the conversation: a sub-agent's, or one inside a batch. */
export function innerPartId(call: CallReference): string {
  return innerPrefix + approvalIdOf(call);
}

/** Returns the call that a part of a page stands for, in a session. */
export function callOfPart(toolCallId: string, sessionId: string): CallReference {
  const inner = isInnerPart(toolCallId) ? callOfApproval(toolCallId.slice(innerPrefix.length)) : null;
  return inner ?? { sessionId, callId: toolCallId };
}

export function isInnerPart(toolCallId: string): boolean {
  return toolCallId.startsWith(innerPrefix);
}

/** What a page shows as the result of a sub-agent's call while the sub-agent waits for a decision. */
export const waitingOutput = 'The sub-agent waits for a decision.';
