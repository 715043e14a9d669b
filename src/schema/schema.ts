import type { JSONSchema7 } from '@ai-sdk/provider';
import { asSchema } from '@ai-sdk/provider-utils';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { FlexibleSchema } from 'ai';
import { expected, messageOf, PawlError } from '../input/errors.ts';
import { isRecord } from '../platform/plain-json.ts';
import { isPromiseLike } from '../platform/promises.ts';
import { compileOwn } from './own-schema.ts';
import { after, type CompiledSchema, type Path, reasonsText, type Validation } from './validation.ts';

export type { CompiledSchema, Validation } from './validation.ts';

/** A schema from the user: zod, Standard Schema, an AI SDK schema, or a plain JSON Schema object. */
export type AnySchema = FlexibleSchema<unknown> | JSONSchema7;

/** A schema whose values have a type. */
export type SchemaFor<T> = FlexibleSchema<T>;

/** The type of the values that satisfy a schema; `unknown` for a plain JSON Schema. */
export type SchemaOutput<S> = S extends FlexibleSchema<infer T> ? T : unknown;

/** Compiles a schema. Throws `invalid_schema`, naming `field`, if the schema cannot be used. */
export function compileSchema(schema: AnySchema, field: string): CompiledSchema {
  try {
    if (isPlainJsonSchema(schema)) return compileOwn(schema);
    const adapted = asSchema<unknown>(schema);
    const { jsonSchema, validate } = adapted;
    if (validate !== undefined) {
      return {
        jsonSchema,
        dropsFields: true,
        // At once, zod would compile the schema, which takes longer than most processes check with it.
        validate: (isZod(schema) ? null : standardOf(schema)) ?? ((value) => after(validate(value), validationOf)),
      };
    }
    if (isPromiseLike(jsonSchema)) return fromPromisedSchema(jsonSchema);
    return compileOwn(jsonSchema);
  } catch (error) {
    throw new PawlError(
      'invalid_schema',
      `${expected(field, schema, 'a zod schema, a Standard Schema with JSON Schema, an AI SDK schema or a JSON Schema object')}${schema === undefined ? '' : ` ${messageOf(error)}`}`,
      { cause: error },
    );
  }
}

/** Checks a value at once. Throws if that takes the schema time. */
export type CheckAtOnce = (value: unknown) => Validation;

/** Compiles a schema whose values are checked at once, as zod and JSON Schema do. Throws `invalid_schema`. */
export function checkAtOnce(schema: AnySchema, field: string): CheckAtOnce {
  const compiled = compileSchema(schema, field);
  const validate = standardOf(schema) ?? compiled.validate;
  return (value) => {
    const checked = validate(value);
    if (!isPromiseLike(checked)) return checked;
    Promise.resolve(checked).catch(() => undefined);
    throw new Error('its schema is asynchronous or throws; it must check at once');
  };
}

/**
 * The check of a Standard Schema; null for a schema of another kind. It fails if there are `issues`: a vendor may give the
 * value along with them, which the SDK would take for valid.
 */
function standardOf(schema: AnySchema): CompiledSchema['validate'] | null {
  // A schema may be a function, as in ArkType.
  const standard = '~standard' in schema ? (schema['~standard'] as StandardSchemaV1.Props) : null;
  if (standard === null) return null;
  return (value) =>
    after(
      standard.validate(value),
      (result): Validation =>
        result.issues == null
          ? { valid: true, value: result.value }
          : { valid: false, reasons: reasonsText(result.issues.map(issueText)), paths: result.issues.map(pathOf) },
    );
}

function isZod(schema: AnySchema): boolean {
  return '_zod' in schema || '_def' in schema;
}

type SdkValidation = { success: true; value: unknown } | { success: false; error: Error };

function validationOf(result: SdkValidation): Validation {
  if (result.success) return { valid: true, value: result.value };
  const issues = issuesOf(result.error);
  if (issues === null) return { valid: false, reasons: reasonsText([result.error.message]) };
  return { valid: false, reasons: reasonsText(issues.map(issueText)), paths: issues.map(pathOf) };
}

function isPlainJsonSchema(schema: AnySchema): schema is JSONSchema7 {
  if (typeof schema === 'function') return false;
  if (!isRecord(schema)) throw new TypeError('It is not an object.');
  const field = Object.values(schema).find((one) => typeof one === 'object' && one !== null && '_zod' in one);
  if (field !== undefined && !('~standard' in schema)) throw new TypeError('Wrap its fields in z.object().');
  return !('~standard' in schema) && !('_zod' in schema) && !('jsonSchema' in schema && 'validate' in schema);
}

function fromPromisedSchema(jsonSchema: PromiseLike<JSONSchema7>): CompiledSchema {
  let compiled: CompiledSchema | null = null;
  return {
    jsonSchema,
    validate: async (value) => {
      compiled ??= compileOwn(await jsonSchema);
      return compiled.validate(value);
    },
  };
}

/** Returns the issues of zod or a Standard Schema; null if an error has none. */
function issuesOf(error: Error): readonly unknown[] | null {
  const carrier: unknown = 'issues' in error ? error.issues : error.cause;
  const issues = Array.isArray(carrier)
    ? carrier
    : typeof carrier === 'object' && carrier !== null && 'issues' in carrier
      ? carrier.issues
      : null;
  return Array.isArray(issues) ? issues : null;
}

function issueText(issue: unknown): string {
  if (typeof issue !== 'object' || issue === null) return String(issue);
  const path = pathOf(issue).join('.');
  const message = 'message' in issue ? String(issue.message) : 'is invalid';
  return path === '' ? message : `${path}: ${message}`;
}

function pathOf(issue: unknown): Path {
  if (typeof issue !== 'object' || issue === null || !('path' in issue)) return [];
  return Array.isArray(issue.path) ? issue.path.map(segmentText) : [];
}

function segmentText(segment: unknown): string {
  return typeof segment === 'object' && segment !== null && 'key' in segment ? String(segment.key) : String(segment);
}
