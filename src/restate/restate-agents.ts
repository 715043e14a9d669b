import { randomUUID } from 'node:crypto';
import type { RestatePromise, WorkflowContext, WorkflowSharedContext } from '@restatedev/restate-sdk';
import * as restate from '@restatedev/restate-sdk';
import { z } from 'zod';
import { type Allowance, type Effect, type Json, requestBound } from '../../machines/index.ts';
import { check } from '../agent/check.ts';
import type { Agent } from '../agent/definition.ts';
import { secretsOf } from '../agent/secrets.ts';
import { PawlError } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import type { SessionHead, SessionMessage } from '../journal/journal.ts';
import type { EventListener } from '../observe/events.ts';
import { type LoggerOption, loggerOf } from '../observe/log.ts';
import { newHead } from '../session/head.ts';
import type { SessionBudget, SessionOptions, SessionResult } from '../session/options.ts';
import { effectPolicy } from '../session/recovery/after-crash.ts';
import { receive } from '../session/recovery/messages.ts';
import { tellWhatWaits } from '../session/recovery/resume-session.ts';
import { type RootSession, RunningSession } from '../session/running-session.ts';
import { type Lineage, root, waitingIn } from '../session/sub-agents/sub-session.ts';
import { LineBuffer } from './line-buffer.ts';
import { isProcessing, messageName, RestateDriver } from './restate-driver.ts';
import type { RestateChildren, TimedMessage } from './restate-owner.ts';

export type RestateAgentsOptions = {
  /** The agents that can be started, by their names. */
  agents: readonly Agent[];
  /** The service's name. Default: `pawl`. */
  name?: string;
  logger?: LoggerOption;
  onEvent?: EventListener;
};

/** What a session is started with: the body of `run`. */
export type RestateRequest = Pick<SessionOptions, 'prompt' | 'messages' | 'budget'> & {
  agent: string;
  /** For a sub-agent: the tools' names from the agent down, and the id of the session above. */
  path?: readonly string[];
  call?: SessionHead['call'];
};

/**
 * Makes a Restate workflow of agents: `restate.serve({ services: [restateAgents({ agents })] })`. A session is a run of
 * the workflow under its id; `message` takes messages from any process. A cancelled invocation aborts its session.
 */
export function restateAgents({ agents, name = 'pawl', logger, onEvent }: RestateAgentsOptions) {
  const named = new Map(agents.map((agent) => [agent.name, agent]));
  const run = async (context: WorkflowContext, request: RestateRequest): Promise<Json> => {
    checked(() => check(requestSchema, request, 'request', 'invalid_options'));
    const lineage = lineageOf(named, request, context.key);
    const agent = lineage.agent;
    const begun = await context.run('begin', () => begunWith(agent, context.key, request) as unknown as Json);
    const { head, repairs } = begun as unknown as ReturnType<typeof newHead>;
    const lines = new LineBuffer(loggerOf(logger));
    const driver = new RestateDriver(context, randomUUID(), head.input.at);
    const audience = { isThere: false };
    const session = new RunningSession({
      agent,
      head,
      log: null,
      lineage: lineage.lineage,
      options: { logger: lines, onEvent: (event) => (audience.isThere ? onEvent?.(event) : undefined) },
      driver: (...attached) => driver.attach(...attached),
      beforeFact: () => {},
    });
    const { wired } = session;
    wired.observer.endReplay();
    driver.limitMs = agent.limits.approvalTimeoutMs;
    context.request().attemptCompletedSignal.addEventListener('abort', () => driver.release(), { once: true });
    // The log takes part in a replay: its lines are steps of the engine, which writes them once.
    wired.observer.goLive();
    audience.isThere = isProcessing(context);
    session.start(repairs === null ? [] : [{ type: 'conversation.repaired', repairs }]);
    const children = childrenOf(context, name, request, agent, session);
    await driver.drive({
      policy: effectPolicy(wired.effects.catalog),
      receive: (message) => {
        if (message.type === 'approve' && !waitingIn(session).includes(message.callId)) children.send(message);
        else receive(session, message);
      },
      openTools: async () => {
        const missing = await wired.effects.open(context.request().attemptCompletedSignal);
        if (missing !== null) throw new Error(missing);
      },
      hasEnded: () => wired.machine.hasEnded,
      goLive: () => {
        audience.isThere = true;
        tellWhatWaits(session, wired.observer.position);
      },
      lines,
      children,
    });
    return (await session.result) as unknown as Json;
  };
  const message = async (context: WorkflowSharedContext, given: SessionMessage): Promise<void> => {
    checked(() => check(messageSchema, given, 'message', 'invalid_options'));
    const at = await context.date.now();
    // Each message has a promise of its own; the first that is still open takes it.
    for (let number = 1; ; number += 1) {
      const next = context.promise<TimedMessage>(messageName(number));
      if ((await next.peek()) !== undefined) continue;
      try {
        await next.resolve({ at, message: given });
        return;
      } catch (error) {
        if (!(error instanceof restate.TerminalError) || error.code !== 409) throw error;
      }
    }
  };
  return restate.workflow({ name, handlers: { run, message } });
}

const text = z.string({ error: 'a string' });
const messageSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('session.steer'), text }),
  z.strictObject({ type: z.literal('session.stop') }),
  z.strictObject({ type: z.literal('session.abort'), reason: text }),
  z.strictObject({
    type: z.literal('approve'),
    callId: text,
    approved: z.boolean({ error: 'true or false' }),
    reason: text.nullable(),
    sessionId: text.nullable(),
  }),
]);

const requestSchema = z.strictObject({
  agent: z.string({ error: 'the name of an agent' }),
  prompt: z.unknown().optional(),
  messages: z.unknown().optional(),
  budget: z.unknown().optional(),
  path: z.array(text).optional(),
  call: z.unknown().optional(),
} satisfies Record<keyof RestateRequest, z.ZodType>);

function begunWith(agent: Agent, sessionId: string, { agent: _, path: __, call, ...options }: RestateRequest) {
  return checked(() => newHead(agent, sessionId, { ...options, clock: systemClock }, call ?? null));
}

/** Bad input ends the invocation with its error; the engine would try anything else again and again. */
function checked<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw error instanceof PawlError ? new restate.TerminalError(error.message, { errorCode: 400 }) : error;
  }
}

function lineageOf(named: ReadonlyMap<string, Agent>, { agent: name, path = [] }: RestateRequest, sessionId: string) {
  let agent = named.get(name);
  let lineage: Lineage = root;
  for (const [depth, tool] of path.entries()) {
    if (agent === undefined) break;
    const maxDepth = Math.min(lineage.maxDepth, agent.limits.maxDepth);
    const parentSessionId = sessionId
      .split('/')
      .slice(0, depth - path.length)
      .join('/');
    lineage = { parentSessionId, depth: depth + 2, maxDepth, secrets: secretsOf(agent.definition, lineage.secrets) };
    agent = agent.definition.agents?.[tool];
  }
  if (agent === undefined) throw new restate.TerminalError(`There is no agent ${[name, ...path].join('/')}.`);
  return { agent, lineage };
}

const json = {
  contentType: 'application/json',
  serialize: (value: unknown) => new TextEncoder().encode(JSON.stringify(value ?? null)),
  deserialize: (data: Uint8Array) => JSON.parse(new TextDecoder().decode(data)),
};

type Began = { grant: Allowance; key: string };

function childrenOf(
  context: WorkflowContext,
  service: string,
  request: RestateRequest,
  agent: Agent,
  session: RootSession,
): RestateChildren {
  const { observer, subSessions } = session.wired;
  const running = new Map<string, Began>();
  const callOf = (effect: Effect) => {
    if (effect.kind !== 'tool') throw new Error(`${effect.key} is no call`);
    return effect.request;
  };
  const begin = (effect: Effect, grant: Allowance, budget: SessionBudget): RestatePromise<Json> => {
    const { callId, name, index } = callOf(effect);
    const key = `${session.sessionId}/${callId}`;
    running.set(effect.key, { grant, key });
    observer.sight({ type: 'subAgent.started', callId, name, childSessionId: key });
    const body: RestateRequest = {
      agent: request.agent,
      path: [...(request.path ?? []), name],
      call: { parent: '', callId, name, granted: grant },
      prompt: String(observer.folds.conversation.inputOf(index).prompt),
      budget,
    };
    return context.genericCall<RestateRequest, Json>({
      service,
      method: 'run',
      key,
      parameter: body,
      inputSerde: json,
      outputSerde: json,
    });
  };
  return {
    isOne: (effect) => {
      if (effect.kind !== 'tool') return false;
      const { name } = effect.request;
      return !agent.tools.has(name) && agent.definition.agents?.[name] !== undefined;
    },
    ask: (effect, settle) => {
      const child = agent.definition.agents?.[callOf(effect).name];
      if (child === undefined || subSessions === null) {
        settle(null);
        return;
      }
      const bound = child.limits.maxTreeRequests ?? requestBound(child.limits);
      subSessions.grants.ask(bound, (grant) =>
        settle(grant === null ? null : begin(effect, grant, subSessions.budgetOf(child, grant))),
      );
    },
    share: () => subSessions?.grants.share(),
    ended: (effect, given) => {
      const { callId, name } = callOf(effect);
      const result = given as unknown as SessionResult;
      const { sessionId: childSessionId, status, counters } = result;
      observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters });
      subSessions?.subAgents.adopt(callId, result);
      const began = running.get(effect.key);
      running.delete(effect.key);
      if (began !== undefined) subSessions?.grants.giveBack(began.grant);
    },
    send: (message, effect) => {
      const to = effect === undefined ? [...running.values()] : [running.get(effect.key)].flatMap((one) => one ?? []);
      for (const { key } of to) {
        context.genericSend<SessionMessage>({ service, method: 'message', key, parameter: message, inputSerde: json });
      }
    },
  };
}
