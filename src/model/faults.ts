import {
  AISDKError,
  APICallError,
  EmptyResponseBodyError,
  InvalidArgumentError,
  InvalidPromptError,
  LoadAPIKeyError,
  LoadSettingError,
  NoSuchModelError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type { Fault, FaultKind } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
import { redact } from '../observe/redact.ts';
import { headOf } from '../text.ts';

const messageBytes = 2_000;

/**
 * Classifies once what a provider, or the way to it, threw or streamed as an error (P-1). `now` is epoch ms, for a
 * Retry-After that is a date. By what happened, not by the SDK's word on whether to retry.
 */
export function classifyFault(error: unknown, now: number, secrets: readonly string[] = []): Fault {
  const status = statusOf(error);
  return {
    kind: kindOf(error, status),
    message: headOf(redact(describe(error), secrets), messageBytes),
    status,
    retryAfterMs: retryAfterMs(headersOf(error), now),
  };
}

export function timeoutFault(message: string): Fault {
  return { kind: 'timeout', message, status: null, retryAfterMs: null };
}

function kindOf(error: unknown, status: number | null): FaultKind {
  if (LoadAPIKeyError.isInstance(error) || LoadSettingError.isInstance(error)) return 'auth';
  if (
    NoSuchModelError.isInstance(error) ||
    InvalidPromptError.isInstance(error) ||
    InvalidArgumentError.isInstance(error) ||
    UnsupportedFunctionalityError.isInstance(error)
  ) {
    return 'invalid_request';
  }
  if (EmptyResponseBodyError.isInstance(error)) return 'network';
  const words = wordsOf(error);
  const named = kindByName(words);
  if (status !== null && status >= 400) return kindByStatus(status, named);
  if (named !== null) return named;
  if (isNetworkError(error)) return 'network';
  if (isTimeout(error)) return 'timeout';
  return 'server';
}

function kindByStatus(status: number, named: FaultKind | null): FaultKind {
  if (named === 'quota' || named === 'content_filter') return named;
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

/** What providers call their errors, in a body or in the middle of a stream, where there is no status. */
const names: readonly [RegExp, FaultKind][] = [
  [/insufficient_quota|billing|credit balance|quota_exceeded|exceeded your current quota|payment_required/, 'quota'],
  [/content_filter|content_policy|responsibleai/, 'content_filter'],
  [/rate_limit|too_many_requests|resource_exhausted/, 'rate_limited'],
  [/authentication_error|permission_error|invalid_api_key|unauthorized/, 'auth'],
  [/overloaded|server_error|api_error|internal_error|service_unavailable/, 'server'],
  [/timeout_error|deadline_exceeded/, 'timeout'],
  [/invalid_request|not_found_error|model_not_found|context_length/, 'invalid_request'],
];

function kindByName(words: string): FaultKind | null {
  return names.find(([pattern]) => pattern.test(words))?.[1] ?? null;
}

function wordsOf(error: unknown): string {
  if (APICallError.isInstance(error)) return (error.responseBody ?? '').slice(0, 10_000).toLowerCase();
  if (error instanceof Error) {
    return AISDKError.isInstance(error) && error.cause !== undefined ? bodyOf(error.cause) : '';
  }
  return bodyOf(error);
}

function bodyOf(value: unknown): string {
  return typeof value === 'string' ? value.toLowerCase() : describe(value).toLowerCase();
}

const networkCodes =
  /^(ECONN|ENOTFOUND|EAI_AGAIN|EPIPE|EHOST|ENETUNREACH|UND_ERR_(SOCKET|CONNECT|CLOSED|ABORTED|DESTROYED)|ERR_(TLS|SSL)|CERT_|DEPTH_ZERO|UNABLE_TO)/;

/** A failure of the connection, anywhere in the chain of causes: by its code, or by what fetch says of it. */
function isNetworkError(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      networkCodes.test(codeOf(cause)) ||
      /fetch failed|failed to fetch|terminated|cannot connect|socket|closed|ended without/i.test(cause.message),
  );
}

function isTimeout(error: unknown): boolean {
  return causesOf(error).some(
    (cause) => /^(ETIMEDOUT|UND_ERR_(HEADERS|BODY)_TIMEOUT)$/.test(codeOf(cause)) || cause.name === 'TimeoutError',
  );
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && !causes.includes(cause); cause = cause.cause) causes.push(cause);
  return causes;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function statusOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null) return null;
  return 'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : null;
}

function headersOf(error: unknown): Record<string, string> {
  return APICallError.isInstance(error) ? (error.responseHeaders ?? {}) : {};
}

/** Retry-After in ms, in seconds, or as a date (P-3); null when the provider did not say, or said nonsense. */
export function retryAfterMs(headers: Record<string, string>, now: number): number | null {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
  const inMs = Number.parseFloat(lower.get('retry-after-ms') ?? '');
  if (Number.isFinite(inMs)) return Math.max(0, Math.ceil(inMs));
  const text = lower.get('retry-after')?.trim() ?? '';
  if (/^\d+(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1_000);
  const date = text === '' ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** One sentence of what went wrong: the provider's own words where it has some. */
function describe(error: unknown): string {
  if (error instanceof Error) {
    const cause = error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : null;
    return cause === null || error.message.includes(cause) ? error.message : `${error.message}: ${cause}`;
  }
  if (typeof error === 'object' && error !== null) {
    const inner = 'error' in error ? error.error : error;
    if (typeof inner === 'object' && inner !== null && 'message' in inner && typeof inner.message === 'string') {
      const name =
        'type' in inner && typeof inner.type === 'string' ? inner.type : 'code' in inner ? String(inner.code) : '';
      return name === '' ? inner.message : `${name}: ${inner.message}`;
    }
  }
  return messageOf(error);
}
