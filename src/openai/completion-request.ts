import { z } from 'zod';
import { shapeOf } from '../input/check.ts';
import { expected } from '../input/errors.ts';
import type { InputMessage } from '../model/messages.ts';
import { valueAt } from '../platform/plain-json.ts';

/** A request that cannot be answered: `param` names the field, as OpenAI's API does. */
export class BadRequest extends Error {
  override readonly name = 'BadRequest';
  readonly status: number;
  readonly param: string | null;

  constructor(message: string, param: string | null, status = 400) {
    super(message);
    this.status = status;
    this.param = param;
  }
}

const textPart = z.object({ type: z.literal('text'), text: z.string() });
const textContent = z.union([z.string(), z.array(textPart)], { error: 'a string, or an array of text parts' });
export const imageUrl = z
  .string()
  .refine((url) => /^(?:data:|https?:\/\/)/i.test(url), { error: 'a data, http or https URL' });
const userPart = z.discriminatedUnion(
  'type',
  [
    textPart,
    z.object({ type: z.literal('image_url'), image_url: z.object({ url: imageUrl }) }),
    z.object({ type: z.literal('file'), file: z.object({ file_data: z.string(), filename: z.string().optional() }) }),
  ],
  { error: 'text, image_url or file' },
);
const userContent = z.union([z.string(), z.array(userPart)], {
  error: 'a string, or an array of text, image_url and file parts',
});
const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.enum(['system', 'developer']), content: textContent }),
    z.object({ role: z.literal('user'), content: userContent }),
    z.object({ role: z.literal('assistant'), content: textContent.nullish() }),
  ],
  { error: 'a system, developer, user or assistant message: the tools are the agent’s own' },
);

/** A client's own tools would change who answers. */
export const toolsAreTheAgents = z.array(z.never({ error: 'left out: the tools are the agent’s own' })).nullish();

/** The fields that Pawl reads. Those that tune a model, such as `temperature`, are ignored: the agent sets them. */
const requestSchema = z.object({
  model: z.string({ error: 'the name of an agent' }),
  messages: z
    .array(messageSchema, { error: 'an array of messages' })
    .min(1, { error: 'an array with at least one message' }),
  stream: z.boolean({ error: 'a boolean' }).nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
  // Options that would change the kind of answer are refused.
  n: z.literal(1, { error: '1: an agent gives one answer' }).nullish(),
  tools: toolsAreTheAgents,
  functions: toolsAreTheAgents,
  response_format: z
    .object({ type: z.literal('text', { error: 'text: the format of the report is the agent’s' }) })
    .nullish(),
  modalities: z.array(z.literal('text', { error: 'text' })).nullish(),
});

export type CompletionRequest = {
  model: string;
  messages: InputMessage[];
  stream: boolean;
  includeUsage: boolean;
};

/** Reads the body of a request for a chat completion. Throws `BadRequest`. */
export function completionRequest(body: unknown): CompletionRequest {
  const { model, messages, stream, stream_options: options } = checkedBody(requestSchema, body);
  const given = messages.flatMap(inputMessage);
  if (given.length === 0)
    throw new BadRequest('`messages` must hold at least one message with content; got none.', 'messages');
  return {
    model,
    messages: given,
    stream: stream === true,
    includeUsage: options?.include_usage === true,
  };
}

/** Returns the body of a request as a schema makes it. Throws `BadRequest`. */
export function checkedBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const issue = deepest(parsed.error.issues[0]);
  const path = issue?.path ?? [];
  const param = path.map(String).join('.') || null;
  const shape = issue === undefined ? 'valid' : shapeOf(issue);
  throw new BadRequest(expected(param ?? 'body', valueAt(body, path), shape), param);
}

/** The problem inside a part of a known type says more than that of the whole content. */
function deepest(issue: z.core.$ZodIssue | undefined): z.core.$ZodIssue | undefined {
  if (issue?.code !== 'invalid_union') return issue;
  const inner = deepest(issue.errors.at(-1)?.[0]);
  return inner === undefined || inner.path.length < 2 ? issue : { ...inner, path: [...issue.path, ...inner.path] };
}

/**
 * The instructions are the agent's own. What a client sends as its system's is only text from the client, so it is a
 * message like any other.
 */
function inputMessage(message: z.output<typeof messageSchema>): InputMessage[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: 'user', content: joinedText(message.content) }];
    case 'assistant':
      return message.content == null || joinedText(message.content) === ''
        ? []
        : [{ role: 'assistant', content: joinedText(message.content) }];
    case 'user':
      if (typeof message.content === 'string') return [{ role: 'user', content: message.content }];
      return [{ role: 'user', content: message.content.map(inputPart) }];
    default:
      return message satisfies never;
  }
}

function inputPart(part: z.output<typeof userPart>) {
  switch (part.type) {
    case 'text':
      return part;
    case 'image_url':
      return inputFile(part.image_url.url, 'image/*');
    case 'file':
      return inputFile(part.file.file_data, 'application/pdf', part.file.filename);
    default:
      return part satisfies never;
  }
}

/** A file as a message has it; `otherwise` is the media type of one whose data does not say it. */
export function inputFile(data: string, otherwise: string, filename?: string) {
  const mediaType = mediaTypeOf(data) ?? otherwise;
  return { type: 'file' as const, mediaType, data, ...(filename !== undefined && { filename }) };
}

function mediaTypeOf(url: string): string | undefined {
  return /^data:([^;,]+)/.exec(url)?.[1];
}

/** Text from its parts. */
export function joinedText(content: string | { text: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('\n');
}
