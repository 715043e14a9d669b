import type { JSONSchema7 } from '@ai-sdk/provider';
import { z } from 'zod';
import type { Json } from '../../machines/index.ts';
import { lazily } from '../platform/lazily.ts';
import {
  acceptedVerdict,
  invalidFormat,
  missingReport,
  parseJsonText,
  type ReportFormat,
  schemaFail,
} from './format.ts';

/** The part of Slack's Block Kit that messages need: the block types and their required fields. */
const messagesSchema = lazily(() => {
  const plainText = z.object({ type: z.literal('plain_text'), text: z.string().min(1).max(3_000) });
  const markdownText = z.object({ type: z.literal('mrkdwn'), text: z.string().min(1).max(3_000) });
  const anyText = z.discriminatedUnion('type', [plainText, markdownText]);
  const image = z.object({
    type: z.literal('image'),
    image_url: z.url().max(3_000).optional(),
    slack_file: z.looseObject({}).optional(),
    alt_text: z.string().max(2_000),
  });
  const hasImage = ({ image_url, slack_file }: z.infer<typeof image>) =>
    image_url !== undefined || slack_file !== undefined;

  const block = z.discriminatedUnion('type', [
    z
      .looseObject({
        type: z.literal('section'),
        text: anyText.optional(),
        fields: z.array(anyText).min(1).max(10).optional(),
      })
      .refine(({ text, fields }) => text !== undefined || fields !== undefined, 'a section needs text or fields'),
    z.looseObject({ type: z.literal('header'), text: plainText.extend({ text: z.string().min(1).max(150) }) }),
    z.looseObject({ type: z.literal('divider') }),
    z.looseObject({
      type: z.literal('context'),
      elements: z
        .array(z.union([anyText, image]))
        .min(1)
        .max(10),
    }),
    z.looseObject(image.shape).refine((value) => hasImage(value), 'an image needs image_url or slack_file'),
    z.looseObject({ type: z.literal('markdown'), text: z.string().min(1).max(12_000) }),
    z.looseObject({ type: z.literal('rich_text'), elements: z.array(z.looseObject({ type: z.string() })).min(1) }),
    z.looseObject({
      type: z.literal('actions'),
      elements: z
        .array(z.looseObject({ type: z.string() }))
        .min(1)
        .max(25),
    }),
    z.looseObject({
      type: z.literal('table'),
      rows: z
        .array(z.array(z.looseObject({ type: z.string() })))
        .min(1)
        .max(100),
    }),
  ]);
  const message = z.looseObject({ text: z.string().optional(), blocks: z.array(block).min(1).max(50) });
  return z.array(message).min(1);
});

const schema: JSONSchema7 = {
  type: 'object',
  properties: {
    messages: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          text: { type: 'string', description: 'The text shown in a notification.' },
          blocks: {
            type: 'array',
            minItems: 1,
            maxItems: 50,
            items: { type: 'object', properties: { type: { type: 'string' } }, required: ['type'] },
          },
        },
        required: ['blocks'],
      },
    },
  },
  required: ['messages'],
};

/** A non-empty `messages` array of messages with valid Block Kit blocks. */
export const slackFormat: ReportFormat = {
  name: 'slack',
  description: 'Your complete result as Slack messages: { "messages": [{ "blocks": [Block Kit blocks] }] }.',
  contentSchema: schema,
  validate: (content) => {
    if (content === undefined || content === null) return missingReport('content is missing');
    if (typeof content !== 'object' || !('messages' in content) || !Array.isArray(content.messages)) {
      return invalidFormat('content must be an object with an array named messages');
    }
    if (content.messages.length === 0) return missingReport('messages is empty');
    const result = messagesSchema().safeParse(content.messages);
    if (result.success) return acceptedVerdict(JSON.parse(JSON.stringify(content)) satisfies Json);
    const reasons = result.error.issues.map(({ path, message: text }) => `messages.${path.join('.')}: ${text}`);
    return schemaFail(reasons.slice(0, 20).join('; '));
  },
  parseText: parseJsonText,
};
