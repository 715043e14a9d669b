import type { JSONObject } from '@ai-sdk/provider';
import { z } from 'zod';
import { count, flag, headersShape, oneOf, text, texts } from '../input/shapes.ts';

/** Passed to every request. `promptCaching` and `streaming` are Pawl's, the rest the AI SDK's. */
export const settingsSchema = z.strictObject({
  temperature: z.number({ error: 'a number' }).optional(),
  maxOutputTokens: count.optional(),
  topP: z.number({ error: 'a number' }).optional(),
  topK: z.number({ error: 'a number' }).optional(),
  presencePenalty: z.number({ error: 'a number' }).optional(),
  frequencyPenalty: z.number({ error: 'a number' }).optional(),
  stopSequences: texts.optional(),
  seed: z.int({ error: 'an integer' }).optional(),
  reasoning: oneOf('provider-default', 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max').optional(),
  providerOptions: z
    .record(
      z.string(),
      z.custom<JSONObject>((value) => typeof value === 'object' && value !== null, { error: 'an object' }),
    )
    .optional(),
  headers: headersShape(text.optional()).optional(),
  /** `auto` sets cache marks for providers that need them (N-3); default: `auto`. */
  promptCaching: oneOf('auto', 'off').optional(),
  /** false requests full responses, for models and gateways that can't stream; default: true. */
  streaming: flag.optional(),
});

export type ModelSettings = z.output<typeof settingsSchema>;
