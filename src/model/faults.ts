import {
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type { Fault, FaultKind } from '../../machines/index.ts';
import { messageOf } from '../input/errors.ts';
import { jsonIn, plainJson } from '../platform/plain-json.ts';
import { headOf } from '../platform/text.ts';
import { redact } from '../secrets/redact.ts';
import { tooLong } from './context-length.ts';

const messageBytes = 2_000;

/**
 * Classifies, once, an error that the provider or the connection threw or streamed (P-1). Ignores the SDK's retry
 * advice and uses only the error itself. `now` (epoch ms) is for Retry-After dates.
 */
export function classifyFault(error: unknown, now: number, secrets: readonly string[] = []): Fault {
  const status = statusOf(error);
  const kind = kindOf(error, status);
  const isTold = kind === 'context_length';
  const length = isTold || kind === 'invalid_request' ? tooLong(saidBy(error).toLowerCase()) : null;
  return {
    kind: length === null ? kind : 'context_length',
    message: headOf(redact(describe(error), secrets), messageBytes),
    status,
    retryAfterMs: retryAfterMs(headersOf(error), now),
    ...(length !== null && { tooLong: length }),
  };
}

/** Returns all that an error says of itself: its message and body, or the JSON of an error part. */
export function saidBy(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(plainJson(error, 1_000)).slice(0, 10_000);
  const body = APICallError.isInstance(error) ? (error.responseBody ?? '').slice(0, 10_000) : '';
  return `${describe(error)} ${body}`;
}

export function timeoutFault(message: string): Fault {
  return { kind: 'timeout', message, status: null, retryAfterMs: null };
}

function kindOf(error: unknown, status: number | null): FaultKind {
  if (LoadAPIKeyError.isInstance(error) || LoadSettingError.isInstance(error)) return 'unavailable';
  if (NoSuchModelError.isInstance(error)) return 'unavailable';
  if (
    InvalidPromptError.isInstance(error) ||
    InvalidArgumentError.isInstance(error) ||
    UnsupportedFunctionalityError.isInstance(error)
  ) {
    return 'invalid_request';
  }
  if (EmptyResponseBodyError.isInstance(error)) return 'network';
  const parts = partsOf(error);
  const codes = codesOf(parts);
  const words = wordsOf(error, parts);
  if (status !== null && status >= 300) return kindByStatus(status, codes, words);
  const named = kindByName(codes === '' ? words : codes);
  if (named !== null) return named;
  const stated = statusIn(parts);
  if (stated !== null) return kindByStatus(stated, codes, words);
  if (isTimeout(error)) return 'timeout';
  if (isNetworkError(error)) return 'network';
  return 'server';
}

/** Detects an exhausted quota by the error code, because rate-limit messages mention quota and billing too. */
function kindByStatus(status: number, codes: string, words: string): FaultKind {
  if (status < 500) {
    if (quotaCodes.test(codes) || /credit balance is too low/.test(words)) return 'quota';
    if (callCodes.test(codes)) return 'malformed_call';
    if (filterCodes.test(codes) || (codes === '' && filterCodes.test(words))) return 'content_filter';
  }
  switch (status) {
    case 401:
    case 403:
      return 'auth';
    case 402:
      return 'quota';
    case 408:
    case 504:
      return 'timeout';
    case 429:
      return 'rate_limited';
    case 409:
    case 425:
      return 'server';
    default:
      return status >= 500 ? 'server' : 'invalid_request';
  }
}

const quotaCodes = /insufficient_quota|insufficient_credits|billing_|quota_exceeded|payment_required/;
const filterCodes = /content_filter|content_policy|responsibleai/;
/** A server that parses the model's tool calls found one that it could not parse. */
const callCodes = /tool_use_failed/;

/** Error names that providers send in a body or mid-stream, where there is no status. */
const names: readonly [RegExp, FaultKind][] = [
  [quotaCodes, 'quota'],
  [filterCodes, 'content_filter'],
  [callCodes, 'malformed_call'],
  [/rate_limit|too_many_requests|resource_exhausted/, 'rate_limited'],
  [/authentication_error|permission_error|permission_denied|invalid_api_key|unauthorized|unauthenticated/, 'auth'],
  [/overloaded|server_error|api_error|internal_error|service_unavailable/, 'server'],
  [/timeout_error|deadline_exceeded/, 'timeout'],
  [/context_length|exceed_context_size/, 'context_length'],
  [/invalid_request|invalid_argument|failed_precondition|not_found/, 'invalid_request'],
];

function kindByName(words: string): FaultKind | null {
  return names.find(([pattern]) => pattern.test(words))?.[1] ?? null;
}

/** Wrappers of an error that are looked into: `[{ "error": { … } }]`, `{ "error": { "error": { … } } }`. */
const mostWrappers = 4;

/** Returns what describes an error within a body: its fields, or its text. */
function errorIn(body: unknown, left = mostWrappers): unknown {
  const inner = Array.isArray(body) ? body[0] : fieldIn(body, ['error', 'errors', 'detail']);
  // FastAPI lists the fields of a request that it refuses, with what they held.
  const isOther = typeof inner !== 'object' || inner === null || 'loc' in inner;
  return isOther || left === 0 ? body : errorIn(inner, left - 1);
}

function fieldIn(body: unknown, names: readonly string[]): unknown {
  if (typeof body !== 'object' || body === null) return undefined;
  const fields = Object.entries(body).filter(([name, value]) => names.includes(name) && Object(value) === value);
  return fields[0]?.[1];
}

/** Returns what describes an error: that of the provider, and what a gateway passes on of another's. */
function partsOf(error: unknown): Record<string, unknown>[] {
  let body: unknown = error;
  if (error instanceof Error) body = APICallError.isInstance(error) ? jsonIn(error.responseBody ?? '') : error.cause;
  const own = errorIn(body);
  const inner = [fieldIn(own, ['innererror', 'inner_error'])];
  const raw = Object(fieldIn(own, ['metadata'])).raw;
  if (typeof raw === 'string') inner.push(errorIn(jsonIn(raw) ?? { message: raw }));
  return [own, ...inner].flatMap((one) => (typeof one === 'object' && one !== null ? [{ ...one }] : []));
}

/** Joins the `code`, `type` and `status` fields that are strings; returns an empty string if there are none. */
function codesOf(parts: readonly Record<string, unknown>[]): string {
  const found = parts.flatMap(({ code, type, status }) => [code, type, status]);
  return found
    .filter((one) => typeof one === 'string')
    .join(' ')
    .trim()
    .toLowerCase();
}

/** Returns the HTTP status that gateways send as the `code` of an error in a stream; null if that is no error status. */
function statusIn([own]: readonly Record<string, unknown>[]): number | null {
  const status = typeof own?.code === 'string' ? Number(own.code) : own?.code;
  // 499 says that a connection was closed.
  return typeof status === 'number' && status >= 400 && status !== 499 ? status : null;
}

/** Returns what is said about the error, in lower case. Other fields may quote the prompt, and a success the model. */
function wordsOf(error: unknown, parts: readonly Record<string, unknown>[]): string {
  if (APICallError.isInstance(error)) {
    const { statusCode = 0, responseBody = '' } = error;
    const body = jsonIn(responseBody);
    const said = parts.flatMap(({ message, error: text, detail }) => [message, text, detail]);
    if (statusCode >= 300 && typeof (body ?? '') === 'string') said.push(responseBody.slice(0, 10_000));
    return said
      .filter((one) => typeof one === 'string')
      .join(' ')
      .toLowerCase();
  }
  return error instanceof Error ? '' : describe(error).toLowerCase();
}

const networkCodes =
  /^(ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOST|ENETUNREACH|UND_ERR_(SOCKET|CLOSED|ABORTED|DESTROYED)|ERR_(TLS|SSL)|CERT_|DEPTH_ZERO|UNABLE_TO)/;

/** Finds a connection failure anywhere in the chain of causes, by its code or by fetch's message. */
function isNetworkError(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      networkCodes.test(codeOf(cause)) ||
      /fetch failed|failed to fetch|terminated|cannot connect|socket|closed|ended without/i.test(cause.message),
  );
}

function isTimeout(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      /^(ETIMEDOUT|UND_ERR_(HEADERS|BODY|CONNECT)_TIMEOUT)$/.test(codeOf(cause)) || cause.name === 'TimeoutError',
  );
}

/** The chain of causes, up to one whose message quotes a reply that could not be read. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  const quotes = (cause: Error) => JSONParseError.isInstance(cause) || TypeValidationError.isInstance(cause);
  for (let cause = error; cause instanceof Error && !causes.includes(cause) && !quotes(cause); cause = cause.cause)
    causes.push(cause);
  return causes;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null;
  if ('statusCode' in error && typeof error.statusCode === 'number') return error.statusCode;
  // Other clients use `status`.
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : null;
}

/** Returns the headers of a response that was an error; none for another error. */
export function headersOf(error: unknown): Record<string, string> {
  return APICallError.isInstance(error) ? (error.responseHeaders ?? {}) : {};
}

/** Returns the delay from Retry-After (ms, seconds or a date) in ms (P-3); null if it is missing or invalid. */
export function retryAfterMs(headers: Record<string, string>, now: number): number | null {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const inMs = Number.parseFloat(lower.get('retry-after-ms') ?? '');
  if (Number.isFinite(inMs)) return atMostAYear(Math.ceil(inMs));
  const text = lower.get('retry-after')?.trim() ?? '';
  // A header sent twice arrives as a list.
  const [, seconds] = /^(\d+(?:\.\d+)?)\s*(?:,|$)/.exec(text) ?? [];
  if (seconds !== undefined) return atMostAYear(Math.ceil(Number(seconds) * 1_000));
  // `Date.parse` finds a date in "wait 3" too.
  const isDate = /^(?=.*[a-z]).*\d:\d\d/i.test(text);
  // An old form of dates has no zone, and means GMT.
  const hasZone = /(?:[a-z)]|[+-]\d\d:?\d\d)$/i.test(text) && !/[ap]m$/i.test(text);
  const zone = /\dT\d/.test(text) ? 'Z' : ' GMT';
  const date = isDate ? Date.parse(hasZone ? text : text + zone) : Number.NaN;
  return Number.isNaN(date) ? null : atMostAYear(date - now);
}

/** Limits a delay to the range from 0 to one year, so that a date can hold it. */
function atMostAYear(ms: number): number {
  return Math.min(Math.max(0, ms), 365 * 24 * 3_600_000);
}

/** Describes the error in one sentence, in the provider's own words if it sent any. */
function describe(error: unknown): string {
  if (error instanceof Error && typeof error.message === 'string') {
    const cause = error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : null;
    return cause === null || error.message.includes(cause) ? error.message : `${error.message}: ${cause}`;
  }
  if (typeof error === 'object' && error !== null) {
    const inner = 'error' in error ? error.error : error;
    if (typeof inner === 'object' && inner !== null && 'message' in inner && typeof inner.message === 'string') {
      const { type, code } = inner as { type?: unknown; code?: unknown };
      const name = [type, code].find((one) => (typeof one === 'string' && one !== '') || typeof one === 'number');
      return name === undefined ? inner.message : `${name}: ${inner.message}`;
    }
  }
  return messageOf(error);
}
