import { isDeepStrictEqual } from 'node:util';
import type { JSONSchema7 } from '@ai-sdk/provider';
import { isRecord, pointedAt } from '../../platform/plain-json.ts';

/** A JSON value from a document that the parser has validated. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonRecord = { [key: string]: Json };

/** A parameter is written as text, so that an integer of more digits than a number holds can be given as one. */
export function orDigits(api: JsonRecord, schema: JsonRecord): JsonRecord {
  const own = deref(api, schema);
  const items = deref(api, own.items);
  if (own.type === 'array') return isLong(items) ? { ...own, items: withDigits(items) } : schema;
  return isLong(own) ? withDigits(own) : schema;
}

function isLong({ type, format }: JsonRecord): boolean {
  return format === 'int64' && [type ?? null].flat().includes('integer');
}

function withDigits(schema: JsonRecord): JsonRecord {
  return { ...schema, type: [...[schema.type ?? []].flat(), 'string'], pattern: '^-?[0-9]+$' };
}

/** What `propertiesOf` found, since many schemas of a document are made of the same ones. */
const known = new WeakMap<JsonRecord, JsonRecord>();

/** Returns the properties of an object's schema, and of those that it is made of (`allOf`). */
export function propertiesOf(api: JsonRecord, schema: Json): JsonRecord {
  const own = deref(api, schema);
  const found = known.get(own);
  if (found !== undefined) return found;
  // For a schema that leads to itself.
  known.set(own, {});
  const members = list(own.allOf).map((one) => propertiesOf(api, one));
  const properties: JsonRecord = Object.assign({}, ...members, record(own.properties));
  known.set(own, properties);
  return properties;
}

/** Keywords that hold schemas under user-defined names, and keywords that hold no schema. */
const byName = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const asItIs = ['enum', 'const', 'default', 'examples', 'required'];

function eachSchema(api: JsonRecord, schemas: Json): Json {
  return Object.fromEntries(Object.entries(record(schemas)).map(([name, schema]) => [name, jsonSchemaOf(api, schema)]));
}

/**
 * Converts an OpenAPI 3.0 schema to JSON Schema (3.1 schemas already are). Drops documentation-only keywords. `around` are
 * the properties of a schema that is made of this one among others (`allOf`).
 */
export function jsonSchemaOf(api: JsonRecord, schema: Json, around: JsonRecord = {}): Json {
  if (Array.isArray(schema)) return schema.map((one) => jsonSchemaOf(api, one));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = schema;
  const { discriminator: _, xml: __, example: ___, externalDocs: ____, ...kept } = rest;
  const isPart = kept.required !== undefined || kept.allOf !== undefined;
  const properties = isPart ? { ...around, ...propertiesOf(api, schema) } : {};
  const converted: JsonRecord = {};
  for (const [key, value] of Object.entries(kept)) {
    if (byName.includes(key)) converted[key] = eachSchema(api, value);
    else if (key === 'allOf') converted[key] = list(value).map((one) => jsonSchemaOf(api, one, properties));
    else converted[key] = asItIs.includes(key) ? value : jsonSchemaOf(api, value);
  }
  if (Array.isArray(converted.required)) {
    // The service sets read-only fields; requests omit them.
    const isReadOnly = (property: Json | undefined) =>
      record(property).readOnly === true || deref(api, property).readOnly === true;
    converted.required = converted.required.filter((name) => !isReadOnly(properties[String(name)]));
  }
  Object.assign(converted, limitOf('exclusiveMinimum', 'minimum', exclusiveMinimum, minimum));
  Object.assign(converted, limitOf('exclusiveMaximum', 'maximum', exclusiveMaximum, maximum));
  if (Array.isArray(converted.enum)) {
    const values = nullable === true ? [...converted.enum, null] : converted.enum;
    converted.enum = values.filter(
      (value, index) => values.findIndex((other) => isDeepStrictEqual(other, value)) === index,
    );
  }
  if (nullable !== true) return converted;
  return typeof converted.type === 'string'
    ? { ...converted, type: [converted.type, 'null'] }
    : { anyOf: [converted, { type: 'null' }] };
}

/** Converts a limit. In 3.0 `exclusiveMinimum` is a flag on `minimum`; in JSON Schema it is the limit itself. */
function limitOf(
  exclusiveName: string,
  name: string,
  exclusive: Json | undefined,
  limit: Json | undefined,
): JsonRecord {
  if (exclusive === true && limit !== undefined) return { [exclusiveName]: limit };
  return {
    ...(limit !== undefined && { [name]: limit }),
    ...(typeof exclusive === 'number' && { [exclusiveName]: exclusive }),
  };
}

/** Copies each referenced definition into the tool's input schema once, and points the references there. */
export function withDefinitions(input: JsonRecord, api: JsonRecord): JSONSchema7 {
  const $defs: JsonRecord = {};
  const names = new Map<string, string>();
  const nameOf = (pointer: string): string => {
    const known = names.get(pointer);
    if (known !== undefined) return known;
    const last =
      pointer
        .split('/')
        .at(-1)
        ?.replace(/[^A-Za-z0-9_-]/g, '_') || 'schema';
    const name = Object.hasOwn($defs, last) ? `${last}_${names.size}` : last;
    names.set(pointer, name);
    $defs[name] = {};
    $defs[name] = lead(jsonSchemaOf(api, resolved(api, pointer)));
    return name;
  };
  const lead = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(lead);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) =>
        key === '$ref' && typeof inner === 'string' && inner.startsWith('#')
          ? [key, `#/$defs/${nameOf(inner)}`]
          : [key, lead(inner)],
      ),
    );
  };
  const led = lead(input);
  const schema: JSONSchema7 = JSON.parse(JSON.stringify(led));
  return Object.keys($defs).length === 0 ? schema : { ...schema, $defs: JSON.parse(JSON.stringify($defs)) };
}

/** Resolves a reference within the document; a dangling reference yields an empty schema. */
function resolved(api: JsonRecord, pointer: string): Json {
  return (pointedAt(api, pointer) as Json | undefined) ?? {};
}

/** Follows a value's references to the object that they point to. */
export function deref(api: JsonRecord, value: Json | undefined): JsonRecord {
  let found = record(value);
  for (let hops = 0; hops < 20 && typeof found.$ref === 'string'; hops += 1) found = record(resolved(api, found.$ref));
  return found;
}

/** Returns the value if it is an object, otherwise an empty object. */
export function record(value: Json | undefined): JsonRecord {
  return isRecord(value) ? value : {};
}

export function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
