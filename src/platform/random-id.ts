import { builtin } from './node.ts';

/**
 * Returns a random UUID. On Node it comes from `node:crypto`, which `fetch` has loaded: the global `crypto` would load Web
 * Crypto, which takes a tenth of a first session's time.
 */
export function randomId(): string {
  return (builtin('node:crypto') ?? crypto).randomUUID();
}
