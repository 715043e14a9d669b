import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { LoggerOption } from '../observe/log/logger.ts';
import { answered, answersPage, checkCaller, closeHttp, listening, Refusal } from './callers.ts';
import type { CallerOptions } from './http-options.ts';

export type ServeRequestsOptions = {
  /** Where it listens, and whom it answers. */
  callers: CallerOptions;
  /** Whether the pages of permitted origins may read the answers (CORS). */
  forPages: boolean;
  logger?: LoggerOption | undefined;
  /** Returns the answer to a request that is refused, before anything is read. */
  refused: (refusal: Refusal, request?: IncomingMessage) => { body: string; headers: Record<string, string> };
};

export type ServedRequests = {
  readonly origin: string;
  /** Resolves when the server has closed. */
  readonly closed: Promise<void>;
  /**
   * Aborts the signals of the running requests, waits for `ended` and for their answers, calls `afterwards`, and closes the
   * server.
   */
  close(ended: () => unknown, afterwards?: () => unknown): Promise<void>;
};

/**
 * Who sent a request. `left` aborts when its client goes before the response is whole; `closed` resolves when that is over.
 */
export type RequestSource = { address: string; left: AbortSignal; closed: Promise<void> };

/** Serves a handler of requests to the callers that may call. `handler` never rejects. */
export async function serveRequests(
  handler: (request: Request, source: RequestSource) => Promise<Response>,
  { callers, forPages, logger, refused }: ServeRequestsOptions,
): Promise<ServedRequests> {
  let isLoopback = true;
  const closing = new AbortController();
  const unreadable = () => {
    const { body, headers } = refused(new Refusal(400, 'the request has no address or method that can be answered'));
    return new Response(body, { status: 400, headers: { ...headers, connection: 'close' } });
  };
  const listener = getRequestListener(
    async (given, env) => {
      const { url, method, headers: fields, body } = given;
      const signal = AbortSignal.any([given.signal, closing.signal]);
      const request = new Request(url, {
        method,
        headers: fields,
        signal,
        ...(body !== null && { body, duplex: 'half' }),
      });
      const response = await handler(request, sourceOf(env, given.signal));
      // The next request on the connection would come behind a body that is not read.
      const isUnread = (request.body !== null && !request.bodyUsed) || response.status === 413;
      if (!isUnread) return response;
      // The headers of a response that an application got by `fetch` cannot be changed.
      const headers = new Headers(response.headers);
      headers.set('connection', 'close');
      return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
    },
    // The classes of the process stay as they are: an application may compare with them.
    { overrideGlobalObjects: false, errorHandler: unreadable },
  );
  const open = new Set<ServerResponse>();
  const http = createServer((request, response) => {
    try {
      if (!forPages) checkCaller(request, callers, isLoopback);
      else if (answersPage(request, response, callers, isLoopback)) return;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { body, headers } = refused(error, request);
      // The rest of the request is not read.
      response.writeHead(error.status, { ...headers, connection: 'close' }).end(body);
      return;
    }
    open.add(response);
    response.once('close', () => open.delete(response));
    void listener(request, response);
  });
  const place = await listening(http, callers, logger);
  isLoopback = place.isLoopback;
  const closed = new Promise<void>((resolve) => http.once('close', resolve));
  const close: ServedRequests['close'] = async (ended, afterwards = () => {}) => {
    closing.abort(new Error('the server closes'));
    await ended();
    // The answers of the sessions that ended so are still on their way.
    await answered(open);
    await afterwards();
    await closeHttp(http);
  };
  return { origin: place.origin, closed, close };
}

function sourceOf(env: object, left: AbortSignal): RequestSource {
  const { incoming, outgoing } = env as { incoming: IncomingMessage; outgoing: ServerResponse };
  const closed = new Promise<void>((resolve) => outgoing.once('close', resolve));
  return { address: incoming.socket.remoteAddress ?? '', left, closed };
}
