import { z } from 'zod';
import { count } from '../input/shapes.ts';

const dollars = z.number({ error: 'a number of at least 0' }).min(0, { error: 'a number of at least 0' });

const rates = {
  input: dollars,
  output: dollars,
  /** Default: `input`. */
  cacheRead: dollars.optional(),
  cacheWrite: dollars.optional(),
  /** Of the output tokens that are reasoning; default: `output`. */
  reasoning: dollars.optional(),
};

/** US dollars per million tokens. */
export const priceSchema = z.strictObject({
  ...rates,
  /** What a request of more input tokens than `above` costs, all of it. */
  longContext: z.strictObject({ above: count, ...rates }).optional(),
});

export type Price = z.output<typeof priceSchema>;
