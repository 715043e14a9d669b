import { z } from 'zod';
import { PawlError, type PawlErrorCode, shown } from './errors.ts';

/** Parses at the border; the first issue becomes the error. */
export function check<T>(schema: z.ZodType<T>, value: unknown, field: string, code: PawlErrorCode): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [field, ...(issue?.path ?? []).map(String)].filter((part) => part !== '');
  if (issue?.code === 'unrecognized_keys') {
    const unknown = [...path, issue.keys[0]].join('.');
    const known = knownKeys(schema, issue.path).join(', ');
    throw new PawlError(
      code,
      known === '' ? `${unknown} is not known.` : `${unknown} is not known: allowed are ${known}.`,
    );
  }
  throw new PawlError(
    code,
    `${path.join('.') || 'the value'} is ${shown(valueAt(value, issue?.path ?? []))}: ${issue?.message}.`,
  );
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === 'object' && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

function knownKeys(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const inner = path.reduce<unknown>((current, key) => {
    if (current instanceof z.ZodObject) return unwrapped(current.shape[String(key)]);
    return current instanceof z.ZodRecord ? unwrapped(current.valueType) : null;
  }, unwrapped(schema));
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

function unwrapped(schema: unknown): unknown {
  const wraps =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault;
  return wraps ? unwrapped(schema.unwrap()) : schema;
}
