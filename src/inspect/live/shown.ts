import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import { check } from '../../input/check.ts';
import { messageOf, PawlError } from '../../input/errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { redact } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { Refusal } from '../../serve/callers.ts';
import {
  abortSession,
  answerSession,
  approveSession,
  steerSession,
  stopSession,
} from '../../session/recovery/messages.ts';
import { pageFile } from '../tape/page-file.ts';
import { sessionFile } from '../tape/session-file.ts';
import { cleanRow } from './clean.ts';
import { forkAt } from './fork.ts';
import { LiveTape, type TapePiece } from './live-tape.ts';
import { type Found, SessionIndex } from './search.ts';
import type { WatchedJournal } from './watched-journal.ts';

/** How often the list of sessions is looked at for changes, in ms; and how often at all of it, in looks. */
const lookMs = 250;
const wholeEvery = 20;

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
    z.strictObject({
      type: z.literal('answer'),
      callId: z.string(),
      output: z.json(),
      sessionId: z.string().optional(),
    }),
    z.strictObject({ type: z.literal('steer'), text: z.string() }),
    z.strictObject({ type: z.literal('stop') }),
    z.strictObject({ type: z.literal('abort') }),
  ],
  { error: 'a command: approve, answer, steer, stop or abort' },
);

const files: Record<string, [string, string]> = {
  '/page.js': ['page.js', 'text/javascript; charset=utf-8'],
  '/page.css': ['page.css', 'text/css; charset=utf-8'],
  '/pictures.json': ['pictures.json', 'application/json'],
};

export type ShownOptions = { secrets: () => readonly string[]; agents: readonly Agent[] };

/** The server's routes and commands. */
export class Shown {
  private readonly journal: WatchedJournal;
  private readonly options: ShownOptions;
  private readonly index: SessionIndex;
  private readonly tapes = new Map<string, LiveTape>();
  private readonly feeds = new Set<() => void>();

  constructor(journal: WatchedJournal, options: ShownOptions) {
    this.journal = journal;
    this.options = options;
    this.index = new SessionIndex(journal, options.secrets);
  }

  secrets(): readonly string[] {
    return this.options.secrets();
  }

  close(): void {
    for (const tape of this.tapes.values()) tape.close();
    for (const end of this.feeds) end();
    this.index.close();
  }

  async route(
    path: string,
    search: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const file = files[path];
    const { sessionId, what } = placeOf(path);
    if (file !== undefined) response.writeHead(200, { 'content-type': file[1] }).end(pageFile(file[0]));
    else if (path === '/sessions') await this.feed(response);
    else if (path === '/search') sendJson(response, 200, await this.find(search));
    else if (what === 'tape') await this.stream(sessionId, { request, search }, response);
    else if (what === 'file') {
      const html = sessionFile(await this.known(sessionId), { secrets: this.secrets() });
      const disposition = `attachment; filename="session-${sessionId.replaceAll(/[^\w-]/g, '_').slice(0, 60)}.html"`;
      response.writeHead(200, { 'content-type': 'text/html', 'content-disposition': disposition }).end(html);
    } else throw new Refusal(404, 'nothing is here');
  }

  async command(path: string, given: unknown, response: ServerResponse): Promise<void> {
    const { journal, options } = this;
    const { sessionId, what } = placeOf(path);
    if (what === 'forks') sendJson(response, 201, await forkAt(journal, options.agents, sessionId, given));
    else if (what === 'commands') sendJson(response, 200, { taken: await postCommand(journal, sessionId, given) });
    else throw new Refusal(404, 'nothing is here');
  }

  private async known(sessionId: string): Promise<JournalEntry[]> {
    const entries = await this.journal.read(sessionId);
    if (entries.length === 0) throw new Refusal(404, 'there is no such session');
    return entries;
  }

  /** Returns an error as a result for an invalid query, since each keystroke sends one. */
  private async find(search: URLSearchParams): Promise<Found | { refused: string }> {
    const text = search.get('q') ?? '';
    if (search.has('whole')) await this.index.follow();
    try {
      return this.index.search(text);
    } catch (error) {
      if (error instanceof PawlError && error.code === 'invalid_options') return { refused: error.message };
      throw error;
    }
  }

  /**
   * Streams a tape as server-sent events. The id of each is the number of entries that a reader then has, so that one that
   * reconnects, or comes back with `after`, continues there. If the tape cannot be shown, the stream contains the reason.
   */
  private async stream(
    sessionId: string,
    { request, search }: { request: IncomingMessage; search: URLSearchParams },
    response: ServerResponse,
  ): Promise<void> {
    await this.known(sessionId);
    const known = this.tapes.get(sessionId);
    const tape =
      known === undefined || known.isOver ? new LiveTape(this.journal, sessionId, () => this.secrets()) : known;
    this.tapes.set(sessionId, tape);
    const last = Number(request.headers['last-event-id'] ?? search.get('after') ?? 0);
    const from = Number.isSafeInteger(last) && last > 0 ? last : 0;
    const send = streamTo(response);
    const reader = (piece: TapePiece) => send(piece, 'entries' in piece ? piece.after + piece.entries.length : null);
    const leave = await tape.join(reader, from).catch((error) => {
      reader({ failure: redact(messageOf(error), writtenSecrets(this.secrets())) });
      response.end();
      return () => undefined;
    });
    const gone = () => {
      leave();
      if (!tape.isIdle) return;
      tape.close();
      if (this.tapes.get(sessionId) === tape) this.tapes.delete(sessionId);
    };
    if (response.destroyed || response.writableEnded) gone();
    else response.once('close', gone);
  }

  /** Streams the rows of all sessions, then those that change. */
  private async feed(response: ServerResponse): Promise<void> {
    const told = new Map<string, string>();
    const send = streamTo(response);
    let [since, looks] = [0, 0];
    let cancel = () => {};
    const end = () => {
      cancel();
      this.feeds.delete(end);
    };
    this.feeds.add(end);
    response.once('close', end);
    const tell = async () => {
      // Only the whole list shows expired leases and deleted sessions.
      const isWhole = looks % wholeEvery === 0;
      looks += 1;
      const rows = (await this.journal.list(isWhole ? {} : { since })).map((row) => cleanRow(row, this.secrets()));
      if (!this.feeds.has(end) || response.destroyed) return;
      since = rows.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), since);
      const here = new Set(rows.map(({ sessionId }) => sessionId));
      const gone = isWhole ? [...told.keys()].filter((id) => !here.has(id)) : [];
      const news = rows.filter((row) => told.get(row.sessionId) !== JSON.stringify(row));
      for (const row of news) told.set(row.sessionId, JSON.stringify(row));
      for (const id of gone) told.delete(id);
      if (news.length + gone.length > 0 || looks === 1) send({ rows: news, gone, isWhole: looks === 1 }, null);
      cancel = systemClock.alarm(lookMs, follow);
    };
    // The reader shows the failure, and reconnects by itself.
    const failed = (error: unknown) => {
      send({ failure: redact(messageOf(error), writtenSecrets(this.secrets())) }, null);
      response.end();
    };
    const follow = () => void tell().catch(failed);
    await tell().catch(failed);
  }
}

/** Begins a stream of server-sent events. A reader that falls behind is disconnected, and reconnects. */
function streamTo(response: ServerResponse): (value: unknown, id: number | null) => void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(': open\n\n');
  return (value, id) => {
    if (response.writableLength > mostWaiting) response.destroy();
    else if (!response.destroyed)
      response.write(`${id === null ? '' : `id: ${id}\n`}data: ${JSON.stringify(value)}\n\n`);
  };
}

async function postCommand(journal: WatchedJournal, sessionId: string, given: unknown): Promise<boolean> {
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
    case 'answer': {
      const { callId, output, sessionId: meant } = one;
      return answerSession(journal, sessionId, callId, output, meant === undefined ? {} : { sessionId: meant });
    }
    case 'steer':
      return steerSession(journal, sessionId, one.text);
    case 'stop':
      return stopSession(journal, sessionId);
    default:
      return abortSession(journal, sessionId, 'aborted in the inspector');
  }
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** The session that a path is about, and what of it. */
function placeOf(path: string): { sessionId: string; what: string } {
  const [, id = '', what = ''] = /^\/sessions\/([^/]+)\/(\w+)$/.exec(path) ?? [];
  try {
    return { sessionId: decodeURIComponent(id), what };
  } catch {
    throw new Refusal(400, 'no such address');
  }
}
