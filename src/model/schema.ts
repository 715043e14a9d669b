import type { JSONSchema7 } from '@ai-sdk/provider';
import { asSchema, type FlexibleSchema } from 'ai';
import { Ajv, type ErrorObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expected, messageOf, PawlError } from '../errors.ts';

/** A schema from the user: zod, Standard Schema, an AI SDK schema, or a plain JSON Schema object. */
export type AnySchema = FlexibleSchema<unknown> | JSONSchema7;

/** The type of the values that satisfy a schema; `unknown` for a plain JSON Schema. */
export type SchemaOutput<S> = S extends FlexibleSchema<infer T> ? T : unknown;

export type Validation = { valid: true; value: unknown } | { valid: false; reasons: string };

/** A schema that is ready to be sent to a model and to validate values. */
export type CompiledSchema = {
  jsonSchema: JSONSchema7 | PromiseLike<JSONSchema7>;
  validate(value: unknown): Validation | Promise<Validation>;
};

/** Compiles a schema. Throws `invalid_schema`, naming `field`, if the schema cannot be used. */
export function compileSchema(schema: AnySchema, field: string): CompiledSchema {
  try {
    if (isPlainJsonSchema(schema)) return fromJsonSchema(schema);
    const adapted = asSchema<unknown>(schema);
    const { jsonSchema, validate } = adapted;
    if (validate !== undefined) {
      return {
        jsonSchema,
        validate: (value) => {
          const result = validate(value);
          return isPromiseLike(result) ? Promise.resolve(result).then(validationOf) : validationOf(result);
        },
      };
    }
    if (isPromiseLike(jsonSchema)) return fromPromisedSchema(jsonSchema);
    return fromJsonSchema(jsonSchema);
  } catch (error) {
    throw new PawlError(
      'invalid_schema',
      `${expected(field, schema, 'a zod schema, a Standard Schema with JSON Schema, an AI SDK schema or a JSON Schema object')} ${messageOf(error)}`,
      { cause: error },
    );
  }
}

type SdkValidation = { success: true; value: unknown } | { success: false; error: Error };

function validationOf(result: SdkValidation): Validation {
  return result.success ? { valid: true, value: result.value } : { valid: false, reasons: reasonsOf(result.error) };
}

function isPlainJsonSchema(schema: AnySchema): schema is JSONSchema7 {
  if (typeof schema === 'function') return false;
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema))
    throw new TypeError('it is not an object');
  return !('~standard' in schema) && !('_zod' in schema) && !('jsonSchema' in schema && 'validate' in schema);
}

function isPromiseLike<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

const ajvOptions = { allErrors: true, strict: false, validateFormats: false, unicodeRegExp: false } as const;

/** Compiles as draft 2020-12 if `$schema` names it, otherwise as draft-07. */
function fromJsonSchema(jsonSchema: JSONSchema7): CompiledSchema {
  const ajv = /2020-12/.test(String(jsonSchema.$schema)) ? new Ajv2020(ajvOptions) : new Ajv(ajvOptions);
  const schema: Record<string, unknown> = { ...jsonSchema };
  const check = ajv.compile(schema);
  if ('$async' in check) throw new Error('asynchronous schemas ($async) are not supported');
  return {
    jsonSchema,
    validate: (value) =>
      check(value) ? { valid: true, value } : { valid: false, reasons: ajvReasons(check.errors ?? []) },
  };
}

function fromPromisedSchema(jsonSchema: PromiseLike<JSONSchema7>): CompiledSchema {
  let compiled: CompiledSchema | null = null;
  return {
    jsonSchema,
    validate: async (value) => {
      compiled ??= fromJsonSchema(await jsonSchema);
      return compiled.validate(value);
    },
  };
}

const longestReasons = 2_000;

function ajvReasons(errors: readonly ErrorObject[]): string {
  return cut(
    errors.map(({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || 'it'} ${message}`),
  );
}

/** Returns the issues of zod or a Standard Schema, each with its path, or else the error's message. */
function reasonsOf(error: Error): string {
  const carrier: unknown = 'issues' in error ? error.issues : error.cause;
  const issues = Array.isArray(carrier)
    ? carrier
    : typeof carrier === 'object' && carrier !== null && 'issues' in carrier
      ? carrier.issues
      : null;
  if (!Array.isArray(issues)) return cut([error.message]);
  return cut(issues.map(issueText));
}

function issueText(issue: unknown): string {
  if (typeof issue !== 'object' || issue === null) return String(issue);
  const path = 'path' in issue && Array.isArray(issue.path) ? issue.path.map(segmentText).join('.') : '';
  const message = 'message' in issue ? String(issue.message) : 'is invalid';
  return path === '' ? message : `${path}: ${message}`;
}

function segmentText(segment: unknown): string {
  return typeof segment === 'object' && segment !== null && 'key' in segment ? String(segment.key) : String(segment);
}

function cut(reasons: readonly string[]): string {
  const text = reasons.join('; ');
  return text.length > longestReasons ? `${text.slice(0, longestReasons)}…` : text;
}
