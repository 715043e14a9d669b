import { builtin } from '../platform/node.ts';
import { boundedFetch } from './bounded-fetch.ts';

type Send = typeof globalThis.fetch;

/** `fetch` without timeouts of its own, where there is one. It is loaded at the first request. */
export const patientFetch: Send = async (input, init) => {
  // Other runtimes have one fetch, with the timeouts that it has.
  if (builtin('node:fs') === undefined) return globalThis.fetch(input, init);
  const { fetchWithoutTimeouts } = await import('./undici-fetch.ts');
  return fetchWithoutTimeouts(input, init);
};

/** Returns the `fetch` of the providers that Pawl makes itself: bounded (B-2), and without timeouts of its own. */
export function providerFetch(): Send {
  return boundedFetch(patientFetch);
}
