import type { JSONSchema7 } from '@ai-sdk/provider';
import { isPromiseLike } from '../platform/promises.ts';

/** Where a value stands within another. */
export type Path = readonly (string | number)[];

/** `paths` says where a value is invalid, if the schema tells. */
export type Validation = { valid: true; value: unknown } | { valid: false; reasons: string; paths?: readonly Path[] };

/** A schema that is ready to be sent to a model and to validate values. */
export type CompiledSchema = {
  jsonSchema: JSONSchema7 | PromiseLike<JSONSchema7>;
  validate(value: unknown): Validation | Promise<Validation>;
  /** Whether the check may drop fields that the sent schema forbids, as zod does. */
  dropsFields?: boolean;
};

const longestReasons = 2_000;

/** Joins the reasons why a value is invalid, and cuts them at 2,000 characters. */
export function reasonsText(reasons: readonly string[]): string {
  const text = reasons.join('; ').toWellFormed();
  // A character that the cut would split is left out.
  return text.length > longestReasons ? `${text.slice(0, longestReasons).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

/** Passes a value to `then`: synchronously, unless it is a promise. */
export function after<A, B>(value: A | PromiseLike<A>, then: (value: A) => B | Promise<B>): B | Promise<B> {
  return isPromiseLike(value) ? Promise.resolve(value).then(then) : then(value);
}
