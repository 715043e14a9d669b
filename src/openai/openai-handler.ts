import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import { type Agent, requireAgent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { check } from '../input/check.ts';
import { PawlError, unexpected } from '../input/errors.ts';
import { aJournal } from '../journal/given.ts';
import type { Journal } from '../journal/journal.ts';
import type { SessionEvent } from '../observe/events.ts';
import { randomId } from '../platform/random-id.ts';
import { decodedUri } from '../platform/text.ts';
import { answerFor, givenBy, handlerShape, isResponse, requestCopy, ServerFault } from '../serve/given.ts';
import { jsonBody, UnusableBody } from '../serve/json-body.ts';
import { type ServedSessions, ServerSessions, TooManySessions } from '../serve/sessions.ts';
import { sessionInput } from '../session/input.ts';
import type { Session } from '../session/session.ts';
import { declineQuestion } from '../session/unasked.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import { answeredInPieces, answeredWhole } from './answering.ts';
import { Completion } from './completion.ts';
import { BadRequest, type CompletionRequest, completionRequest } from './completion-request.ts';
import { anthropicError, isForAnthropic, MessageAnswer } from './messages/message-answer.ts';
import { type MessageRequest, messageRequest } from './messages/message-request.ts';
import { openaiError } from './outcome.ts';
import { earlierConversation } from './responses/earlier-conversation.ts';
import { ResponseAnswer, responsePrefix } from './responses/response.ts';
import { type ResponseRequest, responseRequest } from './responses/response-request.ts';
import { SpokenText } from './spoken-text.ts';

export type OpenaiOptions = Omit<ServedSessions, 'context' | 'metadata'> & {
  /**
   * Where sessions are written down, so that a response can continue an earlier one (`previous_response_id`), also of
   * another process. Default: nowhere, and such requests are refused. With `metadata`, only one of the same metadata is found.
   */
  journal?: Journal;
  /**
   * Returns the `context` of a session from the request that starts it, whose body it may read. A `Response` that it throws
   * is the answer; if it throws anything else, or returns what does not fit, the answer is 500, and the log holds the reason.
   */
  context?: (request: Request) => unknown;
  /** Returns the `metadata` of a session, likewise. */
  metadata?: (request: Request) => Metadata | Promise<Metadata>;
};

export const openaiOptionsShape = {
  ...handlerShape,
  journal: aJournal.optional(),
} satisfies Record<keyof OpenaiOptions, z.ZodType>;

/** A handler, and the end of the sessions that it started. */
export type OpenaiHandler = ((request: Request) => Promise<Response>) & { ended(): Promise<void> };

/**
 * Returns a handler that speaks OpenAI's chat completions and its Responses API, and Anthropic's Messages API, for any
 * server that speaks `Request` and `Response`: `POST PATH/chat/completions`, `POST PATH/responses` and `POST PATH/messages`
 * run a session of the agent that `model` names, and `GET PATH/models` lists the agents.
 * The tools stay hidden. A client that goes away aborts its session. A call that needs approval, or that the client would
 * have to execute, is answered at once with the reason why it cannot be. A session that fails is answered with 422, or in a
 * stream with an error event, its slug as the `code`. The handler does not authenticate callers. Throws `invalid_options` and `invalid_budget`.
 */
export function openaiHandler(agents: readonly Agent[], options: OpenaiOptions = {}): OpenaiHandler {
  check(z.strictObject(openaiOptionsShape), options, 'options', 'invalid_options');
  const named = agentsByName(agents);
  for (const agent of named.values()) {
    sessionInput(agent, options.budget ?? {}, 0);
    if (options.context === undefined) checkContext(agent, undefined);
  }
  const server = new CompletionServer(named, options);
  return Object.assign((request: Request) => server.answer(request), { ended: () => server.sessions.ended() });
}

function agentsByName(agents: unknown): Map<string, Agent> {
  if (!Array.isArray(agents) || agents.length === 0)
    throw unexpected('invalid_options', 'agents', agents, 'an array of at least one agent');
  const named = new Map<string, Agent>();
  for (const [index, agent] of agents.entries()) {
    requireAgent(agent, `agents[${index}]`);
    if (named.has(agent.name))
      throw new PawlError('invalid_options', `\`agents\` must have distinct names; got "${agent.name}" twice.`);
    named.set(agent.name, agent);
  }
  return named;
}

class CompletionServer {
  readonly sessions: ServerSessions;
  private readonly agents: ReadonlyMap<string, Agent>;
  private readonly options: OpenaiOptions;
  private readonly since = Date.now();

  constructor(agents: ReadonlyMap<string, Agent>, options: OpenaiOptions) {
    const { context: _, metadata: __, journal: ___, ...own } = options;
    this.agents = agents;
    this.options = options;
    this.sessions = new ServerSessions(own);
  }

  async answer(request: Request): Promise<Response> {
    const refused = asksAsAnthropic(request) ? anthropicFault : openaiFault;
    try {
      return await this.routed(request);
    } catch (error) {
      if (error instanceof TooManySessions)
        return json(refused(error.message, 429, 'too_many_sessions'), 429, { 'retry-after': '5' });
      if (error instanceof BadRequest)
        return json(refused(error.message, error.status, null, error.param), error.status);
      if (isResponse(error)) return error;
      const code = error instanceof ServerFault ? 'context_failed' : error instanceof PawlError ? error.code : null;
      const { status, message } = answerFor(error, this.options.logger, this.agents.values());
      return json(refused(message, status, code), status, status < 500 ? {} : { 'x-should-retry': 'false' });
    }
  }

  private async routed(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const listed = /\/models(?:\/([^/]+))?$/.exec(pathname);
    if (listed !== null && request.method === 'GET') return json(this.models(listed[1], asksAsAnthropic(request)));
    const api = apis.find((one) => pathname.endsWith(one));
    if (api === undefined) throw new BadRequest(`There is nothing at ${pathname}.`, null, 404);
    if (request.method !== 'POST') throw new BadRequest(`Send POST to ${pathname}.`, null, 405);
    const own = requestCopy(request, this.options);
    const [body] = await jsonBody(own, [request], async () => undefined).catch((error) => {
      throw error instanceof UnusableBody ? new BadRequest(error.message, null, error.status) : error;
    });
    if (api === '/responses') return this.respond(responseRequest(body), request);
    return api === '/messages'
      ? this.message(messageRequest(body), request)
      : this.complete(completionRequest(body), request);
  }

  private models(name: string | undefined, isForAnthropic: boolean): object {
    const { since } = this;
    const entry = (id: string) => (isForAnthropic ? anthropicEntry(id, since) : openaiEntry(id, since));
    if (name !== undefined) return entry(this.agent(decodedUri(name)).name);
    const ids = [...this.agents.keys()];
    const data = ids.map(entry);
    return isForAnthropic ? { data, has_more: false, first_id: ids[0], last_id: ids.at(-1) } : { object: 'list', data };
  }

  private agent(name: string): Agent {
    const agent = this.agents.get(name);
    if (agent !== undefined) return agent;
    const known = [...this.agents.keys()].join(', ');
    throw new BadRequest(`There is no model "${name}". Models: ${known}.`, 'model', 404);
  }

  private async complete(asked: CompletionRequest, request: Request): Promise<Response> {
    const { agent, given } = await this.asked(asked.model, request);
    const running = this.start(agent, { ...given, messages: asked.messages }, request);
    const completion = new Completion(randomId(), asked, Date.now(), running.text);
    return asked.stream ? answeredInPieces(running, completion) : answeredWhole(running, completion);
  }

  private async message(asked: MessageRequest, request: Request): Promise<Response> {
    const { agent, given } = await this.asked(asked.model, request);
    const running = this.start(agent, { ...given, messages: asked.messages }, request);
    const answer = new MessageAnswer(randomId(), asked, running.text);
    return asked.stream ? answeredInPieces(running, answer) : answeredWhole(running, answer);
  }

  private async respond(asked: ResponseRequest, request: Request): Promise<Response> {
    const { previous, store } = asked;
    const { agent, given } = await this.asked(asked.model, request);
    const { journal } = this.options;
    const earlier = previous === null ? [] : await earlierConversation(journal, previous, given);
    const sessionId = `${responsePrefix}${randomId()}`;
    const isKept = store && journal !== undefined;
    const running = this.start(
      agent,
      { ...given, ...(isKept && { journal }), sessionId, messages: [...earlier, ...asked.messages] },
      request,
    );
    const response = new ResponseAnswer(sessionId, { ...asked, store: isKept }, Date.now(), running.text);
    return asked.stream ? answeredInPieces(running, response) : answeredWhole(running, response);
  }

  private async asked(model: string, request: Request) {
    const agent = this.agent(model);
    const { context, metadata } = await givenBy(request, agent, this.options);
    return { agent, given: { context, ...(metadata !== undefined && { metadata }) } };
  }

  /** Starts a session that is aborted when its client goes away. */
  private start(agent: Agent, own: Parameters<ServerSessions['start']>[1], { signal }: Request) {
    const gone = new AbortController();
    // Only then is the text of a reply the report, as it is.
    const isReport = agent.definition.finish === 'text' && ['text', 'markdown'].includes(agent.format.name);
    const streams = isReport && agent.voices.every(({ definition }) => definition.checkReport === undefined);
    const heard: ((event: SessionEvent) => void)[] = [];
    const given = { ...own, signal: AbortSignal.any([signal, gone.signal]) };
    const result = this.sessions.start(agent, given, (event, session) => {
      answerForClient(event, session);
      for (const hear of heard) hear(event);
    });
    return {
      result,
      text: new SpokenText({ streams, secrets: secretsOf(agent.definition) }),
      listen: (hear: (event: SessionEvent) => void) => void heard.push(hear),
      vanish: () => gone.abort(new Error('the client vanished')),
    };
  }
}

/** Answers the calls that need a person or a client: neither can be reached through this API. */
function answerForClient(event: SessionEvent, session: Session): void {
  if (event.type === 'tool.approvalRequested') {
    const { callId, sessionId } = event;
    session.approve(callId, { approved: false, reason: 'No one can be asked for approval here.', sessionId });
  }
  declineQuestion(event, session);
  if (event.type === 'tool.handedOut') {
    const { callId, sessionId } = event;
    session.answer(callId, 'This client executes no tools.', { isError: true, sessionId });
  }
}

const apis = ['/responses', '/messages', '/chat/completions'] as const;

function asksAsAnthropic({ url, headers }: Request): boolean {
  return isForAnthropic(new URL(url).pathname, Object.fromEntries(headers));
}

type FaultIn = (message: string, status: number, code: string | null, param?: string | null) => object;
const anthropicFault: FaultIn = (message, status, code) => anthropicError(message, status, code);
const openaiFault: FaultIn = (message, status, code, param) => {
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error';
  return openaiError(message, type, code, param);
};

const openaiEntry = (id: string, since: number) => {
  return { id, object: 'model', created: Math.floor(since / 1_000), owned_by: 'pawl' };
};
const anthropicEntry = (id: string, since: number) => {
  return { id, type: 'model', display_name: id, created_at: new Date(since).toISOString() };
};

function json(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}
