import { APICallError } from '@ai-sdk/provider';
import type { Fault } from '../../../machines/index.ts';
import type { ThrownError } from './exchange.ts';

/** Makes the error again that a model threw. */
export function errorOf({ message, statusCode, responseBody, headers }: ThrownError): Error {
  if (statusCode === null) return new Error(message);
  return new APICallError({
    ...{ message, statusCode, responseHeaders: headers, url: 'recorded:', requestBodyValues: {} },
    ...(responseBody !== null && { responseBody }),
  });
}

const statuses: Partial<Record<Fault['kind'], number>> = {
  ...{ auth: 401, quota: 402, rate_limited: 429, timeout: 408, server: 500 },
  ...{ invalid_request: 400, context_length: 400, content_filter: 400, malformed_call: 400 },
};
const codes: Partial<Record<Fault['kind'], string>> = {
  ...{ context_length: 'context_length_exceeded', content_filter: 'content_filter', malformed_call: 'tool_use_failed' },
};

/** Returns what a model threw for a recorded fault: an error that is classified as it was. */
export function thrownFor({ kind, message, status, retryAfterMs }: Fault): ThrownError {
  const statusCode = status !== null && status >= 300 ? status : (statuses[kind] ?? null);
  const code = codes[kind];
  return {
    message:
      statusCode === null && !/fetch failed|socket|closed|terminated/i.test(message)
        ? `fetch failed: ${message}`
        : message,
    statusCode,
    responseBody: code === undefined ? null : JSON.stringify({ error: { code, message } }),
    headers: retryAfterMs === null ? {} : { 'retry-after-ms': String(retryAfterMs) },
  };
}
