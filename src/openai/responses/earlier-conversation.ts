import { isEnded, type Journal } from '../../journal/journal.ts';
import type { InputMessage } from '../../model/messages.ts';
import { readSession } from '../../session/replay/replay-session.ts';
import type { Metadata } from '../../vocabulary/metadata.ts';
import { BadRequest } from '../completion-request.ts';
import { responsePrefix } from './response.ts';
import { isInstructing } from './response-request.ts';

const field = 'previous_response_id';

/**
 * Returns the conversation of an earlier response, which is that of its session. Throws `BadRequest` for one that is not in
 * the journal, that has other metadata than its caller, or whose session has not ended.
 */
export async function earlierConversation(
  journal: Journal | undefined,
  responseId: string,
  { metadata = {} }: { metadata?: Metadata },
): Promise<readonly InputMessage[]> {
  if (journal === undefined)
    throw new BadRequest('`previous_response_id` needs a server with a journal; this one keeps no responses.', field);
  // No other session of the journal can be named, such as one of a chat.
  const isOne = responseId.startsWith(responsePrefix) && /^[\w-]+$/.test(responseId);
  const [row] = isOne ? await journal.list({ sessionId: responseId }) : [];
  if (row === undefined || !isSame(row.metadata, metadata))
    throw new BadRequest(`There is no response "${responseId}".`, field, 404);
  if (!isEnded(row.status)) throw new BadRequest(`The response "${responseId}" has not ended.`, field, 409);
  return (await readSession(journal, responseId)).conversation.filter((message) => !isInstructing(message));
}

function isSame(one: Metadata, other: Metadata): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
