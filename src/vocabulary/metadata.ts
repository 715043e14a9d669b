import { z } from 'zod';
import { valuesByName } from '../input/shapes.ts';

/** What an application notes about a session, such as whose it is (S-7). */
export type Metadata = Readonly<Record<string, string | number | boolean>>;

const metadataRule = 'an object of strings, numbers and booleans';

/** Metadata of a session. Texts that are not well-formed, or hold NUL, become others on their way to a store. */
export const metadataShape = valuesByName(
  z.union(
    [
      z.string().refine((value) => value.isWellFormed() && !value.includes('\0'), { error: 'a well-formed text' }),
      z.number(),
      z.boolean(),
    ],
    { error: 'a string, a number or a boolean' },
  ),
  metadataRule,
);
