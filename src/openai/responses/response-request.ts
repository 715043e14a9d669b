import { z } from 'zod';
import type { InputMessage } from '../../model/messages.ts';
import { BadRequest, checkedBody, imageUrl, inputFile } from '../completion-request.ts';

const inputPart = z.discriminatedUnion(
  'type',
  [
    z.object({ type: z.enum(['input_text', 'output_text']), text: z.string() }),
    z.object({ type: z.literal('input_image'), image_url: imageUrl }),
    z.object({ type: z.literal('input_file'), file_data: z.string(), filename: z.string().optional() }),
  ],
  { error: 'input_text, output_text, input_image or input_file' },
);
const itemSchema = z.object(
  {
    type: z.literal('message', { error: 'message: the tools are the agent’s own' }).optional(),
    role: z.enum(['user', 'assistant', 'system', 'developer']),
    content: z.union([z.string(), z.array(inputPart)], { error: 'a string, or an array of parts' }),
  },
  { error: 'a message' },
);

/** The fields that Pawl reads, as for chat completions: what would change the kind of answer is refused. */
const requestSchema = z.object({
  model: z.string({ error: 'the name of an agent' }),
  input: z.union([z.string(), z.array(itemSchema)], { error: 'a string, or an array of messages' }),
  instructions: z.string({ error: 'a string' }).nullish(),
  previous_response_id: z.string({ error: 'the id of an earlier response' }).nullish(),
  store: z.boolean({ error: 'a boolean' }).nullish(),
  stream: z.boolean({ error: 'a boolean' }).nullish(),
  metadata: z.record(z.string(), z.string(), { error: 'an object of strings' }).nullish(),
  background: z.literal(false, { error: 'false: an answer is waited for' }).nullish(),
  conversation: z.null({ error: 'left out: take `previous_response_id`' }).optional(),
  prompt: z.null({ error: 'left out: the prompt is the agent’s own' }).optional(),
  tools: z.array(z.never({ error: 'left out: the tools are the agent’s own' })).nullish(),
  text: z
    .object({
      format: z
        .object({ type: z.literal('text', { error: 'text: the format of the report is the agent’s' }) })
        .nullish(),
    })
    .nullish(),
});

export type ResponseRequest = {
  model: string;
  messages: InputMessage[];
  previous: string | null;
  store: boolean;
  stream: boolean;
  metadata: Record<string, string>;
};

/** Reads the body of a request for a response. Throws `BadRequest`. */
export function responseRequest(body: unknown): ResponseRequest {
  const {
    model,
    input,
    instructions,
    previous_response_id: previous,
    store,
    stream,
    metadata,
  } = checkedBody(requestSchema, body);
  const items = typeof input === 'string' ? [{ role: 'user' as const, content: input }] : input;
  const given = items.flatMap(inputMessageOf);
  if (given.length === 0)
    throw new BadRequest('`input` must hold at least one message with content; got none.', 'input');
  return {
    model,
    // As with a system message: what a client sends is only text from the client.
    messages: [...(instructions == null ? [] : [instructing(instructions)]), ...given],
    previous: previous ?? null,
    store: store !== false,
    stream: stream === true,
    metadata: metadata ?? {},
  };
}

const mark = { pawl: { instructions: true } };

function instructing(text: string): InputMessage {
  return { role: 'user', content: text, providerOptions: mark };
}

/** Whether a message holds the instructions of one request: they do not hold for the next. */
export function isInstructing(message: InputMessage): boolean {
  return 'providerOptions' in message && message.providerOptions?.pawl?.instructions === true;
}

function inputMessageOf({ role, content }: z.output<typeof itemSchema>): InputMessage[] {
  const parts = typeof content === 'string' ? [{ type: 'input_text' as const, text: content }] : content;
  const own = parts.map((part) => {
    switch (part.type) {
      case 'input_text':
      case 'output_text':
        return { type: 'text' as const, text: part.text };
      case 'input_image':
        return inputFile(part.image_url, 'image/*');
      case 'input_file':
        return inputFile(part.file_data, 'application/pdf', part.filename);
      default:
        return part satisfies never;
    }
  });
  if (role !== 'assistant') return own.length === 0 ? [] : [{ role: 'user', content: own }];
  const texts = own.filter((part) => part.type === 'text' && part.text !== '');
  return texts.length === 0 ? [] : [{ role, content: texts }];
}
