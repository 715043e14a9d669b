import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import { type Agent, isAgent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { check } from '../input/check.ts';
import { expected, PawlError } from '../input/errors.ts';
import { aFunction } from '../input/shapes.ts';
import { aJournal } from '../journal/given.ts';
import type { JournaledSession } from '../journal/journal.ts';
import { oneAtATimePerKey } from '../platform/promises.ts';
import { randomId } from '../platform/random-id.ts';
import { answerFor, type Given, givenBy, isResponse, requestCopy } from '../serve/given.ts';
import { jsonBody, UnusableBody } from '../serve/json-body.ts';
import { commonOptions } from '../session/common-options.ts';
import { sessionInput } from '../session/input.ts';
import type { SessionOptions } from '../session/options.ts';
import { abortSession, answerSession, approveSession } from '../session/recovery/messages.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import type { Session } from '../session/session.ts';
import { startSession } from '../session/start-session.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import type { CallReference } from './call-reference.ts';
import { followSession } from './follow-session.ts';
import { type Followed, toUIMessageStreamResponse } from './ui-message-stream.ts';
import { readUIRequest, type UIRequest } from './ui-request.ts';

/** The options of every session of a chat, as for `startSession`. */
export type ChatOptions<Context = unknown> = Pick<
  SessionOptions,
  'journal' | 'logger' | 'onEvent' | 'telemetry' | 'budget'
> & { metadata?: MetadataOf } & (unknown extends Context
    ? { context?: ContextOf<Context> }
    : { context: ContextOf<Context> });

/** Returns the `metadata` of a session from the request that starts it; it may read the request's body, which `request.clone()` lets it do twice. */
type MetadataOf = (request: Request) => Metadata | Promise<Metadata>;

/**
 * Returns the `context` of the session that a request starts or resumes. Both are called for every request of a chat, so
 * that they can refuse a caller: what they throw, if it is a `Response`, is the answer. If they throw anything else, or
 * return what does not fit, the answer is 500, and the log holds the reason.
 */
type ContextOf<Context> = (request: Request) => Context | Promise<Context>;

const optionsSchema = z.strictObject({
  journal: aJournal.optional(),
  logger: commonOptions.logger,
  onEvent: commonOptions.onEvent,
  telemetry: commonOptions.telemetry,
  budget: z.unknown().optional(),
  context: aFunction.optional(),
  metadata: aFunction.optional(),
} satisfies Record<keyof ChatOptions, z.ZodType>);

const chatIdSchema = z.string().regex(/^[\w-]{1,128}$/, { error: '1 to 128 letters, digits, _ or -' });

/**
 * Returns a handler for `useChat`, for any server that speaks `Request` and `Response`, at any path:
 *
 * - `POST PATH`: a new message starts a session; a person's decisions reach the session that waits for them, also one
 *   that another process runs, through the `journal`.
 * - `GET PATH/CHAT/stream`: a reloaded page joins the running session of its chat; 204 if no session is running.
 * - `DELETE PATH/CHAT`: aborts the session of the chat.
 *
 * A page that goes away leaves its session running. The handler checks no caller: whoever may use a chat's id may use
 * the chat, unless `context` or `metadata` throws a `Response`, which is the answer then. Bad input is answered with 400
 * and a sentence, a body of more than 32 MiB with 413, a session that another agent or release began with 409, and a
 * journal that is away with 503. Throws `invalid_options` and `invalid_budget`.
 */
export function chatHandler<Report, Context>(
  agent: Agent<Report, Context>,
  ...[options]: unknown extends Context ? [options?: ChatOptions<Context>] : [options: ChatOptions<Context>]
): (request: Request) => Promise<Response> {
  if (!isAgent(agent)) throw new PawlError('invalid_options', expected('agent', agent, 'an agent made by defineAgent'));
  check(optionsSchema, options ?? {}, 'options', 'invalid_options');
  sessionInput(agent, options?.budget ?? {}, 0);
  if (options?.context === undefined) checkContext(agent, undefined);
  const chats = new Chats(agent, (options ?? {}) as ChatOptions);
  return async (request) => {
    try {
      return await answer(chats, request);
    } catch (error) {
      // `context` and `metadata` may refuse a caller with an answer of their own.
      if (isResponse(error)) return error;
      if (error instanceof UnusableBody) return Response.json({ error: error.message }, { status: error.status });
      const { status, message } = answerFor(error, options?.logger, [agent]);
      return Response.json({ error: message }, { status });
    }
  };
}

async function answer(chats: Chats, request: Request): Promise<Response> {
  const path = new URL(request.url).pathname.split('/');
  while (path.at(-1) === '') path.pop();
  switch (request.method) {
    case 'POST': {
      const own = requestCopy(request, chats.options);
      const [body, given] = await jsonBody(own, [request], () => chats.given(request));
      return chats.post(await readUIRequest(body), given);
    }
    case 'GET':
      if (path.at(-1) !== 'stream') return new Response(null, { status: 404 });
      return chats.join(chatIdOf(path.at(-2)), await chats.given(request));
    case 'DELETE': {
      const chatId = chatIdOf(path.at(-1));
      await chats.given(request);
      await chats.abort(chatId);
      return new Response(null, { status: 204 });
    }
    default:
      return new Response(null, { status: 405, headers: { allow: 'GET, POST, DELETE' } });
  }
}

function chatIdOf(text: unknown): string {
  return check(chatIdSchema, text, 'id', 'invalid_messages');
}

/** Without a journal, this many ended sessions are kept, so that a late decision finds how they ended. */
const mostEnded = 100;

/** The chats of an agent: each has at most one session that has not ended. */
class Chats {
  private readonly agent: Agent;
  readonly options: ChatOptions;
  /** The last session of each chat, in the order in which they began. */
  private readonly sessions = new Map<string, Session>();
  private readonly ended = new Set<Session>();
  /** The calls that were decided, by the id of their session: its events may not say so yet. */
  private readonly decided = new Map<string, CallReference[]>();
  /** The requests of each chat are answered one after the other. */
  private readonly inTurn = oneAtATimePerKey();

  constructor(agent: Agent, options: ChatOptions) {
    this.agent = agent;
    this.options = options;
  }

  /** What a request gives its session, unless it is refused. */
  given(request: Request): Promise<Given> {
    return givenBy(request, this.agent, this.options);
  }

  post(asked: UIRequest, given: Given): Promise<Response> {
    return this.inTurn(chatIdOf(asked.chatId), () =>
      asked.decided === null ? this.begin(asked, given) : this.decide(asked.chatId, asked.decided, given),
    );
  }

  join(chatId: string, given: Given): Promise<Response> {
    return this.inTurn(chatId, async () => {
      const known = this.sessions.get(chatId);
      if (known !== undefined && !this.ended.has(known)) return this.streamed(known);
      // Another process may run a later session.
      const [newest] = await this.recorded(chatId);
      if (newest === undefined || !isUnended(newest)) return new Response(null, { status: 204 });
      return this.streamed(await this.session(chatId, newest.sessionId, given));
    });
  }

  /** Resolves when the session of this process has ended. */
  async abort(chatId: string): Promise<void> {
    const known = this.sessions.get(chatId);
    await this.inTurn(chatId, async () => this.end(this.sessions.get(chatId), await this.unended(chatId)));
    await known?.result;
    if (this.sessions.get(chatId) === known) this.sessions.delete(chatId);
  }

  private async begin({ chatId, messages }: UIRequest, { context, metadata }: Given): Promise<Response> {
    const { context: _, metadata: __, ...options } = this.options;
    const [known, earlier] = [this.sessions.get(chatId), await this.unended(chatId)];
    const sessionId = `${chatId}:${randomId()}`;
    const own = { context, messages, sessionId, ...(metadata !== undefined && { metadata }) };
    const session = startSession(this.agent, { ...options, ...own });
    this.keep(chatId, session);
    // What still waits for a decision will not get one any more.
    await this.end(known, earlier).catch((error) => {
      // The page learns that its message failed, and nothing of the session.
      session.abort('an earlier session of its chat could not be ended');
      throw error;
    });
    return toUIMessageStreamResponse(session);
  }

  private async decide(chatId: string, decided: NonNullable<UIRequest['decided']>, given: Given) {
    const { sessionId, from, decisions, answers } = decided;
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
    return this.streamed(session, from);
  }

  private streamed(session: Session | Followed, from = 0): Response {
    return toUIMessageStreamResponse(session, { from, decided: this.decided.get(session.sessionId) ?? [] });
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
      if (!(error instanceof PawlError) || error.code !== 'session_taken') throw error;
      return followSession(journal, sessionId, {
        secrets: secretsOf(this.agent.definition),
        // Resumes the session here, so that the user need not reload the page.
        suspended: () => this.inTurn(chatId, () => this.session(chatId, sessionId, given)),
      });
    }
  }

  private keep(chatId: string, session: Session): void {
    this.sessions.delete(chatId);
    this.sessions.set(chatId, session);
    void session.result.then(({ status }) => {
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
    return (await this.recorded(chatId)).filter(isUnended).map(({ sessionId }) => sessionId);
  }

  /** Returns the sessions of a chat in the journal, the newest first. */
  private async recorded(chatId: string): Promise<JournaledSession[]> {
    const rows = await this.options.journal?.list({ idPrefix: `${chatId}:`, agent: this.agent.name });
    return (rows ?? []).toSorted((one, other) => other.createdAt - one.createdAt);
  }
}

function isUnended({ status }: JournaledSession): boolean {
  return status === 'running' || status === 'suspended';
}
