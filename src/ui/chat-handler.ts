import { z } from 'zod';
import { check } from '../agent/check.ts';
import type { Agent } from '../agent/definition.ts';
import { isAgent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { expected, messageOf, PawlError } from '../errors.ts';
import type { Session, SessionOptions } from '../session/options.ts';
import { abortSession, approveSession } from '../session/recovery/messages.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import { startSession } from '../session/start-session.ts';
import { followSession } from './follow-session.ts';
import { type Followed, toUIMessageStreamResponse } from './ui-message-stream.ts';
import { readUIRequest, type UIDecision, type UIRequest } from './ui-request.ts';

/** The options of every session of a chat, as for `startSession`. */
export type ChatOptions<Context = unknown> = Pick<SessionOptions, 'journal' | 'logger' | 'onEvent' | 'budget'> &
  (unknown extends Context ? { context?: ContextOf<Context> } : { context: ContextOf<Context> });

/** Returns the `context` of a session from the request that starts or resumes it. */
type ContextOf<Context> = (request: Request) => Context | Promise<Context>;

const chatIdSchema = z.string().regex(/^[\w-]{1,128}$/, { error: '1 to 128 letters, digits, _ or -' });

/**
 * Returns a handler for `useChat`, for any server that speaks `Request` and `Response`, at any path:
 *
 * - `POST PATH`: a new message starts a session; a person's decisions reach the session that waits for them, also one
 *   that another process runs, through the `journal`.
 * - `GET PATH/CHAT/stream`: a page that was loaded again joins the session of its chat; 204 if there is none.
 * - `DELETE PATH/CHAT`: aborts the session of the chat.
 *
 * A page that goes away leaves its session running. The handler checks no caller: whoever may use a chat's id may use
 * the chat. Bad input is answered with 400, and a sentence.
 */
export function chatHandler<Report, Context>(
  agent: Agent<Report, Context>,
  ...[options]: unknown extends Context ? [options?: ChatOptions<Context>] : [options: ChatOptions<Context>]
): (request: Request) => Promise<Response> {
  if (!isAgent(agent)) throw new PawlError('invalid_options', expected('agent', agent, 'an agent made by defineAgent'));
  const chats = new Chats(agent, (options ?? {}) as ChatOptions);
  return async (request) => {
    try {
      return await answer(chats, request);
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      return Response.json({ error: error.message }, { status: statuses[error.code] ?? 400 });
    }
  };
}

const statuses: Partial<Record<PawlError['code'], number>> = { session_unknown: 404, journal_failed: 503 };

async function answer(chats: Chats, request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.replace(/\/+$/, '').split('/');
  switch (request.method) {
    case 'POST': {
      const body = await request.json().catch((error) => {
        throw new PawlError('invalid_messages', `The body is no JSON: ${messageOf(error)}.`);
      });
      return chats.post(await readUIRequest(body), request);
    }
    case 'GET':
      if (path.at(-1) !== 'stream') return new Response(null, { status: 404 });
      return chats.join(chatIdOf(path.at(-2)), request);
    case 'DELETE':
      await chats.abort(chatIdOf(path.at(-1)));
      return new Response(null, { status: 204 });
    default:
      return new Response(null, { status: 405, headers: { allow: 'GET, POST, DELETE' } });
  }
}

function chatIdOf(text: unknown): string {
  return check(chatIdSchema, text, 'id', 'invalid_messages');
}

/** The chats of an agent: each has at most one session that has not ended. */
class Chats {
  private readonly agent: Agent;
  private readonly options: ChatOptions;
  private readonly running = new Map<string, Session>();

  constructor(agent: Agent, options: ChatOptions) {
    this.agent = agent;
    this.options = options;
  }

  async post({ chatId, messages, decided }: UIRequest, request: Request): Promise<Response> {
    chatIdOf(chatId);
    if (decided !== null) {
      const { sessionId, from, decisions } = decided;
      const session = await this.session(chatId, sessionId, request);
      for (const decision of decisions) await this.decide(session, sessionId, decision);
      return toUIMessageStreamResponse(session, { from, decided: decisions });
    }
    // What still waits for a decision will not get one any more.
    await this.abort(chatId);
    const sessionId = `${chatId}:${crypto.randomUUID()}`;
    const { context: contextOf, ...options } = this.options;
    const context = await contextOf?.(request);
    const session = startSession(this.agent, { ...options, context, messages, sessionId });
    this.keep(chatId, session);
    return toUIMessageStreamResponse(session);
  }

  async join(chatId: string, request: Request): Promise<Response> {
    const known = this.running.get(chatId);
    const sessionId = known?.sessionId ?? (await this.unended(chatId));
    if (sessionId === null) return new Response(null, { status: 204 });
    return toUIMessageStreamResponse(known ?? (await this.session(chatId, sessionId, request)));
  }

  async abort(chatId: string): Promise<void> {
    const known = this.running.get(chatId);
    known?.abort();
    const { journal } = this.options;
    const sessionId = known === undefined ? await this.unended(chatId) : null;
    if (sessionId !== null && journal !== undefined) await abortSession(journal, sessionId);
  }

  /** Returns a session of the chat: from this process, from the journal, or as another process runs it. */
  private async session(chatId: string, sessionId: string, request: Request): Promise<Session | Followed> {
    const known = this.running.get(chatId);
    if (known?.sessionId === sessionId) return known;
    const { journal, logger, onEvent, context: contextOf } = this.options;
    if (journal === undefined || !sessionId.startsWith(`${chatId}:`))
      throw new PawlError('session_unknown', `The chat ${chatId} has no session ${sessionId}.`);
    const context = await contextOf?.(request);
    try {
      const observed = { ...(logger !== undefined && { logger }), ...(onEvent !== undefined && { onEvent }) };
      const session = await resumeSession(this.agent, { journal, sessionId, context, ...observed });
      this.keep(chatId, session);
      return session;
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== 'session_taken') throw error;
      return followSession(journal, sessionId, { secrets: secretsOf(this.agent.definition) });
    }
  }

  private async decide(session: Session | Followed, sessionId: string, decision: UIDecision): Promise<void> {
    const { callId, ...rest } = decision;
    const { journal } = this.options;
    // A call that has been decided meanwhile stays as it is.
    if ('approve' in session) session.approve(callId, rest);
    else if (journal !== undefined) await approveSession(journal, sessionId, callId, rest);
  }

  private keep(chatId: string, session: Session): void {
    this.running.set(chatId, session);
    void session.result.then(() => {
      if (this.running.get(chatId) === session) this.running.delete(chatId);
    });
  }

  /** Returns the last session of a chat in the journal, if it has not ended. */
  private async unended(chatId: string): Promise<string | null> {
    const sessions = (await this.options.journal?.list({ agent: this.agent.name })) ?? [];
    const last = sessions.find(({ sessionId }) => sessionId.startsWith(`${chatId}:`));
    return last !== undefined && ['running', 'suspended'].includes(last.status) ? last.sessionId : null;
  }
}
