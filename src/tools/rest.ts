import type { JSONSchema7 } from '@ai-sdk/provider';
import { type FlexibleSchema, jsonSchema, tool } from 'ai';
import { z } from 'zod';
import { check } from '../check.ts';
import { messageOf, PawlError, shown } from '../errors.ts';
import type { AnySchema } from '../model/schema.ts';
import { secretsNamed } from '../observe/redact.ts';
import { aFunction } from '../option-schemas.ts';
import { flag, type HttpPolicy, type HttpResponse, httpRequest, policyShape, shownUrl } from './http-request.ts';
import type { LocalTool } from './local.ts';
import { success, ToolError } from './result.ts';

/** Credentials of a service. A key goes into the header or query parameter `name`. */
export type RestAuth =
  | { bearer: string }
  | { basic: { username: string; password: string } }
  | { key: string; name: string; in?: 'header' | 'query' };

type RestInput = Record<string, unknown>;

export type RestToolOptions = HttpPolicy & {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Each `{name}` in it is filled from the input's field of that name. */
  url: string;
  description?: string;
  /** The schema of the input, an object. */
  input: AnySchema;
  headers?: Record<string, string> | ((input: RestInput) => Record<string, string>);
  /**
   * The body. Default: what of the input is not in the URL, as JSON; of GET, HEAD and DELETE it becomes the query. A value
   * that is neither a string nor bytes is sent as JSON.
   */
  body?: (input: RestInput) => unknown;
  auth?: RestAuth;
  needsApproval?: boolean;
};

/** What a call sends; the two kinds of REST tools differ in how they make it of the input. */
export type RestCall = {
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array | FormData | null;
};

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const optionsSchema = z.strictObject({
  method: z.enum(methods, { error: `one of ${methods.join(', ')} is allowed` }),
  url: z.string({ error: 'an http or https URL is allowed, with {name} for fields of the input' }),
  description: z.string({ error: 'a text is allowed' }).optional(),
  input: z.unknown().refine((input) => input !== undefined, { error: 'the schema of an object is needed' }),
  headers: z
    .union([z.record(z.string(), z.string()), aFunction], {
      error: 'texts by name, or a function that makes them, are allowed',
    })
    .optional(),
  body: aFunction.optional(),
  auth: z.unknown().optional(),
  needsApproval: flag,
  ...policyShape,
} satisfies Record<keyof RestToolOptions, z.ZodType>);

/**
 * A tool that asks an HTTP service. An answer of 400 and above is a failed result with status and body. Throws
 * `invalid_tool` for options that cannot be.
 */
export function restTool(options: RestToolOptions): LocalTool {
  check(optionsSchema, options, '', 'invalid_tool');
  const { method, url, description = `${method} ${url.split('?')[0]}`, input, auth, needsApproval = false } = options;
  const probe = url.replace(/\{[^{}]*\}/g, 'x');
  if (!URL.canParse(probe) || !/^https?:$/.test(new URL(probe).protocol)) {
    throw new PawlError(
      'invalid_tool',
      `url is ${shown(url)}: an http or https URL is allowed, with {name} for fields of the input.`,
    );
  }
  if ((method === 'GET' || method === 'HEAD') && options.body !== undefined) {
    throw new PawlError('invalid_tool', `body is a function: a ${method} request has none.`);
  }
  if (new URL(probe).username !== '' || new URL(probe).password !== '') {
    throw new PawlError(
      'invalid_tool',
      'url holds credentials, which would be shown to the model: auth is the place for them.',
    );
  }
  if (/^[^:]+:\/\/[^/?#]*[{}]/.test(url) && options.allowedHosts === undefined) {
    throw new PawlError(
      'invalid_tool',
      `url is ${shown(url)}: a model may choose the host only among allowedHosts, and they are not given.`,
    );
  }
  return restLike({
    method,
    description,
    input,
    auth,
    policy: options,
    needsApproval,
    call: (given) => callOf(options, given),
  });
}

export type RestLike = {
  method: string;
  description: string;
  input: AnySchema;
  auth: RestAuth | undefined;
  policy: HttpPolicy;
  needsApproval: boolean;
  call: (input: RestInput) => RestCall;
};

/** The tool around a call: credentials in, answer out. */
export function restLike({ method, description, input, auth, policy, needsApproval, call }: RestLike): LocalTool {
  checkAuth(auth);
  const ownSecrets = secretsOfAuth(auth);
  return tool({
    description,
    inputSchema: asFlexible(input),
    needsApproval,
    execute: async (given: RestInput, { abortSignal }) => {
      const { url, headers, body } = call(given);
      const secrets = [...ownSecrets, ...secretsNamed(headers).filter(isLong)].flatMap(asWritten);
      const clean = (text: string) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
      authorize(auth, url, headers);
      const signal = abortSignal ?? new AbortController().signal;
      const response = await httpRequest({ method, url, headers, body, signal }, policy).catch((error) => {
        throw signal.aborted ? error : new ToolError(clean(messageOf(error)));
      });
      const content = contentOf(response, clean);
      if (response.status < 400) return success(content);
      const { status, statusText } = response;
      throw new ToolError(clean(`${method} ${shownUrl(url)} answered ${status} ${statusText}`.trim()), {
        status,
        body: JSON.parse(JSON.stringify(content ?? null)),
      });
    },
  });
}

function asFlexible(input: AnySchema): FlexibleSchema<RestInput> {
  const isPlain = typeof input === 'object' && !('~standard' in input) && !('jsonSchema' in input);
  return (isPlain ? jsonSchema(input as JSONSchema7) : input) as FlexibleSchema<RestInput>;
}

function callOf({ method, url: template, headers, body }: RestToolOptions, input: RestInput): RestCall {
  const { text, used } = filled(template, input);
  const url = new URL(text);
  const rest = Object.entries(input).filter(([name, value]) => !used.has(name) && value !== undefined);
  const given = rest.filter(([, value]) => value !== null);
  const own = Object.entries(typeof headers === 'function' ? headers(input) : (headers ?? {}));
  const named = Object.fromEntries(own.map(([name, value]) => [name.toLowerCase(), value]));
  const withHeaders = { accept: 'application/json, text/*;q=0.9, */*;q=0.8', ...named };
  if (body === undefined && ['GET', 'HEAD', 'DELETE'].includes(method)) {
    for (const [name, value] of given) for (const one of [value].flat()) url.searchParams.append(name, textOf(one));
    return { url, headers: withHeaders, body: null };
  }
  return { url, ...encoded(body === undefined ? Object.fromEntries(rest) : body(input), withHeaders) };
}

/** A body as it goes over the wire: JSON, but for texts and bytes. */
export function encoded(
  body: unknown,
  headers: Record<string, string>,
): { headers: Record<string, string>; body: string | Uint8Array | null } {
  if (body === undefined || body === null) return { headers, body: null };
  if (typeof body === 'string' || body instanceof Uint8Array) return { headers, body };
  return { headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) };
}

/** The template with its `{name}`s filled in, each encoded so that it stays in its place. */
export function filled(template: string, input: RestInput): { text: string; used: Set<string> } {
  const used = new Set<string>();
  const text = template.replace(/\{([^{}]+)\}/g, (_, name: string) => {
    used.add(name);
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    const part = value === undefined || value === null ? '' : textOf(value);
    // A path would walk up at dots, and a missing part would ask for something else.
    if (part === '' || part === '.' || part === '..') {
      throw new ToolError(`${name} is ${shown(value)}: it stands in the address and may not be that.`);
    }
    return encodeURIComponent(part);
  });
  return { text, used };
}

export function textOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}

/** Puts the credentials where they belong. */
function authorize(auth: RestAuth | undefined, url: URL, headers: Record<string, string>): void {
  if (auth === undefined) return;
  if ('bearer' in auth) headers.authorization = `Bearer ${auth.bearer}`;
  else if ('basic' in auth) headers.authorization = `Basic ${basicOf(auth.basic)}`;
  else if (auth.in === 'query') url.searchParams.set(auth.name, auth.key);
  else headers[auth.name.toLowerCase()] = auth.key;
}

function basicOf({ username, password }: { username: string; password: string }): string {
  return Buffer.from(`${username}:${password}`).toString('base64');
}

/** A credential that is not there would be found missing by the service, at the first call. */
function checkAuth(auth: RestAuth | undefined): void {
  if (auth === undefined) return;
  const parts = Object.entries('basic' in auth ? auth.basic : auth);
  const missing = parts.find(([name, value]) => typeof value !== 'string' || (value === '' && name !== 'password'));
  if (missing === undefined && parts.length > 0) return;
  const [name, value] = missing ?? ['bearer, basic or key', undefined];
  throw new PawlError('invalid_tool', `auth.${name} is ${shown(value)}: a text that is not empty is allowed.`);
}

/** A service may repeat what it was sent. */
function secretsOfAuth(auth: RestAuth | undefined): string[] {
  if (auth === undefined) return [];
  const secrets =
    'bearer' in auth ? [auth.bearer] : 'basic' in auth ? [basicOf(auth.basic), auth.basic.password] : [auth.key];
  return secrets.filter(isLong);
}

/** Shorter ones would tear other words apart. */
function isLong(secret: string): boolean {
  return secret.length >= 6;
}

/** As it is, and as it stands in an address or in JSON. */
function asWritten(secret: string): string[] {
  return [...new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])];
}

/** In the charset that the answer names, if it is one. */
function decoded(bytes: Buffer, contentType: string): string {
  const [, charset = 'utf-8'] = /charset="?([^\s;"]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function contentOf({ contentType, bytes, cut }: HttpResponse, clean: (text: string) => string): unknown {
  if (bytes.length === 0) return 'The answer has no content.';
  const isText =
    /^$|^text\/|json|xml|javascript|x-www-form-urlencoded|yaml/i.test(contentType) &&
    (/charset=/i.test(contentType) || !bytes.subarray(0, 8_000).includes(0));
  if (!isText) return `[${contentType || 'binary content'}, ${bytes.length} bytes${cut ? ' or more' : ''}]`;
  const text = clean(decoded(bytes, contentType));
  if (cut) return `${text}\n[… the answer was longer: ${bytes.length} bytes of it were read …]`;
  if (!/json/i.test(contentType)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
