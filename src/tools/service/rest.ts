import type { JSONSchema7 } from '@ai-sdk/provider';
import { jsonSchema, tool } from '@ai-sdk/provider-utils';
import type { FlexibleSchema } from 'ai';
import { z } from 'zod';
import { type HttpPolicy, type HttpResponse, policyShape, shownUrl } from '../../http/http-policy.ts';
import { check } from '../../input/check.ts';
import { expected, given, messageOf, PawlError, shown, unexpected } from '../../input/errors.ts';
import { onNode } from '../../input/on-node.ts';
import { aFunction, flag, headersShape, text } from '../../input/shapes.ts';
import { lazily } from '../../platform/lazily.ts';
import { exactJson } from '../../platform/plain-json.ts';
import type { AnySchema } from '../../schema/schema.ts';
import { secretsInQuery, secretsNamed } from '../../secrets/credentials.ts';
import { withoutSecrets } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { withSecrets } from '../../secrets/tool-secrets.ts';
import { safeWrittenLength, withoutWrittenSecrets } from '../../secrets/written-secrets.ts';
import { ToolError } from '../../vocabulary/tool-error.ts';
import type { LocalTool } from '../local.ts';
import { success } from '../result.ts';
import { authorize, checkAuth, type RestAuth, secretsOfAuth } from './rest-auth.ts';

type RestInput = Record<string, unknown>;

/** `Input` is what the functions get: the values of the schema, or of a plain JSON Schema any. */
export type RestToolOptions<Input = RestInput> = HttpPolicy & {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Each `{name}` in it is replaced with the input field of that name. */
  url: string;
  description?: string;
  /** The schema of the input, which must be an object. */
  input: FlexibleSchema<Input> | JSONSchema7;
  headers?: Record<string, string> | ((input: Input) => Record<string, string>);
  /**
   * The body. Default: the input fields that are not in the URL, as JSON; GET, HEAD and DELETE send them in the query.
   * Strings, bytes, `FormData` and `URLSearchParams` are sent as they are, anything else as JSON.
   */
  body?: (input: Input) => unknown;
  auth?: RestAuth;
  needsApproval?: boolean;
  /**
   * Whether a call that a crash interrupted is sent again (D-4). Default: true for GET and HEAD. Other methods always send
   * the header `Idempotency-Key`, the same for both requests (D-7).
   */
  idempotent?: boolean;
};

/** The request that a call sends. The two kinds of REST tool build it from the input in different ways. */
export type RestCall = {
  url: URL;
  headers: Record<string, string>;
  body: string | Uint8Array | FormData | null;
};

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const optionsSchema = lazily(() =>
  z.strictObject({
    method: z.enum(methods, { error: `one of ${methods.join(', ')}` }),
    url: z.string({ error: 'an http or https URL, with {name} for fields of the input' }),
    description: text.optional(),
    // ArkType's are functions.
    input: z.custom((input) => Object(input) === input, { error: 'the schema of an object' }),
    headers: z.unknown().optional(),
    body: aFunction.optional(),
    auth: z.unknown().optional(),
    needsApproval: flag.optional(),
    idempotent: flag.optional(),
    ...policyShape,
  } satisfies Record<keyof RestToolOptions, z.ZodType>),
);

/**
 * Creates a tool that calls an HTTP service. Statuses of 400 and above become failed results with status and
 * body. Throws `invalid_tool` for invalid options.
 */
export function restTool<Input = RestInput>(options: RestToolOptions<Input>): LocalTool {
  check(optionsSchema(), options, '', 'invalid_tool', 'options');
  if (options.headers !== undefined && typeof options.headers !== 'function')
    check(headersShape(z.string()), options.headers, 'headers', 'invalid_tool');
  const { method, url, description = `${method} ${url.split('?')[0]}`, input, auth, needsApproval = false } = options;
  const probe = url.replace(/\{[^{}]*\}/g, 'x');
  if (!URL.canParse(probe) || !['http:', 'https:'].includes(new URL(probe).protocol)) {
    throw unexpected('invalid_tool', 'url', url, 'an http or https URL, with {name} for fields of the input');
  }
  if ((method === 'GET' || method === 'HEAD') && options.body !== undefined) {
    throw new PawlError('invalid_tool', `body cannot be used: a ${method} request has no body.`);
  }
  if (new URL(probe).username !== '' || new URL(probe).password !== '') {
    throw new PawlError(
      'invalid_tool',
      'url must not contain credentials, which would be shown to the model; pass them in auth.',
    );
  }
  if (/^[^:]+:\/\/[^/?#]*[{}]/.test(url) && options.allowedHosts === undefined) {
    throw new PawlError(
      'invalid_tool',
      `allowedHosts is required, since the input chooses the host in url; got url ${given(url)}.`,
    );
  }
  const fixed = typeof options.headers === 'object' ? options.headers : {};
  return restLike({
    method,
    description,
    input,
    auth,
    secrets: [...secretsInQuery(probe), ...secretsNamed(fixed)],
    policy: options,
    needsApproval,
    idempotent: options.idempotent,
    call: (given) => callOf(options as RestToolOptions, given),
  });
}

export type RestLike = {
  method: string;
  description: string;
  input: AnySchema;
  auth: RestAuth | undefined;
  /** The credentials that are neither in `auth` nor in the headers of a call. */
  secrets: readonly string[];
  policy: HttpPolicy;
  needsApproval: boolean;
  idempotent?: boolean | undefined;
  call: (input: RestInput) => RestCall;
};

/** Builds a tool around a call: adds the credentials and turns the response into a result. */
export function restLike(options: RestLike): LocalTool {
  const { method, description, input, auth, policy, needsApproval, call } = options;
  const isRead = method === 'GET' || method === 'HEAD';
  const isIdempotent = options.idempotent ?? isRead;
  checkAuth(auth);
  const ownSecrets = [...secretsOfAuth(auth), ...options.secrets];
  const made = tool({
    description,
    inputSchema: asFlexible(input),
    needsApproval,
    execute: async (given: RestInput, { abortSignal, ...context }) => {
      const { url, headers: own, body } = call(given);
      const sendsKey = !isRead && 'idempotencyKey' in context;
      const headers = { ...(sendsKey && { 'idempotency-key': String(context.idempotencyKey) }), ...own };
      const secrets = writtenSecrets([...ownSecrets, ...secretsNamed(headers)].filter(isLong));
      const clean = (text: string) => withoutSecrets(text, secrets);
      authorize(auth, url, headers);
      const signal = abortSignal ?? new AbortController().signal;
      const { httpRequest } = await onNode('A REST tool', () => import('../../http/http-request.ts'));
      const response = await httpRequest({ method, url, headers, body, signal }, policy).catch((error) => {
        throw signal.aborted ? error : new ToolError(clean(messageOf(error)));
      });
      const content = contentOf(response, secrets);
      if (response.status < 400) return success(content);
      const { status, statusText } = response;
      throw new ToolError(clean(`${method} ${shownUrl(url)} answered ${status} ${statusText}`.trim()), {
        status,
        body: JSON.parse(JSON.stringify(content ?? null)),
      });
    },
  });
  return withSecrets({ ...made, idempotent: isIdempotent }, ownSecrets);
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
  const odd = own.find(([, value]) => typeof value !== 'string' && value !== undefined);
  if (odd !== undefined) throw new ToolError(expected(`headers.${odd[0]}`, odd[1], 'a string'));
  const named = Object.fromEntries(
    own.flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), value]])),
  );
  const withHeaders = { accept: 'application/json, text/*;q=0.9, */*;q=0.8', ...named };
  if (body === undefined && ['GET', 'HEAD', 'DELETE'].includes(method)) {
    for (const [name, value] of given)
      for (const one of [value].flat()) url.searchParams.append(name, parameterText(one));
    return { url, headers: withHeaders, body: null };
  }
  return { url, ...encoded(body === undefined ? Object.fromEntries(rest) : body(input), withHeaders) };
}

/** Encodes a body for the wire: as JSON, unless it is a text, bytes or a form. Throws for what JSON would lose. */
export function encoded(body: unknown, headers: Record<string, string>): Pick<RestCall, 'headers' | 'body'> {
  if (body === undefined || body === null) return { headers, body: null };
  if (typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData) return { headers, body };
  if (body instanceof ArrayBuffer) return { headers, body: new Uint8Array(body) };
  if (ArrayBuffer.isView(body)) return { headers, body: new Uint8Array(body.buffer, body.byteOffset, body.byteLength) };
  if (body instanceof URLSearchParams) {
    return { headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }, body: String(body) };
  }
  const json = JSON.stringify(body, (_, value) => {
    if (!isLost(value)) return value;
    const kind = typeof value === 'object' ? Object.prototype.toString.call(value) : shown(value);
    throw new ToolError(`\`body\` must return a text, bytes, a form or a value that JSON holds; it holds ${kind}.`);
  });
  return { headers: { 'content-type': 'application/json', ...headers }, body: json };
}

/** Whether JSON has nothing for a value: a `Map`, a promise, a function, `NaN`. */
function isLost(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return typeof value === 'function' || typeof value === 'symbol';
  const isPlain = Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
  return !isPlain && (ArrayBuffer.isView(value) || Object.keys(value).length === 0);
}

/** Fills in the `{name}` placeholders of a template, each encoded so that it cannot alter the rest of the URL. */
export function filled(template: string, input: RestInput): { text: string; used: Set<string> } {
  const used = new Set<string>();
  const query = template.indexOf('?');
  const text = template.replace(/\{([^{}]+)\}/g, (_, name: string, at: number) => {
    used.add(name);
    const value = Object.hasOwn(input, name) ? input[name] : undefined;
    const part = value === undefined || value === null ? '' : parameterText(value);
    // Dots would walk up the path, and an empty part would address another resource.
    if (['', '.', '..'].includes(part) && (query === -1 || at < query)) {
      throw new ToolError(`${name} is part of the URL and must not be ${shown(value)}.`);
    }
    return encodeURIComponent(part);
  });
  return { text, used };
}

export function parameterText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Whether a secret is long enough to redact; redacting shorter ones would mangle other words. */
function isLong(secret: string): boolean {
  return secret.length >= 6;
}

/** Decodes the bytes in the response's charset, or as UTF-8 if it is unknown. */
function decoded(bytes: Uint8Array, contentType: string): string {
  const charset = /charset="?([^\s;"]+)/i.exec(contentType)?.[1];
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}

function contentOf({ contentType, bytes, cut }: HttpResponse, secrets: readonly string[]): unknown {
  if (bytes.length === 0) return 'The response has no content.';
  const isText =
    /^$|^text\/|json|xml|javascript|x-www-form-urlencoded|yaml/i.test(contentType) &&
    (/charset=/i.test(contentType) || !bytes.subarray(0, 8_000).includes(0));
  if (!isText) return `[${contentType || 'binary content'}, ${bytes.length} bytes${cut ? ' or more' : ''}]`;
  const whole = decoded(bytes, contentType);
  if (cut) {
    // A character that was cut in two does not hide that a secret was, too.
    const read = whole.replace(/\uFFFD$/, '');
    const text = withoutWrittenSecrets(read.slice(0, safeWrittenLength(read, secrets)), secrets);
    return `${text}\n[… the response was truncated after ${bytes.length} bytes …]`;
  }
  if (!/json/i.test(contentType)) return withoutWrittenSecrets(whole, secrets);
  try {
    return withoutSecrets(exactJson(whole), secrets);
  } catch {
    return withoutWrittenSecrets(whole, secrets);
  }
}
