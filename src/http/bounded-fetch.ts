import { APICallError } from '@ai-sdk/provider';
import { PawlError, unexpected } from '../input/errors.ts';
import { builtin } from '../platform/node.ts';

const asyncHooks = builtin('node:async_hooks');

/** The attempt that a request belongs to; undefined on a runtime that cannot tell. */
const attempts = asyncHooks && new asyncHooks.AsyncLocalStorage<OneRequest>();

/** The request of an attempt: whether it was sent, and whether the stream of its response said that it is done. */
export type OneRequest = { sent: boolean; done: boolean };

/** Runs the model effect of one attempt, which grants one HTTP request to a `boundedFetch` inside it (B-2). */
export function withOneRequest<T>(task: (request: OneRequest) => Promise<T>): Promise<T> {
  const request = { sent: false, done: false };
  return attempts === undefined ? task(request) : attempts.run(request, () => task(request));
}

/** Returns a `fetch` that notes whether the stream of an attempt's response said that it is done (C-5). */
export function watchingFetch(send: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  return async (...given) => {
    const request = attempts?.getStore();
    const response = await send(...given);
    return request === undefined ? response : watchedBy(response, noteDone(request));
  };
}

/**
 * Returns a `fetch` for the provider of a model: one attempt of a session sends one HTTP request (B-2). A redirect,
 * which would send the prompt again, and a second request in the same attempt are refused, with an error that names
 * them. Outside a session it only refuses redirects. Throws `unsupported_runtime` where `AsyncLocalStorage` is missing, and `invalid_options`.
 */
export function boundedFetch(send: typeof globalThis.fetch = globalThis.fetch): typeof globalThis.fetch {
  if (attempts === undefined) throw new PawlError('unsupported_runtime', '`boundedFetch` needs AsyncLocalStorage.');
  if (typeof send !== 'function') throw unexpected('invalid_options', 'send', send, 'a fetch function');
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
  let length = 0;
  return watchedBy(response, {
    chunk(bytes) {
      const end = bytes.lastIndexOf(lineFeed);
      length = end === -1 ? length + bytes.length : bytes.length - end - 1;
      if (length > mostBytes) throw new Error(`The response has a line of more than ${mostBytes} bytes.`);
    },
  });
}

/** Notes that a stream of server-sent events ended as chat completions do. */
function noteDone(request: OneRequest): BodyWatch {
  let end: Uint8Array = new Uint8Array();
  return {
    chunk(bytes) {
      end =
        bytes.length < doneLength ? new Uint8Array([...end, ...bytes]).slice(-doneLength) : bytes.slice(-doneLength);
    },
    end() {
      request.done = /(?:^|\n)data: ?\[DONE\]\s*$/.test(new TextDecoder().decode(end));
    },
  };
}

const doneLength = 32;

/** Sees the body of a response as it is read; what `chunk` throws ends it. */
type BodyWatch = { chunk(bytes: Uint8Array): void; end?(): void };

/** Returns a response whose body is watched; one of another kind of client as it is. */
function watchedBy(response: Response, watch: BodyWatch): Response {
  if (typeof response.body?.pipeThrough !== 'function' || response.constructor === Object) return response;
  // Of the same `fetch`: another class of responses would have to be loaded.
  const Own = response.constructor as typeof Response;
  const { status, statusText, headers, url } = response;
  const watched = new Own(watchedBody(response.body, watch), { status, statusText, headers });
  return Object.defineProperty(watched, 'url', { value: url });
}

/** Returns a body that reads another one as it is read itself. A pipe would make two more streams. */
function watchedBody(body: ReadableStream<Uint8Array>, watch: BodyWatch): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) {
          watch.end?.();
          controller.close();
          return;
        }
        try {
          watch.chunk(value);
        } catch (error) {
          void reader.cancel(error).catch(() => undefined);
          throw error;
        }
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

const lineFeed = 0x0a;
