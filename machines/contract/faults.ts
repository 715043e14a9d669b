import type { TooLong } from './context.ts';
import type { Slug } from './slugs.ts';

/**
 * The kinds of provider and network failure (P-1). `unavailable`: nothing was sent, since the model cannot be had here: a
 * package, a key or the model itself is missing. `malformed_call`: the provider could not read a tool call of the model,
 * which is the model's mistake. `interrupted`: the process died while the request was in flight (D-4).
 * `denied` and `unchecked`: `checkReply` refused the reply, or failed on it, so it is withheld (G-2).
 * `context_length`: the request was too long for the model; what can be left out is, and it is tried again.
 * The adapter classifies each failure once. A fault is an outcome of the model effect; it is never thrown.
 */
export const faultKinds = [
  'auth',
  'quota',
  'rate_limited',
  'timeout',
  'network',
  'server',
  'invalid_request',
  'context_length',
  'content_filter',
  'malformed_call',
  'unavailable',
  'interrupted',
  'denied',
  'unchecked',
] as const;

export type FaultKind = (typeof faultKinds)[number];

export type Fault = {
  kind: FaultKind;
  /** One human-readable sentence, without secrets. */
  message: string;
  /** HTTP status; null if there was none. */
  status: number | null;
  /** The provider's retry delay in ms, counted from the delivery; null if it sent none. */
  retryAfterMs: number | null;
  /** What the provider says about the size of a request that was too long (`context_length`). */
  tooLong?: TooLong;
  /** The piece of an invalid request that the provider refused and a stub can replace. */
  piece?: RefusedPiece;
};

/**
 * A piece of a request that its provider refused: the result of a call, a file of a message by their indices, all files of
 * the conversation for a model that takes none, or the schema of a tool.
 */
export type RefusedPiece =
  | { kind: 'result'; callId: string }
  | { kind: 'file'; message: number; part: number }
  | { kind: 'files' }
  | { kind: 'schema'; tool: string };

export function faultSlug(kind: FaultKind): Slug {
  switch (kind) {
    case 'auth':
      return 'provider_auth';
    case 'quota':
      return 'provider_quota';
    case 'rate_limited':
      return 'rate_limited';
    case 'timeout':
      return 'provider_timeout';
    case 'network':
      return 'network_error';
    case 'server':
      return 'provider_error';
    case 'invalid_request':
      return 'invalid_request';
    case 'context_length':
      return 'context_guard';
    case 'content_filter':
      return 'content_filtered';
    case 'malformed_call':
      return 'malformed_tool_call';
    case 'unavailable':
      return 'target_unavailable';
    case 'interrupted':
      return 'interrupted';
    case 'denied':
      return 'reply_denied';
    case 'unchecked':
      return 'check_failed';
    default:
      return kind satisfies never;
  }
}
