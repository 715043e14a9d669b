import { z } from 'zod';
import { checkContext } from '../agent/context.ts';
import { type Agent, requireAgent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { check } from '../input/check.ts';
import { PawlError, unexpected } from '../input/errors.ts';
import type { SessionEvent } from '../observe/events.ts';
import { randomId } from '../platform/random-id.ts';
import { decodedUri } from '../platform/text.ts';
import { pushedEvents } from '../serve/event-stream.ts';
import { answerFor, givenBy, handlerShape, isResponse, requestCopy, ServerFault } from '../serve/given.ts';
import { jsonBody, UnusableBody } from '../serve/json-body.ts';
import { type ServedSessions, ServerSessions, TooManySessions } from '../serve/sessions.ts';
import { sessionInput } from '../session/input.ts';
import type { Session, SessionResult } from '../session/session.ts';
import type { Metadata } from '../vocabulary/metadata.ts';
import { Completion, failureBody, openaiError } from './completion.ts';
import { BadRequest, type CompletionRequest, completionRequest } from './completion-request.ts';

export type OpenaiOptions = Omit<ServedSessions, 'context' | 'metadata'> & {
  /**
   * Returns the `context` of a session from the request that starts it, whose body it may read. A `Response` that it throws
   * is the answer; if it throws anything else, or returns what does not fit, the answer is 500, and the log holds the reason.
   */
  context?: (request: Request) => unknown;
  /** Returns the `metadata` of a session, likewise. */
  metadata?: (request: Request) => Metadata | Promise<Metadata>;
};

export const openaiOptionsShape = handlerShape satisfies Record<keyof OpenaiOptions, z.ZodType>;

/** A handler, and the end of the sessions that it started. */
export type OpenaiHandler = ((request: Request) => Promise<Response>) & { ended(): Promise<void> };

/**
 * Returns a handler that speaks OpenAI's chat completions, for any server that speaks `Request` and `Response`:
 * `POST PATH/chat/completions` runs a session of the agent that `model` names, and `GET PATH/models` lists the agents.
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
    const { context: _, metadata: __, ...own } = options;
    this.agents = agents;
    this.options = options;
    this.sessions = new ServerSessions(own);
  }

  async answer(request: Request): Promise<Response> {
    try {
      return await this.routed(request);
    } catch (error) {
      if (error instanceof TooManySessions)
        return json(openaiError(error.message, 'rate_limit_error', 'too_many_sessions'), 429, { 'retry-after': '5' });
      if (error instanceof BadRequest)
        return json(openaiError(error.message, 'invalid_request_error', null, error.param), error.status);
      if (isResponse(error)) return error;
      const code = error instanceof ServerFault ? 'context_failed' : error instanceof PawlError ? error.code : null;
      const { status, message } = answerFor(error, this.options.logger, this.agents.values());
      if (status < 500) return json(openaiError(message, 'invalid_request_error', code), status);
      return json(openaiError(message, 'server_error', code), status, { 'x-should-retry': 'false' });
    }
  }

  private async routed(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    const listed = /\/models(?:\/([^/]+))?$/.exec(pathname);
    if (listed !== null && request.method === 'GET') return this.models(listed[1]);
    if (!pathname.endsWith('/chat/completions')) throw new BadRequest(`There is nothing at ${pathname}.`, null, 404);
    if (request.method !== 'POST') throw new BadRequest(`Send POST to ${pathname}.`, null, 405);
    const own = requestCopy(request, this.options);
    const [body] = await jsonBody(own, [request], async () => undefined).catch((error) => {
      throw error instanceof UnusableBody ? new BadRequest(error.message, null, error.status) : error;
    });
    return this.complete(completionRequest(body), request);
  }

  private models(name: string | undefined): Response {
    const entry = (id: string) => ({ id, object: 'model', created: Math.floor(this.since / 1_000), owned_by: 'pawl' });
    if (name === undefined) return json({ object: 'list', data: [...this.agents.keys()].map(entry) });
    return json(entry(this.agent(decodedUri(name)).name));
  }

  private agent(name: string): Agent {
    const agent = this.agents.get(name);
    if (agent !== undefined) return agent;
    const known = [...this.agents.keys()].join(', ');
    throw new BadRequest(`There is no model "${name}". Models: ${known}.`, 'model', 404);
  }

  private async complete({ model, messages, stream, includeUsage }: CompletionRequest, request: Request) {
    const agent = this.agent(model);
    const { context, metadata } = await givenBy(request, agent, this.options);
    const gone = new AbortController();
    const signal = AbortSignal.any([request.signal, gone.signal]);
    // Only then is the text of a reply the report, as it is.
    const isReport = agent.definition.finish === 'text' && ['text', 'markdown'].includes(agent.format.name);
    const streams = isReport && agent.voices.every(({ definition }) => definition.checkReport === undefined);
    const secrets = secretsOf(agent.definition);
    const completion = new Completion(randomId(), model, { at: Date.now(), streams, secrets });
    const heard: ((event: SessionEvent) => void)[] = [];
    const result = this.sessions.start(
      agent,
      { messages, signal, context, ...(metadata !== undefined && { metadata }) },
      (event, session) => {
        answerForClient(event, session);
        for (const hear of heard) hear(event);
      },
    );
    if (stream)
      return streamed(completion, result, includeUsage, heard, () => gone.abort(new Error('the client vanished')));
    const ended = await result;
    return ended.success ? json(completion.whole(ended)) : json(failureBody(ended), 422);
  }
}

/** Answers the calls that need a person or a client: neither can be reached through this API. */
function answerForClient(event: SessionEvent, session: Session): void {
  if (event.type === 'tool.approvalRequested') {
    const { callId, sessionId } = event;
    session.approve(callId, { approved: false, reason: 'No one can be asked for approval here.', sessionId });
  }
  if (event.type === 'tool.handedOut') {
    const { callId, sessionId } = event;
    session.answer(callId, 'This client executes no tools.', { isError: true, sessionId });
  }
}

/** Answers with server-sent events, as they come. */
function streamed(
  completion: Completion,
  result: Promise<SessionResult>,
  includeUsage: boolean,
  heard: ((event: SessionEvent) => void)[],
  vanish: () => void,
): Response {
  return pushedEvents((writer) => {
    const send = (data: object | null) => {
      if (data !== null) writer.send({ data });
    };
    let hasEnded = false;
    writer.onClose(() => {
      if (!hasEnded) vanish();
    });
    send(completion.begin());
    heard.push((event) => {
      if (!hasEnded) send(completion.piece(event));
    });
    const finish = (ended: SessionResult) => {
      hasEnded = true;
      for (const piece of ended.success ? completion.end(ended, includeUsage) : [failureBody(ended)]) send(piece);
      writer.send({ raw: '[DONE]' });
      writer.end();
    };
    // A session's result never rejects (F-5), so what does is a defect, which breaks the stream.
    result.then(finish).catch(writer.fail);
  });
}

function json(body: object, status = 200, headers: Record<string, string> = {}): Response {
  return Response.json(body, { status, headers });
}
