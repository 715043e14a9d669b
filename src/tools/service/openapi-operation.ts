import { isDeepStrictEqual } from 'node:util';
import type { JSONSchema7 } from '@ai-sdk/provider';
import type { LocalTool } from '../local.ts';
import { inputFromOutside } from './foreign-input.ts';
import type { HttpPolicy } from './http-policy.ts';
import { filledPath, type Parameter, queryPairs, simple } from './openapi-styles.ts';
import { encoded, type RestAuth, type RestCall, restLike, textOf } from './rest.ts';

/** A JSON value from a document that the parser has validated. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonRecord = { [key: string]: Json };

export type Operation = {
  api: JsonRecord;
  path: string;
  method: string;
  operation: JsonRecord;
  /** Parameters that all operations of the path share. */
  shared: readonly Json[];
  baseUrl: string;
  auth: RestAuth | undefined;
  policy: HttpPolicy;
  needsApproval: boolean;
};

const bodyTypes = [/json/, /^application\/x-www-form-urlencoded/, /^multipart\/form-data/, /^text\//, /.*/];

/** The schema of an XML body, which the model writes as text. */
const xmlBody = { type: 'string', description: 'The XML document.' };

/** Turns an operation into a tool that takes its parameters and body. Null if a path parameter is undeclared. */
export function operationTool(given: Operation): LocalTool | null {
  const { api, path, method, operation, baseUrl, auth, policy, needsApproval } = given;
  const parameters = parametersOf([...list(operation.parameters), ...given.shared].map((one) => deref(api, one)));
  // GET and HEAD requests cannot have a body.
  const requestBody = method === 'GET' || method === 'HEAD' ? {} : deref(api, operation.requestBody);
  const content = record(requestBody.content);
  const bodyType = bodyTypes.flatMap((pattern) => Object.keys(content).find((type) => pattern.test(type)) ?? [])[0];
  const bodySchema = bodyType === undefined ? null : record(record(content[bodyType]).schema ?? {});
  const bodyRequired = requestBody.required === true;
  const declared = new Set(parameters.filter((one) => one.in === 'path').map((one) => one.name));
  if ([...path.matchAll(/\{([^{}]+)\}/g)].some(([, name = '']) => !declared.has(name))) return null;

  const properties: JsonRecord = {};
  for (const { field, schema, description } of parameters) {
    properties[field] = { ...orDigits(record(jsonSchemaOf(api, schema))), ...(description !== '' && { description }) };
  }
  if (bodySchema !== null) properties.body = /xml/.test(bodyType ?? '') ? xmlBody : jsonSchemaOf(api, bodySchema);
  const required = [
    ...parameters.filter((one) => one.required).map((one) => one.field),
    ...(bodySchema !== null && bodyRequired ? ['body'] : []),
  ];
  const encoding = record(record(content[bodyType ?? '']).encoding ?? {});
  const files = filesIn(api, bodySchema ?? {}, encoding);
  const input = withDefinitions({ type: 'object', properties, required, additionalProperties: false }, api);
  const about = [operation.summary, operation.description].filter((text) => typeof text === 'string' && text !== '');
  return restLike({
    method,
    description: about.join('\n') || `${method} ${path}`,
    input: inputFromOutside(input),
    auth,
    secrets: [],
    policy,
    needsApproval,
    call: (values) => callOf(`${baseUrl}${path}`, parameters, { type: bodyType ?? null, files }, values),
  });
}

/**
 * Collects the parameters; the operation's own override those of its path. Parameters with the same name in different
 * places each get a field.
 */
function parametersOf(declared: readonly JsonRecord[]): Parameter[] {
  const found: Parameter[] = [];
  for (const { name, in: where, required, style, explode, schema, content, description } of declared) {
    if (typeof name !== 'string' || typeof where !== 'string') continue;
    // The caller must not set these headers.
    if (where === 'header' && ['accept', 'content-type', 'authorization'].includes(name.toLowerCase())) continue;
    if (found.some((one) => one.name === name && one.in === where)) continue;
    const usual = where === 'query' || where === 'cookie' ? 'form' : 'simple';
    const kind = typeof style === 'string' ? style : usual;
    found.push({
      name,
      in: where,
      field: found.some((one) => one.field === name) || name === 'body' ? `${name}_${where}` : name,
      required: required === true || where === 'path',
      style: content === undefined ? kind : 'json',
      explode: typeof explode === 'boolean' ? explode : kind === 'form',
      schema: record(schema ?? record(Object.values(record(content ?? {}))[0] ?? {}).schema ?? {}),
      description: typeof description === 'string' ? description : '',
    });
  }
  return found;
}

function callOf(
  template: string,
  parameters: readonly Parameter[],
  body: BodyKind,
  values: Record<string, unknown>,
): RestCall {
  const isGiven = (field: string) =>
    Object.hasOwn(values, field) && values[field] !== undefined && values[field] !== null;
  const present = parameters.filter(({ field }) => isGiven(field));
  const inPath = present.filter((one) => one.in === 'path');
  const url = new URL(filledPath(template, inPath, values));
  const headers: Record<string, string> = { accept: 'application/json, */*;q=0.8' };
  const cookies: string[] = [];
  for (const parameter of present) {
    const value = values[parameter.field];
    if (parameter.in === 'query') {
      for (const [name, one] of queryPairs(parameter, value)) url.searchParams.append(name, one);
    } else if (parameter.in === 'header') {
      headers[parameter.name.toLowerCase()] = simple(value, parameter.explode).replace(/[\r\n]+/g, ' ');
    } else if (parameter.in === 'cookie') {
      cookies.push(`${parameter.name}=${encodeURIComponent(simple(value, false))}`);
    }
  }
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  return { url, ...bodyOf(body, values.body, headers) };
}

/** The media type of a body; `files` are the media types of the fields of a form that are files. */
type BodyKind = { type: string | null; files: ReadonlyMap<string, string> };

/** Returns the media types of the fields that hold files, as OpenAPI 3.0 or 3.1 says so. */
function filesIn(api: JsonRecord, body: JsonRecord, encoding: JsonRecord): Map<string, string> {
  const files = new Map<string, string>();
  for (const [name, schema] of Object.entries(record(deref(api, body).properties))) {
    const field = deref(api, schema);
    const one = field.type === 'array' ? deref(api, field.items) : field;
    const isFile = one.format === 'binary' || (one.contentMediaType !== undefined && one.contentEncoding === undefined);
    const said = record(encoding[name]).contentType ?? one.contentMediaType;
    const type = typeof said === 'string' && !/[*,]/.test(said) ? said : 'application/octet-stream';
    if (isFile) files.set(name, type);
  }
  return files;
}

function bodyOf(
  { type, files }: BodyKind,
  body: unknown,
  headers: Record<string, string>,
): Pick<RestCall, 'headers' | 'body'> {
  if (type === null || body === undefined) return { headers, body: null };
  const given = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  // A form has no null.
  const fields = given.filter(([, value]) => value !== null);
  if (/json/.test(type)) return { headers: { ...headers, 'content-type': type }, body: JSON.stringify(body) };
  if (/^application\/x-www-form-urlencoded/.test(type)) {
    const form = new URLSearchParams();
    for (const [name, value] of fields) for (const one of [value].flat()) form.append(name, textOf(one));
    return { headers: { ...headers, 'content-type': type }, body: form.toString() };
  }
  if (/^multipart\/form-data/.test(type)) {
    const form = new FormData();
    for (const [name, value] of fields) {
      const mediaType = files.get(name);
      for (const one of [value].flat()) {
        // Only the bytes of a file stay as they are.
        if (mediaType === undefined) form.append(name, textOf(one));
        else form.append(name, new Blob([textOf(one)], { type: mediaType }), name);
      }
    }
    return { headers, body: form };
  }
  if (type.includes('*')) return encoded(body, headers);
  return encoded(typeof body === 'string' ? body : textOf(body), { ...headers, 'content-type': type });
}

/** A parameter is written as text, so that an integer of more digits than a number holds can be given as one. */
function orDigits(schema: JsonRecord): JsonRecord {
  if (schema.type !== 'integer' || schema.format !== 'int64') return schema;
  return { ...schema, type: ['integer', 'string'], pattern: '^-?[0-9]+$' };
}

/** Keywords that hold schemas under user-defined names, and keywords that hold no schema. */
const byName = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const asItIs = ['enum', 'const', 'default', 'examples', 'required'];

function eachSchema(api: JsonRecord, schemas: Json): Json {
  return Object.fromEntries(Object.entries(record(schemas)).map(([name, schema]) => [name, jsonSchemaOf(api, schema)]));
}

/** Converts an OpenAPI 3.0 schema to JSON Schema (3.1 schemas already are). Drops documentation-only keywords. */
function jsonSchemaOf(api: JsonRecord, schema: Json): Json {
  if (Array.isArray(schema)) return schema.map((one) => jsonSchemaOf(api, one));
  if (typeof schema !== 'object' || schema === null) return schema;
  const { nullable, exclusiveMinimum, exclusiveMaximum, minimum, maximum, ...rest } = schema;
  const { discriminator: _, xml: __, example: ___, externalDocs: ____, ...kept } = rest;
  const converted: JsonRecord = {};
  for (const [key, value] of Object.entries(kept)) {
    converted[key] = byName.includes(key)
      ? eachSchema(api, value)
      : asItIs.includes(key)
        ? value
        : jsonSchemaOf(api, value);
  }
  if (Array.isArray(converted.required)) {
    // The service sets read-only fields; requests omit them.
    const isReadOnly = (name: unknown) => deref(api, record(kept.properties)[String(name)]).readOnly === true;
    converted.required = converted.required.filter((name) => !isReadOnly(name));
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
function withDefinitions(input: JsonRecord, api: JsonRecord): JSONSchema7 {
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
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~'));
  return keys.reduce<Json>((at, key) => (Array.isArray(at) ? at[Number(key)] : record(at)[key]) ?? {}, api);
}

/** Follows a value's references to the object that they point to. */
export function deref(api: JsonRecord, value: Json | undefined): JsonRecord {
  let found = record(value);
  for (let hops = 0; hops < 20 && typeof found.$ref === 'string'; hops += 1) found = record(resolved(api, found.$ref));
  return found;
}

/** Returns the value if it is an object, otherwise an empty object. */
export function record(value: Json | undefined): JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

export function list(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}
