import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { z } from 'zod';
import { check } from '../../agent/check.ts';
import type { Agent } from '../../agent/definition.ts';
import { messageOf, PawlError } from '../../errors.ts';
import { systemClock } from '../../host/clock.ts';
import { checkCaller, closeHttp, listening, Refusal } from '../../serve/callers.ts';
import { abortSession, approveSession, steerSession, stopSession } from '../../session/recovery/messages.ts';
import type { Change } from '../study/what-if.ts';
import { pageFile } from '../tape/page-file.ts';
import { sessionFile } from '../tape/session-file.ts';
import { forkAt } from './fork.ts';
import { LiveTape, type TapePiece } from './live-tape.ts';
import type { WatchedJournal } from './watched-journal.ts';

export type InspectorServer = { readonly address: string; close(): Promise<void> };

/** The most bytes of a command, or of a changed delivery. */
const mostBytes = 4 * 1_024 * 1_024;

/** How often the list of sessions is looked at for changes, in ms. */
const lookMs = 250;

/** Bytes that may wait for a page that does not read; then it must come back for the rest. */
const mostWaiting = 8 * 1_024 * 1_024;

const commandSchema = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('approve'),
      callId: z.string(),
      approved: z.boolean(),
      reason: z.string().optional(),
      sessionId: z.string().optional(),
    }),
    z.strictObject({ type: z.literal('steer'), text: z.string() }),
    z.strictObject({ type: z.literal('stop') }),
    z.strictObject({ type: z.literal('abort') }),
  ],
  { error: 'a command: approve, steer, stop or abort' },
);

const files: Record<string, [string, string]> = {
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/pictures.json': ['pictures.json', 'application/json'],
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types pawl',
].join('; ');

/** Serves the page of the inspector on loopback, to whoever has the token of its address (S-8). */
export async function serveInspector(
  journal: WatchedJournal,
  { port, secrets, agents }: { port: number; secrets: () => readonly string[]; agents: readonly Agent[] },
): Promise<InspectorServer> {
  const token = randomBytes(24).toString('base64url');
  const tapes = new Map<string, LiveTape>();
  const tapeOf = (sessionId: string): LiveTape => {
    const tape = tapes.get(sessionId) ?? new LiveTape(journal, sessionId, secrets());
    tapes.set(sessionId, tape);
    return tape;
  };
  let own = 0;
  const http = createServer((request, response) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    answer(request, response).catch((error) => refuse(response, error));
  });
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    checkCaller(request, {}, true);
    const site = request.headers['sec-fetch-site'];
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const given = url.searchParams.get('token');
    if (given !== null && request.method === 'GET' && url.pathname === '/') {
      if (!isSame(given, token)) throw new Refusal(401, 'wrong token');
      const cookie = `pawl-${own}=${token}; HttpOnly; SameSite=Strict; Path=/`;
      response.writeHead(303, { location: '/', 'set-cookie': cookie }).end();
      return;
    }
    if (site !== undefined && site !== 'same-origin' && site !== 'none') throw new Refusal(403, 'another site');
    if (!isSame(cookieIn(request, `pawl-${own}`), token)) throw new Refusal(401, 'open the address that was printed');
    await route(request, response, url);
  };
  const route = async (request: IncomingMessage, response: ServerResponse, url: URL) => {
    const [, kind = '', id = '', what = ''] = /^\/(sessions)(?:\/([^/]+)\/(\w+))?$/.exec(url.pathname) ?? [];
    const sessionId = decodeURIComponent(id);
    const file = files[url.pathname];
    if (request.method === 'POST' && (what === 'commands' || what === 'forks')) {
      if (!isSame(String(request.headers['x-pawl-token'] ?? ''), token)) throw new Refusal(401, 'the token is missing');
      const given = await jsonOf(request);
      if (what === 'forks') send(response, 201, await forkAt(journal, agents, sessionId, given as Change));
      else send(response, 200, { taken: await command(journal, sessionId, given) });
    } else if (request.method !== 'GET') throw new Refusal(405, 'GET, or POST of a command');
    else if (url.pathname === '/') {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(page(token));
    } else if (file !== undefined) response.writeHead(200, { 'content-type': file[1] }).end(pageFile(file[0]));
    else if (kind !== '' && id === '') await feed(response, journal);
    else if (what === 'tape') await stream(request, response, tapeOf(sessionId));
    else if (what === 'file') {
      const html = sessionFile(await journal.read(sessionId), { secrets: secrets() });
      const disposition = `attachment; filename="session-${sessionId.replaceAll(/[^\w-]/g, '_').slice(0, 60)}.html"`;
      response.writeHead(200, { 'content-type': 'text/html', 'content-disposition': disposition }).end(html);
    } else throw new Refusal(404, 'nothing is here');
  };
  const { origin } = await listening(http, { port });
  own = Number(new URL(origin).port);
  return {
    address: `${origin}/?token=${token}`,
    close: async () => {
      for (const tape of tapes.values()) tape.close();
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
<link rel="stylesheet" href="/page.css">
</head>
<body>
<script src="/page.js" defer></script>
</body>
</html>
`;
}

/**
 * Streams a tape as server-sent events. The id of each is the number of entries that a reader then has, so that one that
 * comes back goes on there.
 */
async function stream(request: IncomingMessage, response: ServerResponse, tape: LiveTape): Promise<void> {
  const last = Number(request.headers['last-event-id'] ?? 0);
  const from = Number.isSafeInteger(last) && last > 0 ? last : 0;
  let had = from;
  const write = (piece: TapePiece) => {
    if (response.writableLength > mostWaiting) {
      response.destroy();
      return;
    }
    if ('entries' in piece) had = piece.after + piece.entries.length;
    const id = 'entries' in piece ? `id: ${had}\n` : '';
    response.write(`${id}data: ${JSON.stringify(piece)}\n\n`);
  };
  const waiting: TapePiece[] = [];
  let begin = (piece: TapePiece): void => void waiting.push(piece);
  const leave = await tape.join((piece) => begin(piece), from);
  response.once('close', leave);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  begin = write;
  for (const piece of waiting) write(piece);
}

/** Streams the rows of all sessions, and then those that change. */
async function feed(response: ServerResponse, journal: WatchedJournal): Promise<void> {
  let since = 0;
  let cancel = () => {};
  const tell = async () => {
    const rows = await journal.list({ since });
    const news = rows.filter(({ updatedAt }) => updatedAt > since || since === 0);
    since = Math.max(since, ...rows.map(({ updatedAt }) => updatedAt));
    if (news.length > 0) response.write(`data: ${JSON.stringify({ rows: news })}\n\n`);
    cancel = systemClock.alarm(lookMs, () => void tell().catch(() => response.destroy()));
  };
  response.once('close', () => cancel());
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  await tell();
}

async function command(journal: WatchedJournal, sessionId: string, given: unknown): Promise<boolean> {
  const one = check(commandSchema, given, 'command', 'invalid_options');
  switch (one.type) {
    case 'approve': {
      const { callId, approved, reason, sessionId: meant } = one;
      const decision = {
        approved,
        ...(reason !== undefined && { reason }),
        ...(meant !== undefined && { sessionId: meant }),
      };
      return approveSession(journal, sessionId, callId, decision);
    }
    case 'steer':
      return steerSession(journal, sessionId, one.text);
    case 'stop':
      return stopSession(journal, sessionId);
    default:
      return abortSession(journal, sessionId, 'aborted in the inspector');
  }
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
    throw new Refusal(400, `the command is no JSON: ${messageOf(error)}`);
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

function send(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const status = error instanceof Refusal ? error.status : error instanceof PawlError ? 409 : 500;
  send(response, status, { error: messageOf(error) });
}
