import { z } from 'zod';
import type { Agent } from '../../agent/definition.ts';
import { secretsOf } from '../../agent/secrets.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import type { JournaledSession } from '../../journal/journal.ts';
import { oneAtATimePerKey } from '../../platform/promises.ts';
import { randomId } from '../../platform/random-id.ts';
import { answerFor, type Given, givenBy, guarded } from '../../serve/given.ts';
import { defaultMaxSessions, TooManySessions } from '../../serve/sessions.ts';
import type { SessionOptions } from '../../session/options.ts';
import { endForGood } from '../../session/recovery/end-for-good.ts';
import { abortSession } from '../../session/recovery/messages.ts';
import { resumeSession } from '../../session/recovery/resume-session.ts';
import type { Session } from '../../session/session.ts';
import { startedAs } from '../../session/start-session.ts';
import type { CallReference } from '../call-reference.ts';
import { followSession } from '../follow-session.ts';
import { type Followed, toUIMessageStreamResponse, type UIStreamOptions } from '../ui-message-stream.ts';
import type { ChatAction, ChatOptions } from './chat-options.ts';
import {
  type ChatBeginning,
  chatNumber,
  continuedBy,
  endedElsewhere,
  isBegun,
  isOpenSession,
  mostTries,
  noSession,
  unlikeText,
} from './history.ts';
import { declineAll, passOn } from './passed-on.ts';
import { toUIMessages } from './ui-history.ts';
import type { UIRequest } from './ui-request.ts';

const chatIdSchema = z.string().regex(/^[\w-]{1,128}$/, { error: '1 to 128 letters, digits, _ or -' });

export function chatIdOf(text: unknown): string {
  return check(chatIdSchema, text, 'id', 'invalid_messages');
}

type Tell = (session: Followed, options: UIStreamOptions) => Response;

/** Without a journal, this many ended sessions are kept, so that a late decision finds how they ended. */
const mostEnded = 100;

/** The chats of an agent: each has at most one session that has not ended. */
export class Chats {
  private readonly agent: Agent;
  readonly options: ChatOptions;
  private readonly asks: boolean;
  /** The last session of each chat, in the order in which they began. */
  private readonly sessions = new Map<string, Session>();
  private readonly ended = new Set<Session>();
  private readonly running = new Set<Session>();
  /** The calls that were decided, by the id of their session: its events may not say so yet. */
  private readonly decided = new Map<string, CallReference[]>();
  /** The requests of each chat are answered one after the other. */
  private readonly inTurn = oneAtATimePerKey();

  /** `asks`: whether the page can answer what MCP servers ask; otherwise, it is declined. */
  constructor(agent: Agent, options: ChatOptions, asks: boolean) {
    this.agent = agent;
    this.options = options;
    this.asks = asks;
  }

  /** The segments of a request's path below that of the handler; null for a path elsewhere. */
  pathOf(request: Request): string[] | null {
    const segments = (path: string) => path.replace(/\/+$/, '').split('/');
    const [own, asked] = [segments(this.options.path ?? '/api/chat'), segments(new URL(request.url).pathname)];
    return own.every((segment, index) => asked[index] === segment) ? asked.slice(own.length) : null;
  }

  /** Throws the answer to a caller who may not do this. */
  async authorize(asked: ChatAction): Promise<void> {
    const { authorize } = this.options;
    if (authorize === undefined) return;
    const isAllowed: unknown = await guarded(() => authorize(asked), this.agent, this.options.logger);
    if (isAllowed !== true) throw Response.json({ error: 'not permitted' }, { status: 403 });
  }

  /** What a request gives its session, unless it is refused. */
  given(request: Request): Promise<Given> {
    return givenBy(request, this.agent, this.options);
  }

  /** `tell`: how the session is told. */
  post(asked: UIRequest, given: Given, tell: Tell = toUIMessageStreamResponse): Promise<Response> {
    return this.inTurn(chatIdOf(asked.chatId), async () => {
      const { chatId, decided } = asked;
      if (decided === null) return this.streamed(await this.begin(asked, given), tell);
      return this.streamed(await this.decide(chatId, decided, given), tell, decided.from);
    });
  }

  join(chatId: string, given: Given): Promise<Response> {
    return this.inTurn(chatId, async () => {
      const known = this.sessions.get(chatId);
      if (known !== undefined && !this.ended.has(known)) return this.streamed(known);
      // Another process may run a later session.
      const [newest] = await this.recorded(chatId);
      if (newest === undefined || !isOpenSession(newest)) return new Response(null, { status: 204 });
      return this.streamed(await this.session(chatId, newest.sessionId, given));
    });
  }

  /** The messages of a chat, as its journal holds them; empty without one. */
  async read(chatId: string): Promise<object[]> {
    const { journal, onError } = this.options;
    if (journal === undefined) return [];
    const secrets = secretsOf(this.agent.definition);
    return toUIMessages(journal, {
      chatId,
      agent: this.agent.name,
      secrets,
      ...(onError !== undefined && { onError }),
    });
  }

  /** Resolves when the session of this process has ended. */
  async abort(chatId: string): Promise<void> {
    const known = this.sessions.get(chatId);
    await this.inTurn(chatId, async () => this.end(this.sessions.get(chatId), await this.unended(chatId)));
    await known?.result;
    if (this.sessions.get(chatId) === known) this.sessions.delete(chatId);
  }

  private async begin(asked: UIRequest, given: Given): Promise<Session> {
    const { context, metadata } = given;
    const { chatId } = asked;
    const { maxSessions = defaultMaxSessions } = this.options;
    const known = this.sessions.get(chatId);
    // The session that this one takes the place of is no other.
    const isReplaced = known !== undefined && this.running.has(known);
    if (this.running.size - (isReplaced ? 1 : 0) >= maxSessions) throw new TooManySessions(maxSessions);
    const { messages = [], chat } = await this.beginningOf(asked, given);
    const own = { context, messages, ...(metadata !== undefined && { metadata }) };
    const { session, earlier } = await this.started(chatId, own, chat);
    this.keep(chatId, session);
    // Its place is taken, however long it takes to end.
    if (known !== undefined) this.running.delete(known);
    // What still waits for a decision will not get one any more.
    await this.end(known, earlier).catch((error) => {
      // The page learns that its message failed, and nothing of the session.
      session.abort('an earlier session of its chat could not be ended');
      throw error;
    });
    return session;
  }

  /** What a new session begins with: what the page says, or what the journal holds with the user's last message. */
  private async beginningOf({ chatId, messages, added }: UIRequest, given: Given): Promise<Partial<ChatBeginning>> {
    const { journal, history = 'journal' } = this.options;
    if (journal === undefined || history === 'page' || added === null) return { messages };
    // What is said until its end is part of the conversation.
    const known = this.sessions.get(chatId);
    known?.abort();
    await known?.result;
    for (const sessionId of await this.unended(chatId)) {
      const session = await this.reached(chatId, sessionId, given);
      if (session === 'unlike') await endForGood(journal, sessionId, unlikeText);
      else if (session === 'taken') await endedElsewhere(journal, sessionId);
      else {
        session.abort();
        await session.result;
      }
    }
    return continuedBy(added, journal, await this.recorded(chatId));
  }

  /**
   * Starts a session under the next number of its chat. The id is unique in the journal, so that of two processes one
   * begins it; the other takes the number after, and ends the first.
   */
  private async started(
    chatId: string,
    own: Pick<SessionOptions, 'context' | 'messages' | 'metadata'>,
    chat: ChatBeginning['chat'] | undefined,
  ) {
    const {
      context: _,
      metadata: __,
      path: ___,
      authorize: ____,
      maxSessions: _____,
      onError: ______,
      history: _______,
      ...options
    } = this.options;
    const { journal } = options;
    for (let tries = 1; ; tries += 1) {
      const recorded = await this.recorded(chatId);
      const earlier = recorded.filter(isOpenSession).map(({ sessionId }) => sessionId);
      const last = Math.max(0, ...recorded.map(({ sessionId }) => chatNumber(sessionId)));
      const sessionId = `${chatId}:${journal === undefined ? randomId() : last + 1}`;
      const session = startedAs(this.agent, { ...options, ...own, sessionId }, chat === undefined ? {} : { chat });
      if (journal === undefined || tries === mostTries || (await isBegun(session))) return { session, earlier };
      const isTaken = (await this.recorded(chatId)).some((one) => one.sessionId === sessionId);
      if (!isTaken) return { session, earlier };
    }
  }

  private async decide(chatId: string, decided: NonNullable<UIRequest['decided']>, given: Given) {
    const { sessionId } = decided;
    const session = await this.session(chatId, sessionId, given);
    const taken = this.decided.get(sessionId) ?? [];
    this.decided.set(sessionId, taken);
    const [first] = this.decided.keys();
    if (this.decided.size > 1_000 && first !== undefined) this.decided.delete(first);
    await passOn(decided, session, this.options.journal, taken);
    return session;
  }

  private streamed(session: Session | Followed, tell: Tell = toUIMessageStreamResponse, from = 0): Response {
    const { onError } = this.options;
    const decided = this.decided.get(session.sessionId) ?? [];
    return tell(session, { from, decided, ...(onError !== undefined && { onError }) });
  }

  private async end(session: Session | undefined, unended: readonly string[]): Promise<void> {
    session?.abort();
    const { journal } = this.options;
    const others = unended.filter((sessionId) => sessionId !== session?.sessionId);
    if (journal !== undefined) for (const sessionId of others) await abortSession(journal, sessionId);
  }

  /** Returns a session of the chat: from this process, from the journal, or as the journal tells it. */
  private async session(chatId: string, sessionId: string, given: Given): Promise<Session | Followed> {
    const session = await this.reached(chatId, sessionId, given);
    if (typeof session !== 'string') return session;
    const { journal } = this.options;
    if (journal === undefined) throw noSession(chatId, sessionId);
    return followSession(journal, sessionId, {
      secrets: secretsOf(this.agent.definition),
      // Resumes the session here, so that the user need not reload the page.
      suspended: session === 'unlike' ? null : () => this.inTurn(chatId, () => this.session(chatId, sessionId, given)),
    });
  }

  /** Returns a session that runs here, or is resumed here; `unlike`: this agent cannot continue it, as the log says. */
  private async reached(chatId: string, sessionId: string, given: Given): Promise<Session | 'taken' | 'unlike'> {
    const known = this.sessions.get(chatId);
    if (known?.sessionId === sessionId) return known;
    const { journal, logger, onEvent, telemetry } = this.options;
    const isOurs = (await this.recorded(chatId)).some((row) => row.sessionId === sessionId);
    if (journal === undefined || !isOurs) throw noSession(chatId, sessionId);
    try {
      const observers = {
        ...(logger !== undefined && { logger }),
        ...(onEvent && { onEvent }),
        ...(telemetry && { telemetry }),
      };
      const session = await resumeSession(this.agent, { journal, sessionId, context: given.context, ...observers });
      this.keep(chatId, session);
      return session;
    } catch (error) {
      const code = error instanceof PawlError ? error.code : null;
      if (code === 'session_taken') return 'taken';
      if (code !== 'agent_changed' && code !== 'machines_changed') throw error;
      answerFor(error, logger, [this.agent]);
      return 'unlike';
    }
  }

  private keep(chatId: string, session: Session): void {
    if (!this.asks) void declineAll(session);
    this.sessions.delete(chatId);
    this.sessions.set(chatId, session);
    this.running.add(session);
    void session.result.then(({ status }) => {
      this.running.delete(session);
      if (this.sessions.get(chatId) !== session) return;
      // From its journal, a suspended session continues, and one that has ended is read again.
      if (status === 'suspended' || this.options.journal !== undefined) this.sessions.delete(chatId);
      else this.ended.add(session);
      this.forget();
    });
  }

  /** Forgets the sessions that ended first, and those that another has followed. */
  private forget(): void {
    const kept = new Set(this.sessions.values());
    for (const session of this.ended) if (!kept.has(session)) this.ended.delete(session);
    for (const [chatId, session] of this.sessions) {
      if (this.ended.size <= mostEnded) return;
      if (this.ended.delete(session)) this.sessions.delete(chatId);
    }
  }

  private async unended(chatId: string): Promise<string[]> {
    return (await this.recorded(chatId)).filter(isOpenSession).map(({ sessionId }) => sessionId);
  }

  /** Returns the sessions of a chat in the journal, the newest first. */
  private async recorded(chatId: string): Promise<JournaledSession[]> {
    const rows = await this.options.journal?.list({ idPrefix: `${chatId}:`, agent: this.agent.name });
    return (rows ?? []).toSorted((one, other) => other.createdAt - one.createdAt);
  }
}
