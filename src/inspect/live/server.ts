import { randomBytes, timingSafeEqual } from 'node:crypto';
import { messageOf, PawlError } from '../../input/errors.ts';
import { redact } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { Refusal } from '../../serve/callers.ts';
import { jsonBody, UnusableBody } from '../../serve/json-body.ts';
import { serveRequests } from '../../serve/node-server.ts';
import { icon } from '../tape/page-file.ts';
import { Shown, type ShownOptions } from './shown.ts';
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
  const answer = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    const asking = request.headers.get('origin');
    if (asking !== null && asking !== origin) throw new Refusal(403, 'another origin');
    const given = searchParams.get('token');
    if (given !== null && request.method === 'GET' && pathname === '/') {
      if (!isSameToken(given, token)) throw new Refusal(401, 'wrong token');
      const cookie = `pawl=${pass}; HttpOnly; SameSite=Strict; Path=/${place}/`;
      return new Response(null, { status: 303, headers: { location: `/${place}/`, 'set-cookie': cookie } });
    }
    const site = request.headers.get('sec-fetch-site');
    if (site !== null && site !== 'same-origin' && site !== 'none') throw new Refusal(403, 'another site');
    const isPlace = pathname.startsWith(`/${place}/`);
    if (!isPlace || !isSameToken(cookieIn(request, 'pawl'), pass))
      throw new Refusal(401, 'open the address that was printed');
    const path = pathname.slice(place.length + 1);
    if (path === '/') return new Response(page(token), { headers: { 'content-type': 'text/html; charset=utf-8' } });
    if (request.method === 'GET') return shown.route(path, searchParams, request);
    if (request.method !== 'POST') throw new Refusal(405, 'GET, or POST of a command');
    if (!isSameToken(request.headers.get('x-pawl-token') ?? '', token)) throw new Refusal(401, 'the token is missing');
    const [body] = await jsonBody(request, [], async () => undefined, mostBytes);
    return shown.command(path, body);
  };
  const handler = async (request: Request): Promise<Response> => {
    const response = await answer(request).catch((error) => refused(error, shown.secrets()));
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  };
  const server = await serveRequests(handler, {
    callers: { port: options.port },
    forPages: false,
    refused: ({ message }) => ({
      body: JSON.stringify({ error: message }),
      headers: { ...headers, 'content-type': 'application/json' },
    }),
  });
  ({ origin } = server);
  return { address: `${origin}/?token=${token}`, close: () => server.close(() => shown.close()) };
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

function cookieIn({ headers: fields }: Request, name: string): string {
  const found = (fields.get('cookie') ?? '').split('; ').find((one) => one.startsWith(`${name}=`));
  return found?.slice(name.length + 1) ?? '';
}

/** Compares in a time that does not reveal where they differ. */
function isSameToken(given: string, token: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(token)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function refused(error: unknown, secrets: readonly string[]): Response {
  const known = error instanceof Refusal || error instanceof UnusableBody ? error.status : undefined;
  const status = known ?? (error instanceof PawlError ? 409 : 500);
  return Response.json({ error: redact(messageOf(error), writtenSecrets(secrets)) }, { status });
}

/** A text that cannot be guessed. */
function secretText(): string {
  return randomBytes(24).toString('base64url');
}
