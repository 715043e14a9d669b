import { createServer, type ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { LoggerOption } from '../observe/log/logger.ts';
import { answered, answersPage, closeHttp, listening, Refusal } from '../serve/callers.ts';
import type { CallerOptions } from '../serve/http-options.ts';
import { openaiError } from './completion.ts';
import type { OpenaiHandler } from './openai-handler.ts';
import type { ServedOpenai } from './served-openai.ts';

/** The classes of the process stay as they are: an application may compare with them. */
const ownGlobals = { overrideGlobalObjects: false };

/** Serves a handler under `/v1` to the callers that may call. */
export async function serveHandler(
  handler: OpenaiHandler,
  options: CallerOptions,
  logger?: LoggerOption | undefined,
): Promise<ServedOpenai> {
  let isLoopback = true;
  const closing = new AbortController();
  const listener = getRequestListener(async (given) => {
    const { url, method, headers: fields, body } = given;
    const signal = AbortSignal.any([given.signal, closing.signal]);
    const request = new Request(url, {
      method,
      headers: fields,
      signal,
      ...(body !== null && { body, duplex: 'half' }),
    });
    const response = await handler(request);
    // The next request on the connection would come behind a body that is not read.
    const isUnread = (request.body !== null && !request.bodyUsed) || response.status === 413;
    if (!isUnread) return response;
    // The headers of a response that an application got by `fetch` cannot be changed.
    const headers = new Headers(response.headers);
    headers.set('connection', 'close');
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
  }, ownGlobals);
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
        .end(JSON.stringify(openaiError(error.message, 'invalid_request_error', null)));
      return;
    }
    open.add(response);
    response.once('close', () => open.delete(response));
    void listener(request, response);
  });
  const place = await listening(http, options, logger);
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
