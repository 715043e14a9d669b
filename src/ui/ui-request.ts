import { convertToModelMessages, getToolName, isToolUIPart, type UIMessage } from 'ai';
import { z } from 'zod';
import { check } from '../agent/check.ts';
import { flag, nonBlank, text } from '../agent/shapes.ts';
import { messageOf, PawlError } from '../errors.ts';
import type { InputMessage } from '../model/messages.ts';
import { type CallReference, callOfApproval, isInnerPart } from './call-reference.ts';

/** What a person decided on a page. */
export type UIDecision = CallReference & { approved: boolean; reason?: string };

/** What `useChat` sent. */
export type UIRequest = {
  chatId: string;
  /** The conversation, for `startSession`. */
  messages: InputMessage[];
  /** The session whose message comes last, if a person has decided its calls; otherwise null. */
  decided: { sessionId: string; from: number; decisions: UIDecision[] } | null;
};

const bodySchema = z.looseObject({
  id: nonBlank,
  messages: z
    .array(
      z.looseObject({
        id: text,
        role: z.enum(['user', 'assistant', 'system']),
        parts: z.array(z.looseObject({ type: text })),
      }),
    )
    .min(1, { error: 'an array with at least one message' }),
});
const positionSchema = z.looseObject({ seq: z.int().min(0) });
const approvalSchema = z.looseObject({ id: text, approved: flag, reason: text.optional() });

/**
 * Reads the body that `useChat` posts: a new message of the user, or a person's decisions. Rejects with
 * `invalid_messages`, naming the field.
 */
export async function readUIRequest(body: unknown): Promise<UIRequest> {
  const { id, messages } = check(bodySchema, body, 'body', 'invalid_messages');
  const conversation = messages as unknown as UIMessage[];
  const last = conversation.at(-1);
  const decisions = last?.role === 'assistant' ? decisionsIn(last) : [];
  const { data: known } = positionSchema.safeParse(last?.metadata);
  return {
    chatId: id,
    messages: await fromUIMessages(conversation),
    decided:
      last === undefined || decisions.length === 0 ? null : { sessionId: last.id, from: known?.seq ?? 0, decisions },
  };
}

/**
 * Converts the messages of a page to those that `startSession` takes. Parts that only the page needs are left out: data,
 * and calls of sub-agents. Rejects with `invalid_messages`.
 */
export async function fromUIMessages(messages: readonly UIMessage[]): Promise<InputMessage[]> {
  const own = messages.map((message) => ({
    ...message,
    parts: message.parts.filter((part) => !isToolUIPart(part) || !isInnerPart(part.toolCallId)),
  }));
  try {
    // A call that has no result is repaired as interrupted (C-6).
    return (await convertToModelMessages(own)).filter(
      (message) => message.role !== 'system' && message.content.length > 0,
    ) as InputMessage[];
  } catch (error) {
    throw new PawlError('invalid_messages', `The messages of the page cannot be used: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}

function decisionsIn(message: UIMessage): UIDecision[] {
  return message.parts.flatMap((part) => {
    if (!isToolUIPart(part) || part.state !== 'approval-responded') return [];
    const { id, approved, reason } = check(
      approvalSchema,
      part.approval,
      `the approval of ${getToolName(part)}`,
      'invalid_messages',
    );
    const call = callOfApproval(id);
    return call === null ? [] : [{ ...call, approved, ...(reason !== undefined && { reason }) }];
  });
}
