import type { Agent } from '../../agent/definition.ts';
import { pulledEvents, type SentEvent } from '../../serve/event-stream.ts';
import { requestCopy } from '../../serve/given.ts';
import { jsonBody } from '../../serve/json-body.ts';
import { handlerOf } from '../chat/chat-handler.ts';
import type { ChatOptions } from '../chat/chat-options.ts';
import { type Chats, chatIdOf } from '../chat/chats.ts';
import type { Followed, UIStreamOptions } from '../ui-message-stream.ts';
import { readAgUiInput } from './ag-ui-input.ts';
import { agUiEvents } from './ag-ui-stream.ts';
import type { AgUiRun } from './run.ts';

/**
 * Returns a handler for clients of AG-UI 1.0, such as `HttpAgent`, for any server that speaks `Request` and `Response`. A
 * `POST` at any path is a run; a thread is a chat, as of `chatHandler`, with the same options: a new message starts a
 * session, and the answers to interrupts, or the outputs of client-side tools, reach the session that waits for them, with
 * a `journal` also after a crash. A client that goes away leaves its session running. The handler checks no caller, unless
 * `authorize` says no. Bad input is answered with 400. Throws `invalid_options` and `invalid_budget`.
 */
export function agUiHandler<Report, Context>(
  agent: Agent<Report, Context>,
  ...[options]: unknown extends Context ? [options?: ChatOptions<Context>] : [options: ChatOptions<Context>]
): (request: Request) => Promise<Response> {
  const answer = (chats: Chats, request: Request) => answeredRun(agent as Agent, chats, request);
  return handlerOf(agent as Agent, options as ChatOptions | undefined, answer, true);
}

async function answeredRun(agent: Agent, chats: Chats, request: Request): Promise<Response> {
  if (request.method !== 'POST') return new Response(null, { status: 405, headers: { allow: 'POST' } });
  const own = requestCopy(request, chats.options);
  const [body, given] = await jsonBody(own, [request], () => chats.given(request));
  const { asked, run } = readAgUiInput(body, agent);
  const sessionId = asked.decided?.sessionId ?? null;
  const action = sessionId === null ? 'send' : 'decide';
  await chats.authorize({ request, chatId: chatIdOf(asked.chatId), sessionId, action });
  return chats.post(asked, given, (session, options) => toldAsRun(session, run, options));
}

function toldAsRun(session: Followed, run: AgUiRun, options: UIStreamOptions): Response {
  const events = agUiEvents(session, run, options);
  const sent: AsyncIterator<SentEvent> = {
    next: async () => {
      const { value, done } = await events.next();
      return done === true ? { done, value: undefined } : { done: false, value: { data: value } };
    },
    return: async () => {
      await events.leave();
      return { done: true, value: undefined };
    },
  };
  return pulledEvents(sent);
}
