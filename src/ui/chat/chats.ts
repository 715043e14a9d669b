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
import { abortSession, answerSession, approveSession } from '../../session/recovery/messages.ts';
import { resumeSession } from '../../session/recovery/resume-session.ts';
import type { Session } from '../../session/session.ts';
import { startSession } from '../../session/start-session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import type { CallReference } from '../call-reference.ts';
import { followSession } from '../follow-session.ts';
import { type Followed, toUIMessageStreamResponse, type UIStreamOptions } from '../ui-message-stream.ts';
import type { ChatAction, ChatOptions } from './chat-options.ts';
import { chatNumber, continuedBy, isBegun, isOpenSession } from './history.ts';
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

  private async begin(asked: UIRequest, { context, metadata }: Given): Promise<Session> {
    const { chatId } = asked;
    const { maxSessions = defaultMaxSessions } = this.options;
    const known = this.sessions.get(chatId);
    // The session that this one takes the place of is no other.
    const isReplaced = known !== undefined && this.running.has(known);
    if (this.running.size - (isReplaced ? 1 : 0) >= maxSessions) throw new TooManySessions(maxSessions);
    const messages = await this.messagesOf(asked);
    const { session, earlier } = await this.started(chatId, {
      ...{ context, messages },
      ...(metadata !== undefined && { metadata }),
    });
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
  private async messagesOf({ chatId, messages, added }: UIRequest): Promise<SessionOptions['messages'] & object> {
    const { journal, history = 'journal' } = this.options;
    if (journal === undefined || history === 'page' || added === null) return messages;
    // What is said until its end is part of the conversation.
    const known = this.sessions.get(chatId);
    known?.abort();
    await known?.result;
    return continuedBy(added, journal, await this.recorded(chatId));
  }

  /**
   * Starts a session under the next number of its chat. The id is unique in the journal, so that of two processes one
   * begins it; the other takes the number after, and ends the first.
   */
  private async started(chatId: string, own: Pick<SessionOptions, 'context' | 'messages' | 'metadata'>) {
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
      const session = startSession(this.agent, { ...options, ...own, sessionId });
      if (journal === undefined || tries === mostTries || (await isBegun(session))) return { session, earlier };
      const isTaken = (await this.recorded(chatId)).some((one) => one.sessionId === sessionId);
      if (!isTaken) return { session, earlier };
    }
  }

  private async decide(chatId: string, decided: NonNullable<UIRequest['decided']>, given: Given) {
    const { sessionId, decisions, answers } = decided;
    const session = await this.session(chatId, sessionId, given);
    const { journal } = this.options;
    const taken = this.decided.get(sessionId) ?? [];
    this.decided.set(sessionId, taken);
    const [first] = this.decided.keys();
    if (this.decided.size > 1_000 && first !== undefined) this.decided.delete(first);
    const decide = async (decision: (typeof decisions)[number]) => {
      const { callId, ...rest } = decision;
      const isTaken =
        'approve' in session
          ? session.approve(callId, rest)
          : journal !== undefined && (await approveSession(journal, sessionId, callId, rest));
      if (isTaken) taken.push(decision);
    };
    const give = async ({ callId, output, isError, ...one }: (typeof answers)[number]) => {
      // Outputs that the page has from the session answer nothing.
      const options = { isError, sessionId: one.sessionId };
      const isTaken =
        'answer' in session
          ? session.answer(callId, output, options)
          : journal !== undefined && (await answerSession(journal, sessionId, callId, output, options));
      if (isTaken) taken.push({ ...one, callId });
    };
    await Promise.all([...decisions.map(decide), ...answers.map(give)]);
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

  /** Returns a session of the chat: from this process, from the journal, or as another process runs it. */
  private async session(chatId: string, sessionId: string, given: Given): Promise<Session | Followed> {
    const known = this.sessions.get(chatId);
    if (known?.sessionId === sessionId) return known;
    const { journal, logger, onEvent, telemetry } = this.options;
    if (journal === undefined || !sessionId.startsWith(`${chatId}:`))
      throw new PawlError('session_unknown', `The chat ${chatId} has no session ${sessionId}.`);
    try {
      const observed = {
        ...(logger !== undefined && { logger }),
        ...(onEvent !== undefined && { onEvent }),
        ...(telemetry !== undefined && { telemetry }),
      };
      const session = await resumeSession(this.agent, { journal, sessionId, context: given.context, ...observed });
      this.keep(chatId, session);
      return session;
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      const isOther = error.code === 'agent_changed' || error.code === 'machines_changed';
      if (isOther) {
        // Nobody can continue it, so it ends, and its chat continues. The log has the differences.
        answerFor(error, logger, [this.agent]);
        await endForGood(journal, sessionId, unlikeText);
      } else if (error.code !== 'session_taken') throw error;
      return followSession(journal, sessionId, {
        secrets: secretsOf(this.agent.definition),
        // Resumes the session here, so that the user need not reload the page.
        suspended: () => this.inTurn(chatId, () => this.session(chatId, sessionId, given)),
      });
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

async function declineAll(session: Session): Promise<void> {
  for await (const event of session.events) declineQuestion(event, session);
}

/** What the page of a chat is told of a session that its server can no longer continue. */
const unlikeText = 'The agent has changed since this began, so it cannot continue. Ask again.';

/** How many numbers a session of a chat is begun under before its failure is its answer. */
const mostTries = 5;
