import type { Slug } from './slugs.ts';

/**
 * What a provider, or the way to it, did wrong (P-1): classified once, at the adapter. A fault is an outcome of the
 * model effect, never a throw.
 */
export const faultKinds = [
  'auth',
  'quota',
  'rate_limited',
  'timeout',
  'network',
  'server',
  'invalid_request',
  'content_filter',
] as const;

export type FaultKind = (typeof faultKinds)[number];

export type Fault = {
  kind: FaultKind;
  /** One sentence for a person, without secrets. */
  message: string;
  /** HTTP status, where there was one. */
  status: number | null;
  /** How long the provider asked us to stay away, in ms from the delivery; null where it did not say. */
  retryAfterMs: number | null;
};

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
    case 'content_filter':
      return 'content_filtered';
    default:
      return kind satisfies never;
  }
}
