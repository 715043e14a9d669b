import type { JSONSchema7 } from '@ai-sdk/provider';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { RegExpEngine } from 'ajv/dist/types/index.js';
import { shown } from '../input/errors.ts';
import { byteLength } from '../platform/bytes.ts';
import { pointedAt } from '../platform/plain-json.ts';
import { runBounded, wasEnded } from './bounded-check.ts';
import {
  acceptedByAjv,
  ajvOptions,
  type Check,
  checkedWithin,
  compiled,
  isDraft2020,
  regExpOf,
} from './json-schema-check.ts';
import { linearPattern } from './linear-pattern.ts';
import type { CompiledSchema } from './validation.ts';

/** How long a check by a schema from outside may take, in ms, and how many bytes of the value add one more. */
const checkMs = 50;
const bytesPerMs = 4_096;

/** How long a schema from outside may take to compile, in ms; it is compiled at its first use. */
const compileMs = 500;

/** After so many checks that took too long, no value as large is checked again. */
const mostTimeouts = 3;

/** The limits of a schema from outside: the bytes of its JSON, its depth and its references. */
const mostBytes = 65_536;
const deepest = 100;
const mostRefs = 1_000;

/**
 * Compiles a JSON Schema that others wrote: an MCP server, an OpenAPI document. Throws if it is too large or invalid.
 * Its patterns run on a linear-time engine where that knows them, and no check blocks the process for long.
 */
export function compileForeign(jsonSchema: JSONSchema7): CompiledSchema {
  checkBounds(jsonSchema);
  if (validatorFor(jsonSchema).validateSchema(acceptedByAjv(jsonSchema)) !== true)
    throw new Error('it is not a valid JSON Schema');
  let check: Check | null = null;
  return {
    jsonSchema,
    validate: checker(() => {
      check ??= compiledInTime(() => compiled(ajvFor(jsonSchema), jsonSchema));
      return check;
    }),
  };
}

/** Compiles a schema that was found valid before. */
function ajvFor(jsonSchema: JSONSchema7): Ajv {
  const options = { ...ajvOptions, validateSchema: false, code: { optimize: false, regExp } };
  return isDraft2020(jsonSchema) ? new Ajv2020(options) : new Ajv(options);
}

/** One for each draft: to compile the schema of a draft takes longer than to check a tool's schema by it. */
const validators = new Map<typeof Ajv | typeof Ajv2020, Ajv>();

function validatorFor(jsonSchema: JSONSchema7): Ajv {
  const Validator = isDraft2020(jsonSchema) ? Ajv2020 : Ajv;
  const validator = validators.get(Validator) ?? new Validator(ajvOptions);
  validators.set(Validator, validator);
  return validator;
}

/** Compiles a pattern for a linear-time engine; one that it does not know runs on the usual engine. */
function linear(pattern: string): RegExp | { test: (text: string) => boolean } {
  return linearPattern(pattern) ?? regExpOf(pattern);
}

const regExp = Object.assign(linear, { code: 'linear' }) as RegExpEngine;

function checker(check: () => Check): CompiledSchema['validate'] {
  /** The sizes of the values whose check took too long. */
  const slow: number[] = [];
  return (value) => {
    const compiledCheck = check();
    const bytes = JSON.stringify(value).length;
    if (slow.filter((known) => known <= bytes).length >= mostTimeouts)
      throw new Error('its schema takes too long to check');
    return checkedWithin(compiledCheck, value, checkMs + Math.ceil(bytes / bytesPerMs), () => slow.push(bytes));
  };
}

/** Runs the compilation of a schema within its limit. */
function compiledInTime<T>(task: () => T): T {
  try {
    return runBounded(compileMs, task);
  } catch (error) {
    if (!wasEnded(error)) throw error;
    throw new Error(`its schema takes too long to compile (more than ${compileMs} ms)`, { cause: error });
  }
}

/** Whether a reference leads somewhere: a pointer is followed; other forms are left to the check. */
function hasTarget(schema: unknown, ref: unknown): boolean {
  return typeof ref !== 'string' || !ref.startsWith('#/') || pointedAt(schema, ref) !== undefined;
}

/** Keywords that hold values, not schemas. */
const dataKeywords = new Set(['const', 'default', 'enum', 'example', 'examples']);

function checkBounds(schema: unknown): void {
  const bytes = byteLength(JSON.stringify(schema));
  if (bytes > mostBytes) throw new Error(`it has ${bytes} bytes; the most is ${mostBytes}`);
  let refs = 0;
  // An embedded `$id` changes the base of references.
  const followsRefs = !/"\$id":/.test(JSON.stringify(schema));
  const visit = (value: unknown, depth: number, isData = false): void => {
    if (depth > deepest) throw new Error(`it is more than ${deepest} levels deep`);
    if (typeof value !== 'object' || value === null) return;
    if ('$async' in value) throw new Error('asynchronous schemas ($async) are not supported');
    if ('$ref' in value) {
      refs += 1;
      if (followsRefs && !isData && !hasTarget(schema, value.$ref))
        throw new Error(`it refers to ${shown(value.$ref)}, which is not in it`);
    }
    if (refs > mostRefs) throw new Error(`it has more than ${mostRefs} references`);
    for (const [name, inner] of Object.entries(value)) visit(inner, depth + 1, isData || dataKeywords.has(name));
  };
  visit(schema, 1);
}
