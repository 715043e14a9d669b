import type { Journal } from '../../journal/journal.ts';
import { answerSession, approveSession } from '../../session/recovery/messages.ts';
import type { Session } from '../../session/session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import type { CallReference } from '../call-reference.ts';
import type { Followed } from '../ui-message-stream.ts';
import type { UIRequest } from './ui-request.ts';

/** Passes a page's decisions and answers on to a session, here or through its journal. Adds the calls that were taken. */
export async function passOn(
  { sessionId, decisions, answers }: NonNullable<UIRequest['decided']>,
  session: Session | Followed,
  journal: Journal | undefined,
  taken: CallReference[],
): Promise<void> {
  const decide = async (decision: (typeof decisions)[number]) => {
    const { callId, ...rest } = decision;
    const isTaken =
      'approve' in session
        ? session.approve(callId, rest)
        : journal !== undefined && (await approveSession(journal, sessionId, callId, rest));
    if (isTaken) taken.push(decision);
  };
  const give = async ({ callId, output, isError, ...one }: (typeof answers)[number]) => {
    // Outputs that the page has from the session answer nothing.
    const options = { isError, sessionId: one.sessionId };
    const isTaken =
      'answer' in session
        ? session.answer(callId, output, options)
        : journal !== undefined && (await answerSession(journal, sessionId, callId, output, options));
    if (isTaken) taken.push({ ...one, callId });
  };
  await Promise.all([...decisions.map(decide), ...answers.map(give)]);
}

/** Declines what MCP servers ask in a session, since no page can answer. */
export async function declineAll(session: Session): Promise<void> {
  for await (const event of session.events) declineQuestion(event, session);
}
