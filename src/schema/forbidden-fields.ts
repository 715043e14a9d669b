import type { JSONSchema7, JSONSchema7Definition } from '@ai-sdk/provider';
import { pointedAt } from '../platform/plain-json.ts';
import { isPromiseLike } from '../platform/promises.ts';
import { type CompiledSchema, reasonsText, type Validation } from './validation.ts';

/**
 * Refuses fields that the sent schema forbids (`additionalProperties: false`). zod and other validators drop them
 * silently, so that a model would not learn that a field it set had no effect (C-5).
 */
export function withoutExtraFields(compiled: CompiledSchema): CompiledSchema {
  const { jsonSchema, dropsFields = false } = compiled;
  if (!dropsFields) return compiled;
  const check = (value: unknown, schema: JSONSchema7): Validation | Promise<Validation> => {
    const forbidden = new Search(schema).forbiddenIn(value, schema, '');
    if (forbidden.length === 0) return compiled.validate(value);
    return { valid: false, reasons: reasonsText(forbidden.map((path) => `${path} is not a field of the schema`)) };
  };
  return {
    jsonSchema,
    validate: (value) =>
      isPromiseLike(jsonSchema)
        ? Promise.resolve(jsonSchema).then((schema) => check(value, schema))
        : check(value, jsonSchema),
  };
}

/** One search through a value. Each pair of a value and a schema is looked at once, however often unions lead to it. */
class Search {
  private readonly root: JSONSchema7;
  private readonly seen = new Map<JSONSchema7, Map<object, string[]>>();

  constructor(root: JSONSchema7) {
    this.root = root;
  }

  /** Returns the paths of the forbidden fields. Of several schemas that may apply, the one that forbids least counts. */
  forbiddenIn(value: unknown, schema: JSONSchema7Definition, path: string): string[] {
    if (typeof schema === 'boolean' || typeof value !== 'object' || value === null) return [];
    const known = this.seen.get(schema) ?? new Map<object, string[]>();
    this.seen.set(schema, known);
    const before = known.get(value);
    if (before !== undefined) return before;
    // A schema may refer to itself.
    known.set(value, []);
    const found = this.look(value, schema, path);
    known.set(value, found);
    return found;
  }

  private look(value: object, schema: JSONSchema7, path: string): string[] {
    const { $ref, anyOf, oneOf, properties = {}, patternProperties, additionalProperties } = schema;
    if ($ref !== undefined) return this.forbiddenIn(value, resolved($ref, this.root), path);
    const branches = anyOf ?? oneOf;
    if (branches !== undefined) {
      const kind = Array.isArray(value) ? 'array' : 'object';
      const possible = branches.filter((branch) => mayBe(branch, kind));
      const found = possible.map((branch) => this.forbiddenIn(value, branch, path));
      return found.sort((one, other) => one.length - other.length)[0] ?? [];
    }
    if (Array.isArray(value)) {
      const { first, rest } = itemsOf(schema);
      return value.flatMap((item, index) =>
        this.forbiddenIn(item, first[index] ?? rest, path === '' ? `${index}` : `${path}.${index}`),
      );
    }
    return Object.entries(value).flatMap(([name, inner]) => {
      const own = path === '' ? name : `${path}.${name}`;
      const other = patternProperties === undefined ? additionalProperties : true;
      const known = Object.hasOwn(properties, name) ? properties[name] : other;
      return known === false ? [own] : this.forbiddenIn(inner, known ?? true, own);
    });
  }
}

/** The schemas of the first items of an array, and that of all others, as draft 7 and draft 2020 write them. */
function itemsOf(schema: JSONSchema7): { first: readonly JSONSchema7Definition[]; rest: JSONSchema7Definition } {
  const { items = true, additionalItems = true } = schema;
  if (Array.isArray(items)) return { first: items, rest: additionalItems };
  return { first: 'prefixItems' in schema ? (schema.prefixItems as JSONSchema7Definition[]) : [], rest: items };
}

function mayBe(schema: JSONSchema7Definition, kind: 'array' | 'object'): boolean {
  if (typeof schema === 'boolean' || schema.type === undefined) return true;
  return [schema.type].flat().includes(kind);
}

/** Follows a path within the schema. One that leads nowhere, or a reference of another kind, forbids nothing. */
function resolved(ref: string, root: JSONSchema7): JSONSchema7Definition {
  if (ref !== '#' && !ref.startsWith('#/')) return true;
  const found = pointedAt(root, ref);
  return typeof found === 'object' && found !== null ? found : true;
}
