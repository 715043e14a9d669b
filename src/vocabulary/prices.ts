import { z } from 'zod';

const dollars = z.number({ error: 'a number of at least 0' }).min(0, { error: 'a number of at least 0' });

/** US dollars per million tokens. Missing cache prices default to `input`. */
export const priceSchema = z.strictObject({
  input: dollars,
  output: dollars,
  cacheRead: dollars.optional(),
  cacheWrite: dollars.optional(),
});

export type Price = z.output<typeof priceSchema>;
