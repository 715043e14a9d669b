import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { messageOf, PawlError } from '../../input/errors.ts';
import { redact } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { checkCaller, closeHttp, listening, Refusal } from '../../serve/callers.ts';
import { icon } from '../tape/page-file.ts';
import { Shown, type ShownOptions, sendJson } from './shown.ts';
import type { WatchedJournal } from './watched-journal.ts';

export type InspectorServer = { readonly address: string; close(): Promise<void> };

/** The most bytes of a command, or of a changed delivery. */
const mostBytes = 4 * 1_024 * 1_024;

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types pawl',
].join('; ');

/**
 * Serves the page of the inspector on loopback; its address contains a token (S-8). A cookie admits the browser. Browsers
 * send cookies to every port of a host, so this one has a random path, and commands need the token as well.
 */
export async function serveInspector(
  journal: WatchedJournal,
  options: ShownOptions & { port: number },
): Promise<InspectorServer> {
  const [token, place, pass] = [secretText(), secretText(), secretText()];
  const shown = new Shown(journal, options);
  let origin = '';
  const http = createServer((request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    answer(request, response).catch((error) => refuse(response, error, shown.secrets()));
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    checkCaller(request, {}, true);
    const { 'sec-fetch-site': site, origin: asking } = request.headers;
    if (asking !== undefined && asking !== origin) throw new Refusal(403, 'another origin');
    const url = urlOf(request);
    const given = url.searchParams.get('token');
    if (given !== null && request.method === 'GET' && url.pathname === '/') {
      if (!isSame(given, token)) throw new Refusal(401, 'wrong token');
      const cookie = `pawl=${pass}; HttpOnly; SameSite=Strict; Path=/${place}/`;
      response.writeHead(303, { location: `/${place}/`, 'set-cookie': cookie }).end();
      return;
    }
    if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Refusal(403, 'another site');
    const isPlace = url.pathname.startsWith(`/${place}/`);
    if (!isPlace || !isSame(cookieIn(request, 'pawl'), pass))
      throw new Refusal(401, 'open the address that was printed');
    const path = url.pathname.slice(place.length + 1);
    if (path === '/') response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page(token));
    else if (request.method === 'POST') {
      if (!isSame(String(request.headers['x-pawl-token'] ?? ''), token)) throw new Refusal(401, 'the token is missing');
      await shown.command(path, await jsonOf(request), response);
    } else if (request.method === 'GET') await shown.route(path, url.searchParams, request, response);
    else throw new Refusal(405, 'GET, or POST of a command');
  };
  ({ origin } = await listening(http, { port: options.port }));
  return {
    address: `${origin}/?token=${token}`,
    close: async () => {
      shown.close();
      await closeHttp(http);
    },
  };
}

const headers = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
};

function page(token: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="pawl-token" content="${token}">
<title>Pawl</title>
${icon}
<link rel="stylesheet" href="page.css">
</head>
<body>
<script src="page.js" defer></script>
</body>
</html>
`;
}

async function jsonOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > mostBytes) throw new Refusal(413, `a command has at most ${mostBytes} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch (error) {
    throw new Refusal(400, `the command is not valid JSON: ${messageOf(error)}`);
  }
}

function cookieIn({ headers: { cookie = '' } }: IncomingMessage, name: string): string {
  const found = cookie.split('; ').find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? '';
}

/** Compares in a time that does not reveal where they differ. */
function isSame(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function refuse(response: ServerResponse, error: unknown, secrets: readonly string[]): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = error instanceof Refusal ? error.status : error instanceof PawlError ? 409 : 500;
  sendJson(response, status, { error: redact(messageOf(error), writtenSecrets(secrets)) });
}

function urlOf({ url = '/' }: IncomingMessage): URL {
  if (URL.canParse(url, 'http://127.0.0.1')) return new URL(url, 'http://127.0.0.1');
  throw new Refusal(400, 'no such address');
}

/** A text that cannot be guessed. */
function secretText(): string {
  return randomBytes(24).toString('base64url');
}
