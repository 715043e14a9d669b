import { z } from 'zod';

/**
 * Schemas for option values. The `error` of each is the phrase that follows "must be" in the sentence for bad input
 * (`expected`).
 */
const wholeNumber = 'an integer of at least 1';
export const count = z
  .int({
    // Beyond it, integers are not exact.
    error: ({ code }) => (code === 'too_big' ? `an integer from 1 to ${Number.MAX_SAFE_INTEGER}` : wholeNumber),
  })
  .min(1, { error: wholeNumber });

/** The longest delay that a timer supports. */
export const longestMs = 2_147_483_647;
const duration = `an integer from 1 to ${longestMs} (ms)`;
export const milliseconds = z.int({ error: duration }).min(1, { error: duration }).max(longestMs, { error: duration });

const aPort = 'an integer from 0 to 65535';
export const port = z.int({ error: aPort }).min(0, { error: aPort }).max(65_535, { error: aPort });

export const flag = z.boolean({ error: 'a boolean' });
export const text = z.string({ error: 'a string' });

const notBlank = 'a string that is not blank';
export const nonBlank = z.string({ error: notBlank }).regex(/\S/, { error: notBlank });

export const texts = z.array(z.string({ error: 'a string' }), { error: 'an array of strings' });

export const aFunction = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', {
  error: 'a function',
});

/** One of `words`; the error lists them. */
export function oneOf<const W extends readonly string[]>(...words: W) {
  return z.enum(words, { error: `one of ${words.map((word) => `'${word}'`).join(', ')}` });
}

/** Values by name, none of which is `__proto__`: a record would take it without a look at its value. */
export function valuesByName<Value extends z.ZodType>(value: Value, error = 'an object') {
  const record = z.record(nonBlank, value, { error });
  const isFree = (given: unknown) => !Object.hasOwn(Object(given), '__proto__');
  return z
    .custom<Record<string, z.input<Value>>>(isFree, { error: 'an object without the name `__proto__`' })
    .pipe(record as z.ZodType<Record<string, z.output<Value>>, Record<string, z.input<Value>>>);
}

/** Headers of an HTTP request, each of which can be sent. */
export function headersShape<Value extends z.ZodType<string | undefined>>(value: Value) {
  return z.record(z.string(), value, { error: 'an object of strings' }).check(({ value: headers, issues }) => {
    for (const [name, one] of Object.entries(headers))
      if (one !== undefined && !canBeSent(name, one))
        issues.push({ code: 'custom', input: headers, path: [name], message: 'a header that HTTP can send' });
  });
}

function canBeSent(name: string, value: string): boolean {
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

/** Whether `value` has methods with these `names`. */
export function hasMethods(value: unknown, ...names: string[]): boolean {
  return (
    typeof value === 'object' && value !== null && names.every((name) => typeof Reflect.get(value, name) === 'function')
  );
}
