import { createHash, timingSafeEqual } from 'node:crypto';
import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../host/clock.ts';
import { within } from '../host/deadline.ts';
import { expected, messageOf, PawlError, stackOf } from '../input/errors.ts';
import { type LoggerOption, loggerOf } from '../observe/log/logger.ts';
import type { CallerOptions } from './http-options.ts';

/** A request that is refused, with its status. */
export class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Refuses a request from a host or page that is not permitted. */
function checkPlace(
  { headers }: Pick<IncomingMessage, 'headers'>,
  { hosts, origins }: CallerOptions,
  isLoopback: boolean,
): void {
  // Host names are case-insensitive.
  const host = (headers.host ?? '').toLowerCase();
  const origin = headers.origin?.toLowerCase();
  const ofAnyPort = host.replace(/:\d+$/, '');
  const isNamed = (names: readonly string[]) => names.some((name) => [host, ofAnyPort].includes(name.toLowerCase()));
  const hostIsKnown = hosts === undefined ? !isLoopback || isLoopbackHost(host) : isNamed(hosts);
  // A client that is not a browser sends no origin.
  const originIsKnown =
    origin === undefined ||
    (origins === undefined
      ? isLoopback && isLoopbackOrigin(origin)
      : origins.some((one) => one.toLowerCase() === origin));
  // A web page must not reach a server on this machine under another host name.
  if (!hostIsKnown) throw new Refusal(403, 'host not allowed');
  if (!originIsKnown) throw new Refusal(403, 'origin not allowed');
}

/** Refuses a request from a host or page that is not permitted, or without the token. */
export function checkCaller(
  request: Pick<IncomingMessage, 'headers'>,
  options: CallerOptions,
  isLoopback: boolean,
): void {
  checkPlace(request, options, isLoopback);
  checkToken(request, options);
}

function checkToken({ headers }: Pick<IncomingMessage, 'headers'>, { auth }: CallerOptions): void {
  // Anthropic's clients send their key in `x-api-key`.
  const key = headers['x-api-key'];
  const token = /^bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1] ?? (typeof key === 'string' ? key : '');
  if (auth !== undefined && !isSame(token, auth.bearer)) throw new Refusal(401, 'unauthorized');
}

/**
 * Lets the pages of permitted origins read the answers (CORS). Answers the question that a browser asks before a call,
 * which carries no token, and returns true. Throws `Refusal` for a request from another place, or without
 * the token, which a permitted page can read.
 */
export function answersPage(
  request: IncomingMessage,
  response: ServerResponse,
  options: CallerOptions,
  isLoopback: boolean,
): boolean {
  const { origin, 'access-control-request-headers': asked } = request.headers;
  const isQuestion = request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined;
  checkPlace(request, options, isLoopback);
  if (origin !== undefined) {
    response.setHeader('access-control-allow-origin', origin);
    response.setHeader('access-control-expose-headers', 'mcp-session-id, retry-after');
    response.setHeader('vary', 'origin');
  }
  if (!isQuestion || origin === undefined) {
    checkToken(request, options);
    return false;
  }
  const fields = { 'access-control-allow-methods': 'GET, POST, DELETE', 'access-control-max-age': '600' };
  response.writeHead(204, { ...fields, ...(asked !== undefined && { 'access-control-allow-headers': asked }) }).end();
  return true;
}

/** Compares in a time that does not reveal where they differ. */
function isSame(one: string, other: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

export function isLoopbackHost(host: string): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host);
}

export function isLoopbackOrigin(origin: string): boolean {
  return URL.canParse(origin) && isLoopbackHost(new URL(origin).host);
}

/** Listens, and says where. Throws `invalid_options` for a port that cannot be had. Later errors are logged. */
export async function listening(
  http: HttpServer,
  { port = 0, host = '127.0.0.1' }: CallerOptions,
  logger?: LoggerOption,
): Promise<{ origin: string; isLoopback: boolean }> {
  await new Promise<void>((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, resolve);
  }).catch((error) => {
    throw new PawlError('invalid_options', `${expected('port', port, 'a free port')} ${messageOf(error)}`);
  });
  // Without a listener, such an error, as for too many open files, would end the process.
  http.on('error', (error) => {
    const line = { event: 'server.failed', error: stackOf(error) };
    loggerOf(logger).error(line, 'a server could not accept a connection');
  });
  const { port: given, address } = http.address() as AddressInfo;
  const name = host.includes(':') ? `[${host}]` : host;
  return { origin: `http://${name}:${given}`, isLoopback: ['127.0.0.1', '::1'].includes(address) };
}

export function closeHttp(http: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

/** How long answers may take to be flushed, in ms. */
const flushMs = 1_000;

/** Waits until the open responses have ended, or a moment. */
export async function answered(open: ReadonlySet<ServerResponse>): Promise<void> {
  const ended = Promise.all(
    [...open].map((response) => new Promise<void>((resolve) => response.once('close', resolve))),
  );
  await within({ clock: systemClock, timeoutMs: flushMs }, () => ended);
}
