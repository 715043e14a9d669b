import { z } from 'zod';
import { valueAt } from '../platform/plain-json.ts';
import { expected, fieldName, PawlError, type PawlErrorCode, shown } from './errors.ts';

/** Without zod's compiled parsers: compiling one takes longer than all that a process parses with it. */
const uncompiled = { jitless: true } as const;

/**
 * Parses `value` at the API boundary. Throws `PawlError` with a sentence for each invalid field. `whole` names the
 * value itself in messages, for when `field` is empty.
 */
export function check<T>(
  schema: z.ZodType<T>,
  value: unknown,
  field: string,
  code: PawlErrorCode,
  whole = field || 'value',
): T {
  const result = schema.safeParse(value, uncompiled);
  if (result.success) return result.data;
  throw new PawlError(
    code,
    result.error.issues.flatMap((issue) => sentences(schema, value, { field, whole }, issue)),
  );
}

function sentences(
  schema: z.ZodType,
  value: unknown,
  { field: root, whole }: { field: string; whole: string },
  issue: z.core.$ZodIssue,
): string[] {
  if (issue.code === 'unrecognized_keys') {
    const within = schemaAt(schema, issue.path);
    const known = within instanceof z.ZodObject ? Object.keys(within.shape) : [];
    const elsewhere = (within as z.ZodType | null)?.meta()?.elsewhere as Record<string, string> | undefined;
    return issue.keys.map((key) => {
      const field = fieldName(root, [...issue.path, key]);
      const where = elsewhere?.[key];
      return where === undefined ? unknownOption(field, key, known) : `Unknown option \`${field}\`: ${where}.`;
    });
  }
  const field = fieldName(root, issue.path) || whole;
  return [expected(field, valueAt(value, issue.path), shapeOf(issue))];
}

/** Zod's types, in words; of any other, zod's name is the word. */
const types: Record<string, string> = {
  array: 'an array',
  boolean: 'a boolean',
  function: 'a function',
  int: 'an integer',
  nonoptional: 'a value',
  number: 'a number',
  object: 'an object',
  record: 'a plain object',
  string: 'a string',
};

/** Returns the requirement on the value, in the schema's words or else zod's. */
export function shapeOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type' && issue.message.startsWith('Invalid input'))
    return types[issue.expected] ?? `of type ${issue.expected}`;
  if (issue.code === 'invalid_value' && issue.message.startsWith('Invalid ')) {
    return `one of ${issue.values.map((one) => shown(one)).join(', ')}`;
  }
  return issue.message;
}

function unknownOption(field: string, key: string, known: readonly string[]): string {
  const [likely] = known.filter((one) => likeness(one, key) > 0.5).sort((a, b) => likeness(b, key) - likeness(a, key));
  return [
    `Unknown option \`${field}\`.`,
    ...(likely === undefined ? [] : [`Did you mean \`${likely}\`?`]),
    ...(known.length === 0 ? [] : [`Options: ${known.join(', ')}.`]),
  ].join(' ');
}

/** The share of letter pairs that two names have in common, 0 to 1. */
export function likeness(one: string, other: string): number {
  const pairs = (name: string) => new Set([...name.slice(1)].map((letter, at) => `${name[at]}${letter}`.toLowerCase()));
  const [left, right] = [pairs(one), pairs(other)];
  const total = left.size + right.size;
  return total === 0 ? 0 : (2 * [...left].filter((pair) => right.has(pair)).length) / total;
}

/** The schema of what is at a path; null if none is known. */
function schemaAt(schema: z.ZodType, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((current, key) => {
    if (current instanceof z.ZodObject) return unwrapped(current.shape[String(key)]);
    if (current instanceof z.ZodArray) return unwrapped(current.element);
    return current instanceof z.ZodRecord ? unwrapped(current.valueType) : null;
  }, unwrapped(schema));
}

function unwrapped(schema: unknown): unknown {
  if (schema instanceof z.ZodPipe) return unwrapped(schema.out);
  const wraps =
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault;
  return wraps ? unwrapped(schema.unwrap()) : schema;
}
