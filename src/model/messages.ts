import type { ModelMessage } from 'ai';
import { z } from 'zod';
import type { FileData, Json, Message } from '../../machines/index.ts';
import { expected, fieldName, messageOf, PawlError } from '../input/errors.ts';
import { base64Of, toBase64 } from '../platform/bytes.ts';
import { lazily } from '../platform/lazily.ts';
import { isRecord, plainJson } from '../platform/plain-json.ts';
import { contentPiece, type SdkPiece } from '../vocabulary/sdk-messages.ts';

/** A message passed in: from the conversation of an earlier session, or an AI SDK model message (without `system`). */
export type InputMessage = Message | ModelMessage;

const messageSchema = lazily(() => {
  const data = z
    .custom<Json>((value) => value !== undefined)
    .transform((value): Json => JSON.parse(JSON.stringify(value)));
  const providerOptions = z.record(z.string(), z.record(z.string(), data)).optional();
  const options = { providerOptions };

  const bytes = z.union([z.instanceof(Uint8Array), z.instanceof(ArrayBuffer)]);
  const fileData = z
    .union([
      z.string(),
      z.instanceof(URL),
      bytes,
      z.object({ type: z.literal('data'), data: z.union([z.string(), bytes]) }),
      z.object({ type: z.literal('url'), url: z.union([z.string(), z.instanceof(URL)]) }),
      z.object({ type: z.literal('text'), text: z.string() }),
    ])
    .transform(toFileData)
    .refine((value) => value.type !== 'url' || URL.canParse(value.url), { error: 'a valid URL' });

  const text = z.object({ type: z.literal('text'), text: z.string(), ...options });
  const file = z.object({
    type: z.literal('file'),
    data: fileData,
    mediaType: z.string(),
    filename: z.string().optional(),
    ...options,
  });
  const image = z
    .object({ type: z.literal('image'), image: fileData, mediaType: z.string().optional(), ...options })
    .transform(({ image: pixels, mediaType = 'image/*', ...rest }) => ({
      ...rest,
      type: 'file' as const,
      mediaType,
      data: pixels,
    }));
  const reasoning = z.object({ type: z.literal('reasoning'), text: z.string(), ...options });
  const reasoningFile = z.object({
    type: z.literal('reasoning-file'),
    data: fileData,
    mediaType: z.string(),
    ...options,
  });
  const custom = z.object({
    type: z.literal('custom'),
    kind: z.templateLiteral([z.string(), '.', z.string()]),
    ...options,
  });
  const toolCall = z
    .object({
      type: z.literal('tool-call'),
      toolCallId: z.string(),
      toolName: z.string(),
      input: z.unknown(),
      providerExecuted: z.boolean().optional(),
      isText: z.boolean().optional(),
      providerId: z.string().optional(),
      ...options,
    })
    .transform(({ input, ...call }) => ({ ...call, ...givenInput(input, call.isText) }));
  /** Result pieces other than text and files, from earlier SDK releases and some providers. */
  const otherPiece = z
    .union([
      z.object({
        type: z.enum(['image-data', 'file-data']),
        data: z.string(),
        mediaType: z.string(),
        filename: z.string().optional(),
        ...options,
      }),
      z.object({
        type: z.enum(['image-url', 'file-url']),
        url: z.string(),
        mediaType: z.string().optional(),
        ...options,
      }),
      z.object({
        type: z.enum(['custom', 'file-id', 'image-file-id', 'file-reference', 'image-file-reference']),
        ...options,
      }),
    ])
    .transform((piece) => contentPiece(piece as SdkPiece));
  /** An approval request or response. It is dropped: the call has its result, or is repaired as interrupted. */
  const approval = z.object({ type: z.enum(['tool-approval-request', 'tool-approval-response']) });
  const toolOutput = z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), value: z.string() }),
    z.object({ type: z.literal('error-text'), value: z.string() }),
    z.object({ type: z.literal('json'), value: data }),
    z.object({ type: z.literal('error-json'), value: data }),
    z.object({ type: z.literal('execution-denied'), reason: z.string().optional() }),
    z.object({ type: z.literal('content'), value: z.array(z.union([text, file, otherPiece])) }),
  ]);
  const toolResult = z.object({
    type: z.literal('tool-result'),
    toolCallId: z.string(),
    toolName: z.string(),
    output: toolOutput,
    ...options,
  });

  const asParts = (content: string) => [{ type: 'text' as const, text: content }];
  return z.discriminatedUnion('role', [
    z.object({
      role: z.literal('user'),
      content: z.union([z.string().transform(asParts), z.array(z.union([text, image, file]))]),
      ...options,
    }),
    z.object({
      role: z.literal('assistant'),
      content: z.union([
        z.string().transform(asParts),
        z
          .array(z.union([text, file, reasoning, reasoningFile, custom, toolCall, toolResult, approval]))
          .transform((parts) =>
            parts.flatMap((part) =>
              part.type === 'tool-approval-request' || part.type === 'tool-approval-response' ? [] : [part],
            ),
          ),
      ]),
      provider: z.string().optional(),
      open: z.boolean().optional(),
      ...options,
    }),
    z.object({
      role: z.literal('tool'),
      content: z
        .array(z.union([toolResult, approval]))
        .transform((parts) => parts.flatMap((part) => (part.type === 'tool-result' ? [part] : []))),
      ...options,
    }),
  ]);
});

/** Parses the messages passed in. Throws `invalid_messages`, naming the invalid one and the allowed shapes. */
export function parseMessages(messages: readonly InputMessage[]): Message[] {
  return messages.map((candidate, index) => {
    const result = parsed(candidate);
    if (result.success) return withoutUndefined(result.data);
    const issue = result.error.issues[0];
    const field = fieldName('messages', [index, ...(issue?.path ?? [])]);
    const shape = "an AI SDK user, assistant or tool message (put system text in the agent's instructions)";
    throw new PawlError(
      'invalid_messages',
      `${expected(fieldName('messages', [index]), candidate, shape)} At \`${field}\`: ${issue?.message ?? 'unknown'}.`,
    );
  });
}

/** Parses one message; a value that cannot be written as JSON (a BigInt, a cycle) is invalid too. */
function parsed(candidate: unknown) {
  try {
    return messageSchema().safeParse(candidate);
  } catch (error) {
    return { success: false as const, error: { issues: [{ message: messageOf(error), path: [] }] } };
  }
}

/** Removes undefined fields, since JSON has no undefined, and what is nested too deeply. */
function withoutUndefined(value: z.infer<ReturnType<typeof messageSchema>>): Message {
  return plainJson(JSON.parse(JSON.stringify(value))) as unknown as Message;
}

type AnyFileData =
  | string
  | URL
  | Uint8Array
  | ArrayBuffer
  | { type: 'data'; data: string | Uint8Array | ArrayBuffer }
  | { type: 'url'; url: string | URL }
  | { type: 'text'; text: string };

function toFileData(value: AnyFileData): FileData {
  if (typeof value === 'string') {
    // Base64 has no colon.
    return /^[a-z][a-z\d+.-]*:/i.test(value) ? { type: 'url', url: value } : { type: 'data', data: value };
  }
  if (value instanceof URL) return { type: 'url', url: value.toString() };
  if (value instanceof Uint8Array || value instanceof ArrayBuffer) return { type: 'data', data: toBase64(value) };
  if (value.type === 'text') return value;
  if (value.type === 'url') return { type: 'url', url: value.url.toString() };
  return { type: 'data', data: base64Of(value.data) };
}

/**
 * Returns the input of a call that was given. A text is that of a tool that takes one, as long as the session has such a
 * tool; anything else that is not an object is kept as text, so that every provider accepts the conversation (C-2).
 */
function givenInput(input: unknown, isText = false): { input: Record<string, Json>; isText?: true } {
  if (isRecord(input)) {
    return { input: JSON.parse(JSON.stringify(input)), ...(isText && { isText }) };
  }
  if (typeof input === 'string') return { input: { text: input }, isText: true };
  return { input: { malformed_input: JSON.stringify(input) ?? '' } };
}
