import type { Ajv, ErrorObject } from 'ajv';
import type { RegExpEngine } from 'ajv/dist/types/index.js';
import { bounded, wasEnded } from './bounded-check.ts';
import { reasonsText, type Validation } from './validation.ts';

/** The check that ajv compiles a JSON Schema to. */
export type Check = ((value: unknown) => unknown) & { errors?: ErrorObject[] | null };

/** The options of ajv for every schema. */
export const ajvOptions = {
  strict: false,
  validateFormats: false,
  unicodeRegExp: false,
  logger: false,
  code: { regExp: Object.assign(regExpOf, { code: 'regExpOf' }) as RegExpEngine },
} as const;

/** Compiles a pattern with Unicode, as JSON Schema says, or without, if that is the only way it can be read. */
export function regExpOf(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'u');
  } catch {
    return new RegExp(pattern);
  }
}

const keywordsOf2020 = /"(?:prefixItems|unevaluated(?:Items|Properties)|dependent(?:Schemas|Required)|\$dynamicRef)":/;

/**
 * Whether a schema is of draft 2020-12, as `$schema` or else its keywords say. All others are checked as draft-07, whose
 * keywords older drafts and 2019-09 share.
 */
export function isDraft2020(schema: object): boolean {
  const $schema = '$schema' in schema ? String(schema.$schema) : '';
  if (/2020-12/.test($schema)) return true;
  return !/draft-0[3-7]/.test($schema) && keywordsOf2020.test(JSON.stringify(schema));
}

/** Returns a schema without what ajv refuses: the name of a draft that it does not know, and `nullable` without a type. */
export function accepted(jsonSchema: object): Record<string, unknown> {
  const { $schema: _, ...rest } = jsonSchema as { $schema?: unknown };
  const text = JSON.stringify(rest);
  if (!text.includes('"nullable"')) return rest;
  return JSON.parse(text, (_key, value) => {
    if (typeof value?.nullable !== 'boolean' || 'type' in value) return value;
    const { nullable: _nullable, ...others } = value;
    return others;
  });
}

export function compiled(ajv: Ajv, jsonSchema: object): Check {
  const check = ajv.compile(accepted(jsonSchema));
  if ('$async' in check) throw new Error('asynchronous schemas ($async) are not supported');
  return check;
}

/** Checks a value within a limit of time, and calls `onSlow` when that was too short. */
export function checked(check: Check, value: unknown, limitMs: number, onSlow = () => {}): Validation {
  try {
    const valid = bounded(limitMs, () => check(value));
    return valid ? { valid: true, value } : { valid: false, reasons: reasonsText(pathsOf(check.errors ?? [])) };
  } catch (error) {
    if (!wasEnded(error)) throw error;
    onSlow();
    throw new Error(`its schema takes too long to check (more than ${limitMs} ms)`, { cause: error });
  }
}

function pathsOf(errors: readonly ErrorObject[]): string[] {
  return errors.map(({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || 'it'} ${message}`);
}
