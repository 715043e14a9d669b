import { APICallError } from '@ai-sdk/provider';
import { expected, PawlError } from '../input/errors.ts';
import { builtin } from '../platform/node.ts';

const asyncHooks = builtin('node:async_hooks');

/** The attempt that a request belongs to; undefined on a runtime that cannot tell. */
const attempts = asyncHooks && new asyncHooks.AsyncLocalStorage<{ sent: boolean }>();

/** Runs the model effect of one attempt, which grants one HTTP request to a `boundedFetch` inside it (B-2). */
export function withOneRequest<T>(task: () => Promise<T>): Promise<T> {
  return attempts === undefined ? task() : attempts.run({ sent: false }, task);
}

/**
 * Returns a `fetch` for the provider of a model: one attempt of a session sends one HTTP request (B-2). A redirect,
 * which would send the prompt again, and a second request in the same attempt are refused, with an error that names
 * them. Outside a session it only refuses redirects. Throws `unsupported_runtime` where `AsyncLocalStorage` is missing, and `invalid_options`.
 */
export function boundedFetch(send: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  if (attempts === undefined) throw new PawlError('unsupported_runtime', '`boundedFetch` needs AsyncLocalStorage.');
  if (typeof send !== 'function') throw new PawlError('invalid_options', expected('send', send, 'a fetch function'));
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input);
    const attempt = attempts.getStore();
    if (attempt?.sent) throw new Error(`A second request in one attempt was refused: ${url}.`);
    if (attempt !== undefined) attempt.sent = true;
    const response = await send(input, { ...init, redirect: 'manual' });
    if (response.status < 300 || response.status >= 400) return withBoundedLines(response, mostLineBytes);
    await response.body?.cancel();
    const message = `The redirect (${response.status}) from ${url} to ${response.headers.get('location')} was refused.`;
    throw new APICallError({
      message: `${message} Use the address it leads to.`,
      url,
      requestBodyValues: {},
      statusCode: response.status,
      isRetryable: false,
    });
  };
}

/** The most bytes of a response without a line break: stream parsers buffer a line until it is complete. */
const mostLineBytes = 32 * 1_024 * 1_024;

/** Returns a response whose body fails as soon as one of its lines, or a body without lines, has more bytes. */
export function withBoundedLines(response: Response, mostBytes: number): Response {
  // Other clients have bodies, or responses, of their own kind.
  if (typeof response.body?.pipeThrough !== 'function' || response.constructor === Object) return response;
  let length = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      const end = chunk.lastIndexOf(lineFeed);
      length = end === -1 ? length + chunk.length : chunk.length - end - 1;
      if (length > mostBytes) controller.error(new Error(`The response has a line of more than ${mostBytes} bytes.`));
      else controller.enqueue(chunk);
    },
  });
  // Of the same `fetch`: another class of responses would have to be loaded.
  const Own = response.constructor as typeof Response;
  const { status, statusText, headers, url } = response;
  const bounded = new Own(response.body.pipeThrough(counted), { status, statusText, headers });
  return Object.defineProperty(bounded, 'url', { value: url });
}

const lineFeed = 0x0a;
