import type { Ajv, ErrorObject } from 'ajv';
import type { RegExpEngine } from 'ajv/dist/types/index.js';
import { isRecord } from '../platform/plain-json.ts';
import { runBounded, wasEnded } from './bounded-check.ts';
import { type Path, reasonsText, type Validation } from './validation.ts';

/** The check that ajv compiles a JSON Schema to. */
export type Check = ((value: unknown) => unknown) & { errors?: ErrorObject[] | null };

/** The options of ajv for every schema. */
export const ajvOptions = {
  strict: false,
  // A model can mend a wrong and a missing field at once.
  allErrors: true,
  // Every object inherits fields such as `constructor`, which JSON does not have.
  ownProperties: true,
  validateFormats: false,
  unicodeRegExp: false,
  logger: false,
  code: { regExp: Object.assign(regExpOf, { code: 'regExpOf' }) as RegExpEngine },
} as const;

/** Compiles a pattern with the Unicode flag, as JSON Schema requires, or without it if the pattern is invalid then. */
export function regExpOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}

const keywordsOf2020 = [
  ...['prefixItems', 'unevaluatedItems', 'unevaluatedProperties', 'dependentSchemas', 'dependentRequired'],
  '$dynamicRef',
];

/**
 * Whether a schema is of draft 2020-12, as `$schema` or else its keywords say. All others are checked as draft-07, whose
 * keywords older drafts and 2019-09 share.
 */
export function isDraft2020(schema: object): boolean {
  const $schema = '$schema' in schema ? String(schema.$schema) : '';
  if (/2020-12/.test($schema)) return true;
  if (/draft-0[3-7]/.test($schema)) return false;
  let [isNew, isOld] = [false, false];
  mapped(schema, (one) => {
    isNew ||= keywordsOf2020.some((keyword) => keyword in one);
    isOld ||= Array.isArray(one.items);
    return one;
  });
  return isNew && !isOld;
}

/** Returns a schema without what ajv refuses: the name of a draft that it does not know, and `nullable` without a type. */
export function acceptedByAjv(jsonSchema: object): Record<string, unknown> {
  const { $schema: _, ...rest } = jsonSchema as { $schema?: unknown };
  return mapped(rest, (schema) => {
    if (typeof schema.nullable !== 'boolean' || 'type' in schema) return schema;
    const { nullable: _nullable, ...others } = schema;
    return others;
  });
}

type Schema = Record<string, unknown>;

/** Keywords whose value is a map of schemas, a list of schemas, or one schema. */
const byName = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const lists = ['allOf', 'anyOf', 'oneOf', 'items', 'prefixItems'];
const single = [
  ...['additionalItems', 'additionalProperties', 'contains', 'else', 'if', 'items', 'not', 'propertyNames', 'then'],
  ...['unevaluatedItems', 'unevaluatedProperties'],
];

/** Applies a change to each schema within a schema, innermost first. */
function mapped(schema: object, change: (schema: Schema) => Schema): Schema {
  const each = (value: unknown) => (isRecord(value) ? mapped(value, change) : value);
  const within = (keyword: string, value: unknown): unknown => {
    if (byName.includes(keyword) && isRecord(value))
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, each(one)]));
    if (lists.includes(keyword) && Array.isArray(value)) return value.map(each);
    return single.includes(keyword) ? each(value) : value;
  };
  return change(
    Object.fromEntries(Object.entries(schema).map(([keyword, value]) => [keyword, within(keyword, value)])),
  );
}

export function compiled(ajv: Ajv, jsonSchema: object): Check {
  const check = ajv.compile(acceptedByAjv(jsonSchema));
  if ('$async' in check) throw new Error('asynchronous schemas ($async) are not supported');
  return check;
}

/** Checks a value within a limit of time, and calls `onSlow` when that was too short. */
export function checkedWithin(check: Check, value: unknown, limitMs: number, onSlow = () => {}): Validation {
  try {
    const valid = runBounded(limitMs, () => check(value));
    if (valid) return { valid: true, value };
    const errors = check.errors ?? [];
    return { valid: false, reasons: reasonsText(reasonsOf(errors)), paths: errors.map(pathOf) };
  } catch (error) {
    if (!wasEnded(error)) throw error;
    onSlow();
    throw new Error(`its schema takes too long to check (more than ${limitMs} ms)`, { cause: error });
  }
}

function pathOf({ instancePath }: ErrorObject): Path {
  const segments = instancePath === '' ? [] : instancePath.slice(1).split('/');
  return segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function reasonsOf(errors: readonly ErrorObject[]): string[] {
  return errors.map(({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || 'it'} ${message}`);
}
