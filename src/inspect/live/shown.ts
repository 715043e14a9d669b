import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import { check } from '../../input/check.ts';
import { messageOf, PawlError } from '../../input/errors.ts';
import type { JournalEntry } from '../../journal/journal.ts';
import { redact } from '../../secrets/redact.ts';
import { writtenSecrets } from '../../secrets/spellings.ts';
import { Refusal } from '../../serve/callers.ts';
import { type EventWriter, pushedEvents } from '../../serve/event-stream.ts';
import { abortSession, answerSession, steerSession, stopSession } from '../../session/recovery/messages.ts';
import { pageFile } from '../tape/page-file.ts';
import { sessionFile } from '../tape/session-file.ts';
import { cleanRow } from './clean.ts';
import { forkAt } from './fork.ts';
import { Inbox } from './inbox.ts';
import { LiveTape, type TapePiece } from './live-tape.ts';
import { type Found, SessionIndex, type SessionSummary } from './search.ts';
import type { WatchedJournal } from './watched-journal.ts';

/** Bytes that may wait for a page that does not read; it comes back for the rest (`Last-Event-ID`). */
const mostWaiting = 8 * 1_024 * 1_024;

/** How often the list of sessions is looked at for changes, in ms; and how often at all of it, in looks. */
const lookMs = 250;
const wholeEvery = 20;
/** How often the sessions are read for what they were about, in looks. */
const readEvery = 8;

const commandSchema = z.discriminatedUnion(
  'type',
  [
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
  { error: 'a command: answer, steer, stop or abort' },
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
  private readonly inbox: Inbox;
  private readonly tapes = new Map<string, LiveTape>();
  private readonly feeds = new Set<() => void>();

  constructor(journal: WatchedJournal, options: ShownOptions) {
    this.journal = journal;
    this.options = options;
    this.index = new SessionIndex(journal, options.secrets);
    this.inbox = new Inbox(journal, options.agents, options.secrets, (id) => this.index.summaryOf(id)?.prompt ?? '');
  }

  secrets(): readonly string[] {
    return this.options.secrets();
  }

  close(): void {
    for (const tape of this.tapes.values()) tape.close();
    for (const end of [...this.feeds]) end();
    this.index.close();
    this.inbox.close();
  }

  async route(path: string, search: URLSearchParams, request: Request): Promise<Response> {
    const file = files[path];
    const { sessionId, what } = placeOf(path);
    if (file !== undefined) return new Response(pageFile(file[0]), { headers: { 'content-type': file[1] } });
    if (path === '/sessions') return this.feed(search.has('about'));
    if (path === '/inbox') {
      // For what the sessions were asked; what it cannot read, the list tells of itself.
      void this.index.follow().catch(() => undefined);
      return Response.json(await this.inbox.list(search.get('session')));
    }
    if (path === '/search') return Response.json(await this.find(search));
    if (what === 'tape') return this.stream(sessionId, request, search);
    if (what !== 'file') throw new Refusal(404, 'nothing is here');
    const html = sessionFile(await this.known(sessionId), { secrets: this.secrets() });
    const disposition = `attachment; filename="session-${sessionId.replaceAll(/[^\w-]/g, '_').slice(0, 60)}.html"`;
    return new Response(html, { headers: { 'content-type': 'text/html', 'content-disposition': disposition } });
  }

  async command(path: string, given: unknown): Promise<Response> {
    const { journal, options } = this;
    if (path === '/inbox') return Response.json({ taken: await this.inbox.decide(given) });
    const { sessionId, what } = placeOf(path);
    if (what === 'forks')
      return Response.json(await forkAt(journal, options.agents, sessionId, given), { status: 201 });
    if (what === 'commands') return Response.json({ taken: await postCommand(journal, sessionId, given) });
    throw new Refusal(404, 'nothing is here');
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
  private async stream(sessionId: string, request: Request, search: URLSearchParams): Promise<Response> {
    await this.known(sessionId);
    const known = this.tapes.get(sessionId);
    const tape =
      known === undefined || known.isOver ? new LiveTape(this.journal, sessionId, () => this.secrets()) : known;
    this.tapes.set(sessionId, tape);
    const last = Number(request.headers.get('last-event-id') ?? search.get('after') ?? 0);
    const from = Number.isSafeInteger(last) && last > 0 ? last : 0;
    return pushedEvents((writer) => void this.follow(tape, sessionId, from, writer), mostWaiting);
  }

  private async follow(tape: LiveTape, sessionId: string, from: number, writer: EventWriter): Promise<void> {
    const reader = (piece: TapePiece) =>
      writer.send({ ...('entries' in piece && { id: piece.after + piece.entries.length }), data: piece });
    const leave = await tape.join(reader, from).catch((error) => {
      reader({ failure: redact(messageOf(error), writtenSecrets(this.secrets())) });
      writer.end();
      return () => undefined;
    });
    const end = () => writer.end();
    this.feeds.add(end);
    writer.onClose(() => {
      this.feeds.delete(end);
      leave();
      if (!tape.isIdle) return;
      tape.close();
      if (this.tapes.get(sessionId) === tape) this.tapes.delete(sessionId);
    });
  }

  /** Streams the rows of all sessions, then those that change; with `about`, also what each was about, as it is read. */
  private feed(about: boolean): Response {
    return pushedEvents((writer) => {
      const told = new Map<string, string>();
      const toldOf = new Map<string, SessionSummary>();
      let [since, looks] = [0, 0];
      let cancel = () => {};
      const end = () => writer.end();
      this.feeds.add(end);
      writer.onClose(() => {
        cancel();
        this.feeds.delete(end);
      });
      const tell = async () => {
        // Only the whole list shows expired leases and deleted sessions.
        const isWhole = looks % wholeEvery === 0;
        looks += 1;
        const rows = (await this.journal.list(isWhole ? {} : { since })).map((row) => cleanRow(row, this.secrets()));
        if (!writer.isOpen) return;
        since = rows.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), since);
        const here = new Set(rows.map(({ sessionId }) => sessionId));
        const gone = isWhole ? [...told.keys()].filter((id) => !here.has(id)) : [];
        const news = rows.filter((row) => told.get(row.sessionId) !== JSON.stringify(row));
        for (const row of news) told.set(row.sessionId, JSON.stringify(row));
        for (const id of gone) told.delete(id);
        // A session that runs would be read again and again.
        if (about && looks % readEvery === 1) this.index.follow().catch(failed);
        const summaries = about ? [...told.keys()].flatMap((id) => this.index.summaryOf(id) ?? []) : [];
        const known = summaries.filter((one) => toldOf.get(one.sessionId) !== one);
        for (const one of known) toldOf.set(one.sessionId, one);
        if (news.length + gone.length + known.length > 0 || looks === 1)
          writer.send({ data: { rows: news, gone, isWhole: looks === 1, ...(about && { about: known }) } });
        cancel = systemClock.alarm(lookMs, follow);
      };
      // The reader shows the failure, and reconnects by itself.
      const failed = (error: unknown) => {
        writer.send({ data: { failure: redact(messageOf(error), writtenSecrets(this.secrets())) } });
        writer.end();
      };
      const follow = () => void tell().catch(failed);
      follow();
    }, mostWaiting);
  }
}

async function postCommand(journal: WatchedJournal, sessionId: string, given: unknown): Promise<boolean> {
  const one = check(commandSchema, given, 'command', 'invalid_options');
  switch (one.type) {
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

/** The session that a path is about, and what of it. */
function placeOf(path: string): { sessionId: string; what: string } {
  const [, id = '', what = ''] = /^\/sessions\/([^/]+)\/(\w+)$/.exec(path) ?? [];
  try {
    return { sessionId: decodeURIComponent(id), what };
  } catch {
    throw new Refusal(400, 'no such address');
  }
}
