import { createServer, type ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { systemClock } from '../host/clock.ts';
import { within } from '../host/deadline.ts';
import { answersPage, closeHttp, listening, Refusal } from '../serve/callers.ts';
import type { CallerOptions } from '../serve/http-options.ts';
import { errorBody } from './completion.ts';
import type { OpenaiHandler } from './openai-handler.ts';
import type { ServedOpenai } from './serve-openai.ts';

/** Serves a handler under `/v1` to the callers that may call. */
export async function serveHandler(handler: OpenaiHandler, options: CallerOptions): Promise<ServedOpenai> {
  let isLoopback = true;
  const closing = new AbortController();
  const listener = getRequestListener(async (given) => {
    const request = new Request(given, { signal: AbortSignal.any([given.signal, closing.signal]) });
    const response = await handler(request);
    // The next request on the connection would come behind a body that is not read.
    const isUnread = (request.body !== null && !request.bodyUsed) || response.status === 413;
    if (isUnread) response.headers.set('connection', 'close');
    return response;
  });
  const open = new Set<ServerResponse>();
  const http = createServer((request, response) => {
    try {
      if (answersPage(request, response, options, isLoopback)) return;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const challenge = error.status === 401 ? { 'www-authenticate': 'Bearer' } : {};
      // The rest of the request is not read.
      const fields = { 'content-type': 'application/json', connection: 'close', ...challenge };
      response
        .writeHead(error.status, fields)
        .end(JSON.stringify(errorBody(error.message, 'invalid_request_error', null)));
      return;
    }
    open.add(response);
    response.once('close', () => open.delete(response));
    void listener(request, response);
  });
  const place = await listening(http, options);
  isLoopback = place.isLoopback;
  const closed = new Promise<void>((resolve) => http.once('close', resolve));
  const close = async () => {
    closing.abort(new Error('the server closes'));
    await handler.ended();
    // The answers of the sessions that ended so are still on their way.
    await answered(open);
    await closeHttp(http);
  };
  return { url: `${place.origin}/v1`, closed, close, [Symbol.asyncDispose]: close };
}

/** How long answers may take to be flushed, in ms. */
const flushMs = 1_000;

/** Waits until the open responses have ended, or a moment. */
async function answered(open: ReadonlySet<ServerResponse>): Promise<void> {
  const ended = Promise.all(
    [...open].map((response) => new Promise<void>((resolve) => response.once('close', resolve))),
  );
  await within({ clock: systemClock, timeoutMs: flushMs }, () => ended);
}
