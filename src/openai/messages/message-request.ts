import { z } from 'zod';
import type { InputMessage } from '../../model/messages.ts';
import { BadRequest, checkedBody, inputFile, joinedText, toolsAreTheAgents } from '../completion-request.ts';

const textBlock = z.object({ type: z.literal('text'), text: z.string() });
const ofText = z.union([z.string(), z.array(textBlock)], { error: 'a string, or an array of text blocks' });
const dataSource = z.object({ type: z.literal('base64'), media_type: z.string(), data: z.string() });
const urlSource = z.object({
  type: z.literal('url'),
  url: z.url({ protocol: /^https?$/, error: 'an http or https URL' }),
});
const plainSource = z.object({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() });
const sourceError = '"base64" or "url"';
const aText = 'left out: the format of the report is the agent’s';
const block = z.discriminatedUnion(
  'type',
  [
    textBlock,
    z.object({
      type: z.literal('image'),
      source: z.discriminatedUnion('type', [dataSource, urlSource], { error: sourceError }),
    }),
    z.object({
      type: z.literal('document'),
      source: z.discriminatedUnion('type', [dataSource, urlSource, plainSource], {
        error: '"base64", "url" or "text"',
      }),
      title: z.string().nullish(),
    }),
  ],
  { error: '"text", "image" or "document"' },
);
const messageSchema = z.discriminatedUnion(
  'role',
  [
    z.object({
      role: z.literal('user'),
      content: z.union([z.string(), z.array(block)], {
        error: 'a string, or an array of text, image and document blocks',
      }),
    }),
    z.object({ role: z.literal('assistant'), content: ofText }),
  ],
  { error: 'a user or assistant message: the tools are the agent’s own' },
);

/** The fields that Pawl reads. Those that tune a model, such as `max_tokens`, are ignored: the agent sets them. */
const requestSchema = z.object({
  model: z.string({ error: 'the name of an agent' }),
  messages: z
    .array(messageSchema, { error: 'an array of messages' })
    .min(1, { error: 'an array with at least one message' }),
  system: ofText.nullish(),
  stream: z.boolean({ error: 'a boolean' }).nullish(),
  tools: toolsAreTheAgents,
  mcp_servers: toolsAreTheAgents,
  tool_choice: z.undefined({ error: 'left out: the tools are the agent’s own' }).nullish(),
  output_format: z.undefined({ error: aText }).nullish(),
  output_config: z.object({ format: z.undefined({ error: aText }).nullish() }).nullish(),
});

export type MessageRequest = { model: string; messages: InputMessage[]; stream: boolean };

/** Reads the body of a request to Anthropic's Messages API. Throws `BadRequest`. */
export function messageRequest(body: unknown): MessageRequest {
  const { model, messages, system, stream } = checkedBody(requestSchema, body);
  const said = system == null ? '' : joinedText(system);
  // The instructions are the agent's own: what the client sends as its system's is only text from the client.
  const before: InputMessage[] = said === '' ? [] : [{ role: 'user', content: said }];
  const given = [...before, ...messages.flatMap(inputMessage)];
  if (given.length === 0)
    throw new BadRequest('`messages` must hold at least one message with content; got none.', 'messages');
  return { model, messages: given, stream: stream === true };
}

function inputMessage({ role, content }: z.output<typeof messageSchema>): InputMessage[] {
  if (role === 'assistant') {
    const text = joinedText(content);
    return text === '' ? [] : [{ role, content: text }];
  }
  if (content.length === 0) return [];
  return [{ role, content: typeof content === 'string' ? content : content.map(inputPart) }];
}

function inputPart(part: z.output<typeof block>) {
  if (part.type === 'text') return { type: 'text' as const, text: part.text };
  const { source } = part;
  const title = part.type === 'document' ? (part.title ?? undefined) : undefined;
  if (source.type === 'text')
    return { type: 'text' as const, text: title === undefined ? source.data : `${title}\n\n${source.data}` };
  const otherwise = part.type === 'image' ? 'image/*' : 'application/pdf';
  if (source.type === 'url') return inputFile(source.url, otherwise, title);
  return inputFile(`data:${source.media_type};base64,${source.data}`, otherwise, title);
}
