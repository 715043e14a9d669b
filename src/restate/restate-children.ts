import type { WorkflowContext } from '@restatedev/restate-sdk';
import {
  type Allowance,
  type Counters,
  type EffectOf,
  emptyCounters,
  failedOutcome,
  requestBound,
  type Spent,
} from '../../machines/index.ts';
import type { SessionMessage } from '../journal/journal.ts';
import type { SessionBudget } from '../session/options.ts';
import type { RootSession } from '../session/running-session.ts';
import type { SessionResult } from '../session/session.ts';
import type { SubSessions } from '../session/sub-agents/sub-sessions.ts';
import { overridesIn } from '../vocabulary/overrides.ts';
import type { RestateRequest } from './request.ts';
import type { BegunChild, RestateChildren } from './restate-owner.ts';

const json = {
  contentType: 'application/json',
  serialize: (value: unknown) => new TextEncoder().encode(JSON.stringify(value ?? null)),
  deserialize: (data: Uint8Array) => JSON.parse(new TextDecoder().decode(data)),
};

/** Runs a session's sub-agents as invocations of the same workflow, `service` (B-7). */
export function childrenOf(
  context: WorkflowContext,
  service: string,
  request: RestateRequest,
  session: RootSession,
): RestateChildren {
  const { subSessions, life } = session;
  /** Functions that withdraw the request for a grant, by the key of its call. Once it is settled, they do nothing. */
  const withdrawals = new Map<string, () => void>();
  /** The ids of the sub-agents' sessions, by the keys of their calls. */
  const running = new Map<string, string>();
  let stopRequested = false;
  const sendTo = (key: string, message: SessionMessage) =>
    context.genericSend<SessionMessage>({ service, method: 'message', key, parameter: message, inputSerde: json });
  const sendToAll = (message: SessionMessage) => {
    for (const sessionId of running.values()) sendTo(sessionId, message);
  };
  const begin = (
    { grants, subAgents }: SubSessions,
    { key, request: { callId, name, index } }: EffectOf<'tool'>,
    grant: Allowance,
    budget: SessionBudget,
  ): BegunChild => {
    const childSessionId = `${session.sessionId}/${callId}`;
    running.set(key, childSessionId);
    subAgents.away.begin(callId);
    life.observer.sight({ type: 'subAgent.started', callId, name, childSessionId });
    const parameter: RestateRequest = {
      agent: request.agent,
      path: [...(request.path ?? []), { tool: name, sessionId: session.sessionId }],
      prompt: String(life.inputOf(index).prompt),
      budget,
      ...overridesIn(request),
      ...(request.context !== undefined && { context: request.context }),
      ...(request.metadata !== undefined && { metadata: request.metadata }),
    };
    const invocation = context.genericCall<RestateRequest, SessionResult>({
      service,
      method: 'run',
      key: childSessionId,
      parameter,
      inputSerde: json,
      outputSerde: json,
    });
    if (stopRequested) sendTo(childSessionId, { type: 'session.stop' });
    return {
      invocation,
      ended: (end) => {
        const result = typeof end === 'string' ? null : end;
        const { status, counters } = result ?? { status: 'failed', counters: spentAll(grant) };
        life.observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters });
        subAgents.away.end(callId, result);
        running.delete(key);
        grants.giveBack(grant);
        if (typeof end !== 'string') return null;
        return failedOutcome('tool_exec_failed', `${name} gave no result: ${life.redacted(end)}`, spentOf(grant));
      },
    };
  };
  return {
    ask: (effect, settle) => {
      const { key, request: call } = effect;
      if (subSessions === null) return false;
      const child = subSessions.agentOf(call.name);
      if (child === undefined) return false;
      const bound = child.limits.maxTreeRequests ?? requestBound(child.limits);
      const withdraw = subSessions.grants.ask(bound, (grant) =>
        settle(
          grant === null ? null : (at) => begin(subSessions, effect, grant, subSessions.budgetOf(child, grant, at)),
        ),
      );
      withdrawals.set(key, withdraw);
      return true;
    },
    share: () => subSessions?.grants.share(),
    areRunning: () => running.size > 0,
    send: (message) => {
      const id = meantBy(message.sessionId, [...running.values()]);
      if (id !== undefined) sendTo(id, message);
    },
    stop: () => {
      stopRequested = true;
      sendToAll({ type: 'session.stop' });
    },
    cancel: (key) => {
      withdrawals.get(key)?.();
      const sessionId = running.get(key);
      if (sessionId !== undefined) sendTo(sessionId, aborted);
    },
    abort: () => {
      for (const withdraw of withdrawals.values()) withdraw();
      sendToAll(aborted);
    },
  };
}

/** The sub-agent that a message for this session is passed on to; undefined for none. */
function meantBy(sessionId: string | null, ids: readonly string[]): string | undefined {
  // Without a name, each of several may wait for a call of this id: then none is meant (D-2).
  if (sessionId === null) return ids.length === 1 ? ids[0] : undefined;
  return ids.find((id) => sessionId === id || sessionId.startsWith(`${id}/`));
}

const aborted: SessionMessage = { type: 'session.abort', reason: 'its call was aborted' };

/** The counters of a lost sub-agent. How much it spent is unknown, so its whole grant counts as spent. */
function spentAll(grant: Allowance): Counters {
  const counters = emptyCounters();
  const { requests, tokens: input, costUsd } = spentOf(grant);
  const tokens = { ...counters.tokens, input };
  return { ...counters, requests, tokens, costUsd, tree: { ...counters.tree, sessions: 1, requests, tokens, costUsd } };
}

function spentOf({ requests, tokens, costUsd }: Allowance): Spent {
  return { requests: requests ?? 0, tokens: tokens ?? 0, costUsd: costUsd ?? 0 };
}
