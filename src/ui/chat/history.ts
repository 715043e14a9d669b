import { sleep, systemClock } from '../../host/clock.ts';
import { PawlError } from '../../input/errors.ts';
import { isEnded, type Journal, type JournaledSession, type SessionHead } from '../../journal/journal.ts';
import type { InputMessage } from '../../model/messages.ts';
import { abortSession } from '../../session/recovery/messages.ts';
import { replaySession } from '../../session/replay/replay-session.ts';
import type { Session } from '../../session/session.ts';
import type { AddedMessages } from './ui-request.ts';

/** What a session of a chat begins with: its messages, and which session it continues. */
export type ChatBeginning = { messages: InputMessage[]; chat: NonNullable<SessionHead['chat']> };

/**
 * Returns what a new session of a chat begins with: what the journal holds of its sessions, and what the page adds.
 * `recorded` are the sessions of the chat, the newest first. Throws `invalid_messages` if the page adds nothing.
 */
export async function continuedBy(
  added: AddedMessages,
  journal: Journal,
  recorded: readonly JournaledSession[],
): Promise<ChatBeginning> {
  const { messages } = added;
  if (messages.length === 0)
    throw new PawlError('invalid_messages', '`body.messages` must end with a message of the user.');
  const after = await placeOf(added, journal, recorded);
  const before = after === null ? [] : (await replaySession(journal, after)).conversation;
  return { messages: [...(before as InputMessage[]), ...messages], chat: { after, added: messages.length } };
}

/** Returns the session after which the user's message comes; null for the beginning. Ids that the chat does not have say nothing. */
async function placeOf(
  { instead }: AddedMessages,
  journal: Journal,
  recorded: readonly JournaledSession[],
): Promise<string | null> {
  const [newest] = recorded;
  if (instead === null) return newest?.sessionId ?? null;
  const known = (id: string | undefined) => recorded.find(({ sessionId }) => sessionId === id);
  const { id, replies } = instead;
  const isLast = id === null && replies.length === 0;
  const replaced = isLast ? newest : known(id?.replace(/:user$/, ''));
  if (replaced !== undefined) {
    const head = await beginningOf(journal, replaced.sessionId);
    if (head?.chat !== undefined) return head.chat.after;
  }
  return replies.findLast((reply) => known(reply) !== undefined) ?? null;
}

/** Returns what a recorded session began with; null for one that the journal does not hold. */
export async function beginningOf(journal: Journal, sessionId: string): Promise<SessionHead | null> {
  const [first] = await journal.read(sessionId);
  return first?.type === 'started' ? first.head : null;
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
  return !isEnded(status);
}

const pollMs = 50;
const mostPolls = 100;

/** Aborts a session that another process runs, and waits until it has ended, for as long as an abort may take. */
export async function endedElsewhere(journal: Journal, sessionId: string): Promise<void> {
  await abortSession(journal, sessionId);
  for (let polls = 0; polls < mostPolls; polls += 1) {
    const [row] = await journal.list({ sessionId });
    if (row === undefined || !isOpenSession(row)) return;
    await sleep(systemClock, pollMs, new AbortController().signal);
  }
}

/** What the page of a chat is told of a session that its server can no longer continue. */
export const unlikeText = 'The agent has changed since this began, so it cannot continue. Ask again.';

export function noSession(chatId: string, sessionId: string): PawlError {
  return new PawlError('session_unknown', `The chat ${chatId} has no session ${sessionId}.`);
}

/** How many numbers a session of a chat is begun under before its failure is its answer. */
export const mostTries = 5;
