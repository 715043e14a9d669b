import type { Message } from '../../../machines/index.ts';
import { PawlError } from '../../input/errors.ts';
import type { Journal, JournaledSession } from '../../journal/journal.ts';
import type { InputMessage } from '../../model/messages.ts';
import { replaySession } from '../../session/replay/replay-session.ts';
import type { Session } from '../../session/session.ts';
import type { AddedMessages } from './ui-request.ts';

/**
 * Returns the conversation that a new session of a chat begins with: what the journal holds of its sessions, and what the
 * page adds. `recorded` are the sessions of the chat, the newest first. Throws `invalid_messages` if the page adds nothing.
 */
export async function continuedBy(
  { messages, after }: AddedMessages,
  journal: Journal,
  recorded: readonly JournaledSession[],
): Promise<InputMessage[]> {
  if (messages.length === 0)
    throw new PawlError('invalid_messages', '`body.messages` must end with a message of the user.');
  const before = after === 'newest' ? recorded[0] : latestOf(after, recorded);
  return [...(before === undefined ? [] : await conversationOf(journal, before.sessionId)), ...messages];
}

/** Returns the session whose reply comes last among those that a page names; messages of anybody else are not the chat's. */
function latestOf(ids: readonly string[], recorded: readonly JournaledSession[]): JournaledSession | undefined {
  const known = ids.findLast((id) => recorded.some(({ sessionId }) => sessionId === id));
  return recorded.find(({ sessionId }) => sessionId === known);
}

async function conversationOf(journal: Journal, sessionId: string): Promise<InputMessage[]> {
  const { conversation } = await replaySession(journal, sessionId);
  return [...conversation] as Message[] as InputMessage[];
}

/** The number of a session in its chat. */
export function chatNumber(sessionId: string): number {
  const number = Number(sessionId.slice(sessionId.lastIndexOf(':') + 1));
  return Number.isSafeInteger(number) ? number : 0;
}

/** Whether a session has begun in its journal: its first event is told then, and any other says why it has not. */
export async function isBegun(session: Session): Promise<boolean> {
  for await (const event of session.events) return event.type === 'session.started';
  return false;
}

export function isOpenSession({ status }: JournaledSession): boolean {
  return status === 'running' || status === 'suspended';
}
