import type { JSONSchema7 } from '@ai-sdk/provider';
import type { Ajv } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { required } from '../platform/node.ts';
import { ajvOptions, type Check, checkedWithin, compiled, isDraft2020 } from './json-schema-check.ts';
import type { CompiledSchema } from './validation.ts';

/** How long a check by the user's own schema may take, in ms. */
const ownCheckMs = 1_000;

type AjvModule = { Ajv?: typeof Ajv; Ajv2020?: typeof Ajv2020 };

/**
 * Compiles the user's own JSON Schema. Throws if it cannot be used. Every check names all reasons. In a bundle, the
 * validator is loaded at the first check, which then says why a schema cannot be used.
 */
export function compileOwn(jsonSchema: JSONSchema7): CompiledSchema {
  const name = isDraft2020(jsonSchema) ? 'ajv/dist/2020.js' : 'ajv';
  const loaded = required<AjvModule>(name);
  if (loaded !== undefined) {
    const check = compiledBy(loaded, jsonSchema);
    return { jsonSchema, validate: (value) => checkedWithin(check, value, ownCheckMs) };
  }
  let check: Promise<Check> | null = null;
  return {
    jsonSchema,
    validate: async (value) => {
      check ??= loadedFor(jsonSchema).then((module) => compiledBy(module, jsonSchema));
      return checkedWithin(await check, value, ownCheckMs);
    },
  };
}

function loadedFor(jsonSchema: JSONSchema7): Promise<AjvModule> {
  return isDraft2020(jsonSchema) ? import('ajv/dist/2020.js') : import('ajv');
}

function compiledBy({ Ajv, Ajv2020 }: AjvModule, jsonSchema: JSONSchema7): Check {
  const Compiler = Ajv2020 ?? Ajv;
  if (Compiler === undefined) throw new Error('the validator of JSON Schemas is not there');
  return compiled(new Compiler({ ...ajvOptions, allErrors: true }), jsonSchema);
}
