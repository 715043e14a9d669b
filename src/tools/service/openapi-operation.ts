import type { HttpPolicy } from '../../http/http-policy.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { LocalTool } from '../local.ts';
import { inputFromOutside } from './foreign-input.ts';
import { type BodyKind, bodyKind, operationBody } from './openapi-body.ts';
import {
  deref,
  type Json,
  type JsonRecord,
  jsonSchemaOf,
  list,
  orDigits,
  record,
  withDefinitions,
} from './openapi-schema.ts';
import { filledPath, type Parameter, queryPieces, simple } from './openapi-styles.ts';
import { parameterText, type RestCall, restLike } from './rest.ts';
import type { RestAuth } from './rest-auth.ts';

export type ApiOperation = {
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
export function operationTool(given: ApiOperation): LocalTool | null {
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
  for (const { field, schema, content, description } of parameters) {
    // Within JSON, digits as a text would be a text.
    const written = record(jsonSchemaOf(api, content === null ? orDigits(api, schema) : schema));
    properties[field] = { ...written, ...(description !== '' && { description }) };
  }
  if (bodySchema !== null) properties.body = /xml/.test(bodyType ?? '') ? xmlBody : jsonSchemaOf(api, bodySchema);
  const required = [
    ...parameters.filter((one) => one.required).map((one) => one.field),
    ...(bodySchema !== null && bodyRequired ? ['body'] : []),
  ];
  const kind = bodyKind(api, bodyType ?? null, record(content[bodyType ?? ''] ?? {}));
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
    call: (values) => callOf(`${baseUrl}${path}`, parameters, kind, values),
  });
}

/**
 * Collects the parameters; the operation's own override those of its path. Parameters with the same name in different
 * places each get a field.
 */
function parametersOf(declared: readonly JsonRecord[]): Parameter[] {
  const found: Parameter[] = [];
  for (const declaration of declared) {
    const { name, in: where, required, style, explode, schema, description } = declaration;
    if (typeof name !== 'string' || typeof where !== 'string') continue;
    // The caller must not set these headers.
    if (where === 'header' && ['accept', 'content-type', 'authorization'].includes(name.toLowerCase())) continue;
    if (found.some((one) => one.name === name && one.in === where)) continue;
    const usual = where === 'query' || where === 'cookie' ? 'form' : 'simple';
    const kind = typeof style === 'string' ? style : usual;
    const [content] = Object.entries(record(declaration.content ?? {}));
    found.push({
      name,
      in: where,
      field: found.some((one) => one.field === name) || name === 'body' ? `${name}_${where}` : name,
      required: required === true || where === 'path',
      content: content?.[0] ?? null,
      style: kind,
      explode: typeof explode === 'boolean' ? explode : kind === 'form',
      allowReserved: declaration.allowReserved === true,
      schema: record(schema ?? record(content?.[1] ?? {}).schema ?? {}),
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
  const written = new Map(present.map((one) => [one, writtenOf(one, values[one.field])]));
  const url = new URL(
    filledPath(
      template,
      [...written].filter(([one]) => one.in === 'path'),
    ),
  );
  const headers: Record<string, string> = { accept: 'application/json, */*;q=0.8' };
  const query: string[] = [url.search];
  const cookies: string[] = [];
  for (const [parameter, value] of written) {
    if (parameter.in === 'query') query.push(...queryPieces(parameter, value));
    else if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = headerOf(parameter, value);
    else if (parameter.in === 'cookie') cookies.push(`${parameter.name}=${encodeURIComponent(simple(value, false))}`);
  }
  url.search = query.filter((piece) => piece !== '').join('&');
  if (cookies.length > 0) headers.cookie = cookies.join('; ');
  return { url, ...operationBody(body, values.body, headers) };
}

/** Returns what a parameter's style writes: its value, or a text if the document gives it a media type of its own. */
function writtenOf({ content }: Parameter, value: unknown): unknown {
  if (content === null) return value;
  return /json/i.test(content) ? JSON.stringify(value) : parameterText(value);
}

function headerOf({ field, explode }: Parameter, value: unknown): string {
  const text = simple(value, explode).replace(/[\r\n]+/g, ' ');
  if ([...text].every((one) => one <= '\xFF')) return text;
  throw new ToolError(`${field} goes into a header, which holds no characters outside of Latin-1.`);
}
