import { convertToModelMessages, getToolName, isToolUIPart, type ToolModelMessage, type UIMessage } from 'ai';
import { z } from 'zod';
import type { ToolOutput } from '../../../machines/index.ts';
import { check } from '../../input/check.ts';
import { PawlError, reasonOf, shown } from '../../input/errors.ts';
import { flag, nonBlank, text } from '../../input/shapes.ts';
import type { InputMessage } from '../../model/messages.ts';
import { type CallReference, callOfApproval, callOfPart, isInnerPart, waitingOutput } from '../call-reference.ts';
import { outputIn } from '../model-output.ts';

/** What a person decided on a page. */
export type UIDecision = CallReference & { approved: boolean; reason?: string };

/** What a page answered for a client-side tool. */
export type UIAnswer = CallReference & { output: unknown; isError: boolean };

/**
 * The last message of the user, at the end of the conversation. `instead`: it takes the place of a message, by its id or, if
 * the page does not say, of the last reply; `replies` are the ids of the page's earlier replies.
 */
export type AddedMessages = {
  messages: InputMessage[];
  instead: { id: string | null; replies: readonly string[] } | null;
};

/** What `useChat` sent. */
export type UIRequest = {
  chatId: string;
  /** The conversation as the page has it, for `startSession`. */
  messages: InputMessage[];
  /** What the page adds to the conversation, for a server that keeps the rest (`history: 'journal'`); null if it has all. */
  added: AddedMessages | null;
  /**
   * The session whose message comes last, with what a person decided there, and the outputs of its calls: those of
   * client-side tools among them are answers. Null if a new message comes last.
   */
  decided: { sessionId: string; from: number; decisions: UIDecision[]; answers: UIAnswer[] } | null;
};

const isFile = (type: string) => /^(reasoning-)?file$/.test(type);
const partSchema = z
  .looseObject({ type: text, toolCallId: text.optional() })
  .refine(({ type, toolCallId }) => !/^(tool-|dynamic-tool$)/.test(type) || toolCallId !== undefined, {
    error: 'a part with its toolCallId',
  })
  .refine(({ type, url, mediaType }) => !isFile(type) || (typeof url === 'string' && typeof mediaType === 'string'), {
    error: 'a file with its url and its mediaType',
  })
  .refine(({ type, url }) => !isFile(type) || typeof url !== 'string' || URL.canParse(url), {
    error: 'a file with an absolute url',
  })
  .refine(({ type, text }) => !/^(text|reasoning)$/.test(type) || typeof text === 'string', {
    error: 'a part with its text',
  });
const messageShape = { role: z.enum(['user', 'assistant', 'system']), parts: z.array(partSchema) };
const messagesSchema = z.object({
  messages: z.array(z.looseObject(messageShape), { error: 'an array of UI messages' }),
});
const bodySchema = z.looseObject({
  id: nonBlank,
  trigger: z.unknown().optional(),
  messageId: z.unknown().optional(),
  messages: z
    .array(z.looseObject({ id: text, ...messageShape }))
    .min(1, { error: 'an array with at least one message' }),
});
const kept = 'the metadata that the message came with';
const positionSchema = z.looseObject({ seq: z.int({ error: kept }).min(0, { error: kept }) }, { error: kept });
const approvalSchema = z.looseObject({ id: text, approved: flag, reason: text.optional() });

/**
 * Reads the body that `useChat` posts: a new message of the user, or a person's decisions. Rejects with
 * `invalid_messages`, naming the field, and with `session_unknown` for an approval id that no session gave.
 */
export async function readUIRequest(body: unknown): Promise<UIRequest> {
  const { id, messages, trigger, messageId } = check(bodySchema, body, 'body', 'invalid_messages');
  // A regenerated reply or an edited message replaces what came after it.
  const place = typeof messageId === 'string' ? messageId : null;
  const isAnew = trigger === 'regenerate-message' || place !== null;
  const conversation = messages as unknown as UIMessage[];
  const last = conversation.at(-1);
  const given = last?.role === 'assistant' ? { decisions: decisionsIn(last), answers: answersIn(last) } : null;
  const read = await fromUIMessages(conversation);
  if (read.length === 0)
    throw new PawlError('invalid_messages', '`body.messages` must hold at least one message with content; got none.');
  return {
    chatId: id,
    messages: read,
    added: await addedBy(conversation, isAnew ? { id: place } : null),
    decided:
      last === undefined || given === null || given.decisions.length + given.answers.length === 0
        ? null
        : {
            sessionId: last.id,
            from: check(positionSchema, last.metadata, 'metadata', 'invalid_messages').seq,
            ...given,
          },
  };
}

async function addedBy(messages: readonly UIMessage[], place: { id: string | null } | null): Promise<AddedMessages> {
  const last = messages.at(-1);
  const replies = messages.filter(({ role }) => role === 'assistant').map(({ id }) => id);
  return {
    messages: last?.role === 'user' ? await fromUIMessages([last]) : [],
    instead: place === null ? null : { ...place, replies },
  };
}

/**
 * Converts the messages of a page to those that `startSession` takes: with the outputs that the model read, and what
 * `session.steer` added. Parts that only the page needs are left out: data, and calls of sub-agents. Rejects with
 * `invalid_messages`.
 */
export async function fromUIMessages(messages: readonly UIMessage[]): Promise<InputMessage[]> {
  check(messagesSchema, { messages }, '', 'invalid_messages');
  try {
    // A call that has no result is repaired as interrupted (C-6).
    const converted = await convertToModelMessages(messages.flatMap(withSteering));
    const outputs = new Map(messages.flatMap(({ parts }) => parts.filter(isToolUIPart).map(readOutput)));
    return converted
      .filter((message) => message.role !== 'system' && message.content.length > 0)
      .map((message) => (message.role === 'tool' ? asRead(message, outputs) : message)) as InputMessage[];
  } catch (error) {
    throw new PawlError('invalid_messages', `The messages of the page cannot be used: ${reasonOf(error)}.`, {
      cause: error,
    });
  }
}

type Part = UIMessage['parts'][number];

/**
 * Splits a message into its steps, and where the user steered: what was steered during a reply comes after its results,
 * as the next request had it. Leaves out the parts of calls that are not in the conversation.
 */
function withSteering(message: UIMessage): UIMessage[] {
  return stepsOf(message).flatMap((step) => {
    const steered = (parts: readonly Part[]) =>
      parts.flatMap((part): UIMessage[] => {
        const text = steeringIn(part);
        return text === null ? [] : [{ ...message, role: 'user', parts: [{ type: 'text', text }] }];
      });
    const isOfReply = (part: Part) => part.type !== 'step-start' && !part.type.startsWith('data-');
    const begun = step.findIndex(isOfReply);
    const reply = step.filter(
      (part) => steeringIn(part) === null && !(isToolUIPart(part) && isInnerPart(part.toolCallId)),
    );
    const at = begun === -1 ? step.length : begun;
    return [...steered(step.slice(0, at)), { ...message, parts: reply.map(asRecorded) }, ...steered(step.slice(at))];
  });
}

function stepsOf({ parts }: UIMessage): Part[][] {
  const steps: Part[][] = [[]];
  for (const part of parts) {
    if (part.type === 'step-start') steps.push([]);
    steps.at(-1)?.push(part);
  }
  return steps;
}

/** The call of a sub-agent that was left while it waited for a decision has no result. */
function asRecorded(part: Part): Part {
  if (!isToolUIPart(part) || part.state !== 'output-available' || part.output !== waitingOutput) return part;
  const { type, toolCallId, input } = part;
  const open = { toolCallId, input, state: 'input-available' as const };
  return part.type === 'dynamic-tool'
    ? { ...open, type: part.type, toolName: part.toolName }
    : ({ ...open, type } as Part);
}

/** Returns what the user steered; null for any other part. */
function steeringIn(part: Part): string | null {
  return part.type === 'data-steering' && isSteering(part.data) ? part.data.text : null;
}

function isSteering(data: unknown): data is { text: string } {
  return typeof data === 'object' && data !== null && 'text' in data && typeof data.text === 'string';
}

function readOutput(part: Extract<Part, { toolCallId: string }>): [string, ToolOutput | null] {
  if (part.state === 'output-denied') {
    const { reason } = part.approval;
    return [part.toolCallId, { type: 'execution-denied', ...(reason !== undefined && { reason }) }];
  }
  return [part.toolCallId, 'resultProviderMetadata' in part ? outputIn(part.resultProviderMetadata) : null];
}

function asRead(message: ToolModelMessage, outputs: ReadonlyMap<string, ToolOutput | null>): object {
  return {
    ...message,
    content: message.content.map((part) => {
      const output = part.type === 'tool-result' ? (outputs.get(part.toolCallId) ?? null) : null;
      if (output === null) return part;
      const { providerOptions: _, ...rest } = { providerOptions: undefined, ...part };
      return { ...rest, output };
    }),
  };
}

function answersIn({ id, parts }: UIMessage): UIAnswer[] {
  return parts.filter(isToolUIPart).flatMap((part): UIAnswer[] => {
    if (part.providerExecuted === true) return [];
    const call = callOfPart(part.toolCallId, id);
    if (part.state === 'output-available') return [{ ...call, output: part.output, isError: false }];
    return part.state === 'output-error' ? [{ ...call, output: part.errorText, isError: true }] : [];
  });
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
    // A new session in its place would abort the one that waits.
    if (call === null) throw new PawlError('session_unknown', `No session gave the approval id ${shown(id)}.`);
    return [{ ...call, approved, ...(reason !== undefined && { reason }) }];
  });
}
