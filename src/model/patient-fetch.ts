import { boundedFetch } from './bounded-fetch.ts';

/** The global fetch gives up on headers and bodies after 300 s; the limits of a request are Pawl's own. */
export const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };

type Send = typeof globalThis.fetch;
let loaded: Promise<Send> | null = null;

/** Loads a fetch without timeouts of its own, shared by the whole process. */
async function load(): Promise<Send> {
  const { Agent, fetch } = await import('undici');
  const dispatcher = new Agent(noTimeouts);
  return ((input: string, init: object) => fetch(input, { ...init, dispatcher })) as unknown as Send;
}

/** Returns the `fetch` of the providers that Pawl makes itself: bounded (B-2), and without timeouts of its own. */
export function patientFetch(): Send {
  return boundedFetch(async (input, init) => {
    loaded ??= load();
    const send = await loaded;
    return send(input, init);
  });
}
