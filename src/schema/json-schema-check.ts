import type { Ajv, ErrorObject } from 'ajv';
import { bounded, wasEnded } from './bounded-check.ts';
import { reasonsText, type Validation } from './validation.ts';

/** The check that ajv compiles a JSON Schema to. */
export type Check = ((value: unknown) => unknown) & { errors?: ErrorObject[] | null };

/** The options of ajv for every schema. */
export const ajvOptions = { strict: false, validateFormats: false, unicodeRegExp: false, logger: false } as const;

/** Whether `$schema` names draft 2020-12; otherwise a schema is draft-07. */
export function isDraft2020({ $schema }: { $schema?: unknown }): boolean {
  return /2020-12/.test(String($schema));
}

export function compiled(ajv: Ajv, jsonSchema: object): Check {
  const check = ajv.compile({ ...jsonSchema });
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
