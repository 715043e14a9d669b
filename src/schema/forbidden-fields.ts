import type { JSONSchema7, JSONSchema7Definition } from '@ai-sdk/provider';
import { type CompiledSchema, reasonsText, type Validation } from './validation.ts';

/**
 * Refuses fields that the sent schema forbids (`additionalProperties: false`). zod and other validators drop them
 * silently, so that a model would not learn that a field it set had no effect (C-5).
 */
export function withoutExtraFields(compiled: CompiledSchema): CompiledSchema {
  const { jsonSchema } = compiled;
  const check = (value: unknown, schema: JSONSchema7): Validation | Promise<Validation> => {
    const forbidden = forbiddenIn(value, schema, schema, '');
    if (forbidden.length === 0) return compiled.validate(value);
    return { valid: false, reasons: reasonsText(forbidden.map((path) => `${path} is not a field of the schema`)) };
  };
  return {
    jsonSchema,
    validate: (value) =>
      'then' in jsonSchema
        ? Promise.resolve(jsonSchema).then((schema) => check(value, schema))
        : check(value, jsonSchema),
  };
}

/** Returns the paths of the forbidden fields. Of several schemas that may apply, the one that forbids least counts. */
function forbiddenIn(value: unknown, schema: JSONSchema7Definition, root: JSONSchema7, path: string): string[] {
  if (typeof schema === 'boolean' || typeof value !== 'object' || value === null) return [];
  const { $ref, anyOf, oneOf, items, properties = {}, additionalProperties } = schema;
  if ($ref !== undefined) return forbiddenIn(value, resolved($ref, root), root, path);
  const branches = anyOf ?? oneOf;
  if (branches !== undefined) {
    const kind = Array.isArray(value) ? 'array' : 'object';
    const possible = branches.filter((branch) => mayBe(branch, kind));
    const found = possible.map((branch) => forbiddenIn(value, branch, root, path));
    return found.sort((one, other) => one.length - other.length)[0] ?? [];
  }
  if (Array.isArray(value)) {
    if (items === undefined || Array.isArray(items)) return [];
    return value.flatMap((item, index) => forbiddenIn(item, items, root, `${path}${path === '' ? '' : '.'}${index}`));
  }
  return Object.entries(value).flatMap(([name, inner]) => {
    const own = path === '' ? name : `${path}.${name}`;
    const known = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    return known === false ? [own] : forbiddenIn(inner, known ?? true, root, own);
  });
}

function mayBe(schema: JSONSchema7Definition, kind: 'array' | 'object'): boolean {
  if (typeof schema === 'boolean' || schema.type === undefined) return true;
  return [schema.type].flat().includes(kind);
}

/** Follows a reference within the schema; one that leads nowhere forbids nothing. */
function resolved(ref: string, root: JSONSchema7): JSONSchema7Definition {
  const found = ref
    .split('/')
    .slice(1)
    .reduce<unknown>((at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined), root);
  return typeof found === 'object' && found !== null ? found : true;
}
