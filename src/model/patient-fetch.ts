import { boundedFetch } from './bounded-fetch.ts';

/** The global fetch gives up on headers and bodies after 300 s of its own; the limits of a request are Pawl's. */
export const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };

type Send = typeof globalThis.fetch;
let loaded: Promise<Send> | null = null;

/** `fetch` without timeouts of its own. It is loaded at the first request. */
export const patientFetch: Send = async (input, init) => {
  loaded ??= load();
  const send = await loaded;
  return send(input, init);
};

async function load(): Promise<Send> {
  const { Agent, fetch } = await import('undici');
  const dispatcher = new Agent(noTimeouts);
  // Both fetches are the same implementation; only their types differ.
  return ((input: string, init: object) => fetch(input, { ...init, dispatcher })) as unknown as Send;
}

/** Returns the `fetch` of the providers that Pawl makes itself: bounded (B-2), and without timeouts of its own. */
export function providerFetch(): Send {
  return boundedFetch(patientFetch);
}
