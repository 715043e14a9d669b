import { checkContext } from '../../agent/context.ts';
import { type Agent, requireAgent } from '../../agent/definition.ts';
import { check } from '../../input/check.ts';
import { PawlError } from '../../input/errors.ts';
import { answerFor, isResponse, requestCopy } from '../../serve/given.ts';
import { jsonBody, UnusableBody } from '../../serve/json-body.ts';
import { TooManySessions } from '../../serve/sessions.ts';
import { sessionInput } from '../../session/input.ts';
import { type ChatOptions, chatOptionsSchema } from './chat-options.ts';
import { Chats, chatIdOf } from './chats.ts';
import { readUIRequest } from './ui-request.ts';

/**
 * Returns a handler for `useChat`, for any server that speaks `Request` and `Response`. PATH is the option `path`:
 *
 * - `POST`, at any path, since the body names the chat: a new message starts a session; a person's decisions reach the
 *   session that waits for them, also one that another process runs, through the `journal`.
 * - `GET PATH/CHAT`: the messages of the chat, as its journal holds them, for a page that is loaded (see `toUIMessages`).
 * - `GET PATH/CHAT/stream`: a reloaded page joins the running session of its chat; 204 if no session is running.
 * - `DELETE PATH/CHAT`: aborts the session of the chat.
 *
 * With a `journal`, the server keeps what was said: of a page, only the last message of the user, decisions and client-side
 * answers are taken, so that no page can put words into the agent's mouth, or results into a tool's (`history`). A session
 * that this agent cannot continue, such as after a deployment, ends with that reason once the user writes again.
 *
 * A page that goes away leaves its session running, and a chat has one running session, also over several processes with
 * one `journal`. The handler checks no caller: whoever may use a chat's id may use the chat, unless `authorize` says no,
 * or it, `context` or `metadata` throws a `Response`, which is the answer then. Bad input is answered with 400 and a
 * sentence, any other path with 404, a body of more than 32 MiB with 413, and more than `maxSessions` or a journal that is away with 503. Throws `invalid_options` and `invalid_budget`.
 */
export function chatHandler<Report, Context>(
  agent: Agent<Report, Context>,
  ...[options]: unknown extends Context ? [options?: ChatOptions<Context>] : [options: ChatOptions<Context>]
): (request: Request) => Promise<Response> {
  return handlerOf(agent as Agent, options as ChatOptions | undefined, answer, false);
}

/** Returns a handler of the chats of an agent. What `answer` throws is an answer, too. Throws as `chatHandler` does. */
export function handlerOf(
  agent: Agent,
  options: ChatOptions = {},
  answer: (chats: Chats, request: Request) => Promise<Response>,
  asks: boolean,
): (request: Request) => Promise<Response> {
  requireAgent(agent);
  check(chatOptionsSchema, options, 'options', 'invalid_options');
  if (options.history === 'journal' && (asks || options.journal === undefined)) {
    const what = asks ? '`page`, since clients of AG-UI send the conversation' : '`page` without a `journal`';
    throw new PawlError('invalid_options', `\`options.history\` must be ${what}; got "journal".`);
  }
  sessionInput(agent, options.budget ?? {}, 0);
  if (options.context === undefined) checkContext(agent, undefined);
  const chats = new Chats(agent, options, asks);
  return async (request) => {
    try {
      return await answer(chats, request);
    } catch (error) {
      // `authorize`, `context` and `metadata` may refuse a caller with an answer of their own.
      if (isResponse(error)) return error;
      if (error instanceof TooManySessions) return Response.json({ error: error.message }, { status: 503 });
      if (error instanceof UnusableBody) return Response.json({ error: error.message }, { status: error.status });
      const { status, message } = answerFor(error, options.logger, [agent]);
      return Response.json({ error: message }, { status });
    }
  };
}

async function answer(chats: Chats, request: Request): Promise<Response> {
  const path = chats.pathOf(request);
  switch (request.method) {
    case 'POST': {
      const own = requestCopy(request, chats.options);
      const [body, given] = await jsonBody(own, [request], () => chats.given(request));
      const asked = await readUIRequest(body);
      const sessionId = asked.decided?.sessionId ?? null;
      const action = sessionId === null ? 'send' : 'decide';
      await chats.authorize({ request, chatId: chatIdOf(asked.chatId), sessionId, action });
      return chats.post(asked, given);
    }
    case 'GET': {
      const isRead = path?.length === 1 && path[0] !== '';
      if (!isRead && (path?.length !== 2 || path[1] !== 'stream')) return new Response(null, { status: 404 });
      const chatId = chatIdOf(path?.[0]);
      await chats.authorize({ request, chatId, sessionId: null, action: isRead ? 'read' : 'join' });
      const given = await chats.given(request);
      return isRead ? Response.json(await chats.read(chatId)) : chats.join(chatId, given);
    }
    case 'DELETE': {
      if (path?.length !== 1) return new Response(null, { status: 404 });
      const chatId = chatIdOf(path[0]);
      await chats.authorize({ request, chatId, sessionId: null, action: 'abort' });
      await chats.given(request);
      await chats.abort(chatId);
      return new Response(null, { status: 204 });
    }
    default:
      return new Response(null, { status: 405, headers: { allow: 'GET, POST, DELETE' } });
  }
}
