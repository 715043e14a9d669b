import type { SessionEvent } from '../observe/events.ts';
import type { Session } from './session.ts';

const nobody = 'No one can be asked here.';

/** Declines what an MCP server asks the user, where nobody can be asked. */
export function declineQuestion(event: SessionEvent, session: Pick<Session, 'answer'> | null): void {
  if (event.type !== 'tool.asked') return;
  const { callId, sessionId } = event;
  session?.answer(callId, nobody, { isError: true, sessionId });
}
