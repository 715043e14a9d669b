import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { flag, nonBlank, text } from '../../input/shapes.ts';
import type { InputMessage } from '../../model/messages.ts';
import { callOfApproval, callOfPart, isInnerPart } from '../call-reference.ts';
import type { UIRequest } from '../chat/ui-request.ts';
import type { AgUiRun } from './run.ts';

const partSchema = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.literal('text'), text }),
    z.object({
      type: z.enum(['image', 'audio', 'video', 'document']),
      source: z.discriminatedUnion(
        'type',
        [
          z.object({ type: z.literal('data'), value: text, mimeType: text }),
          z.object({ type: z.literal('url'), value: text, mimeType: text.optional() }),
        ],
        { error: 'a source of type data or url' },
      ),
    }),
  ],
  { error: 'a part of type text, image, audio, video or document' },
);
const contentSchema = z.union([text, z.array(partSchema)], { error: 'a text or an array of parts' });
const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.looseObject({ role: z.enum(['user', 'system', 'developer']), content: contentSchema }),
    z.looseObject({
      role: z.literal('assistant'),
      content: text.nullish(),
      toolCalls: z
        .array(z.looseObject({ id: text, function: z.looseObject({ name: text, arguments: text }) }))
        .nullish(),
    }),
    z.looseObject({ role: z.literal('tool'), toolCallId: text, content: contentSchema, error: text.nullish() }),
    z.looseObject({ role: z.enum(['reasoning', 'activity']) }),
  ],
  { error: 'a message of a role of AG-UI' },
);
const resumeSchema = z.looseObject({
  interruptId: text,
  status: z.enum(['resolved', 'cancelled']),
  payload: z.unknown().optional(),
});
const inputSchema = z.looseObject({
  threadId: nonBlank,
  runId: nonBlank,
  messages: z.array(messageSchema, { error: 'an array of messages' }),
  tools: z.array(z.looseObject({ name: text }), { error: 'an array of tools' }).nullish(),
  context: z.array(z.looseObject({ description: text, value: text })).nullish(),
  state: z.unknown().optional(),
  resume: z.array(resumeSchema, { error: 'an array of answers' }).nullish(),
});
const stateSchema = z.looseObject(
  {
    pawl: z.looseObject(
      { sessionId: text, seq: z.int().min(0) },
      { error: 'the state with which the earlier run ended' },
    ),
  },
  { error: 'the state with which the earlier run ended' },
);
const payloadSchema = z.looseObject({ approved: flag, reason: text.optional() }, { error: '{ approved, reason? }' });

type Message = z.output<typeof messageSchema>;
type Content = z.output<typeof contentSchema>;

/**
 * Reads the input of a run: a new message, or the answers to what waits. Throws `invalid_messages`, naming the field; also
 * for tools of the client that are not the agent's own client-side tools.
 */
export function readAgUiInput(body: unknown, { tools }: Agent): { asked: UIRequest; run: AgUiRun } {
  const input = check(inputSchema, body, 'body', 'invalid_messages');
  const { threadId, runId, messages, context, resume, state } = input;
  const unknown = (input.tools ?? []).filter(({ name }) => tools.get(name)?.isClientSide !== true);
  if (unknown.length > 0) {
    const names = unknown.map(({ name }) => name).join(', ');
    throw new PawlError(
      'invalid_messages',
      `\`body.tools\` must be client-side tools of the agent; it has no ${names}.`,
    );
  }
  const said = (context ?? []).map(({ description, value }) => ({
    role: 'user' as const,
    content: `${description}: ${value}`,
  }));
  const last = messages.at(-1);
  const isAnswer = (resume ?? []).length > 0 || last?.role === 'tool';
  const kept = typeof state === 'object' && state !== null ? state : {};
  const given = [...said, ...conversation(messages)];
  if (given.length === 0)
    throw new PawlError('invalid_messages', '`body.messages` must hold at least one message with content; got none.');
  return {
    run: { threadId, runId, messages: (body as { messages: object[] }).messages, state: kept },
    asked: {
      chatId: threadId,
      messages: given,
      // The context that a client sends with each run would pile up in a conversation that continues.
      added: null,
      decided: isAnswer
        ? decidedIn(messages, resume ?? [], check(stateSchema, state, 'body.state', 'invalid_messages'))
        : null,
    },
  };
}

function decidedIn(
  messages: readonly Message[],
  resume: readonly z.output<typeof resumeSchema>[],
  { pawl: { sessionId, seq: from } }: z.output<typeof stateSchema>,
): NonNullable<UIRequest['decided']> {
  const decisions: NonNullable<UIRequest['decided']>['decisions'] = [];
  const answers: NonNullable<UIRequest['decided']>['answers'] = [];
  for (const [index, { interruptId, status, payload }] of resume.entries()) {
    const call = callOfApproval(interruptId);
    if (call === null) throw new PawlError('session_unknown', `No session gave the interrupt id "${interruptId}".`);
    // Whoever answers need not say which kind of call it is: a call waits for one thing.
    const approval = payloadSchema.safeParse(payload);
    if (status === 'cancelled') {
      decisions.push({ ...call, approved: false, reason: 'Cancelled.' });
      answers.push({ ...call, output: 'Cancelled.', isError: true });
    } else if (payload !== undefined) {
      const decided = approval.success ? approval.data : null;
      const { approved, reason } = decided ?? { approved: false };
      if (decided !== null) decisions.push({ ...call, approved, ...(reason !== undefined && { reason }) });
      answers.push({ ...call, output: payload, isError: false });
    } else check(payloadSchema, payload, `body.resume[${index}].payload`, 'invalid_messages');
  }
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  for (const message of since) {
    if (message.role !== 'tool') continue;
    const call = callOfPart(message.toolCallId, sessionId);
    const isError = message.error != null;
    answers.push({ ...call, output: isError ? message.error : textIn(message.content), isError });
  }
  return { sessionId, from, decisions, answers };
}

function conversation(messages: readonly Message[]): InputMessage[] {
  const names = new Map(
    messages.flatMap((message) =>
      message.role === 'assistant' ? (message.toolCalls ?? []).map(({ id, function: { name } }) => [id, name]) : [],
    ),
  );
  return messages.flatMap((message): InputMessage[] => {
    switch (message.role) {
      case 'user':
      // The instructions are the agent's own.
      case 'system':
      case 'developer':
        return [{ role: 'user', content: filesIn(message.content) }];
      case 'assistant': {
        const calls = own(message.toolCalls).map(({ id, function: { name, arguments: input } }) => {
          return { type: 'tool-call' as const, toolCallId: id, toolName: name, input: parsedOr(input) };
        });
        const said =
          message.content == null || message.content === '' ? [] : [{ type: 'text' as const, text: message.content }];
        return calls.length + said.length === 0 ? [] : [{ role: 'assistant', content: [...said, ...calls] }];
      }
      case 'tool': {
        const { toolCallId, content, error } = message;
        const output =
          error == null
            ? { type: 'text' as const, value: textIn(content) }
            : { type: 'error-text' as const, value: error };
        const toolName = isInnerPart(toolCallId) ? undefined : names.get(toolCallId);
        return toolName === undefined
          ? []
          : [{ role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] }];
      }
      default:
        return [];
    }
  });
}

/** The calls of the conversation itself: those of sub-agents and batches are shown beside them. */
function own(calls: Extract<Message, { role: 'assistant' }>['toolCalls']) {
  return (calls ?? []).filter(({ id }) => !isInnerPart(id));
}

function filesIn(content: Content) {
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  return parts.map((part) => {
    if (part.type === 'text') return part;
    const { value, mimeType } = part.source;
    return {
      type: 'file' as const,
      data: value,
      mediaType: mimeType ?? (part.type === 'document' ? 'application/pdf' : `${part.type}/*`),
    };
  });
}

function textIn(content: Content): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : JSON.stringify(part))).join('\n');
}

function parsedOr(input: string): unknown {
  try {
    return JSON.parse(input);
  } catch {
    return { input };
  }
}
