import { Agent, fetch } from 'undici';

/** The global fetch gives up on headers and bodies after 300 s of its own; the limits of a request are Pawl's. */
export const noTimeouts = { headersTimeout: 0, bodyTimeout: 0 };

const dispatcher = new Agent(noTimeouts);

/** `fetch` without timeouts of its own. Both fetches are the same implementation; only their types differ. */
export const fetchWithoutTimeouts = ((input: string, init: object) =>
  fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;
