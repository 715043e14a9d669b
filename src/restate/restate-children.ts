import type { WorkflowContext } from '@restatedev/restate-sdk';
import {
  type Allowance,
  type Counters,
  type Effect,
  emptyCounters,
  failure,
  requestBound,
  type Spent,
  type ToolOutcome,
} from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { overridesIn } from '../agent/narrow.ts';
import { redact } from '../agent/redact.ts';
import { estimateOutputTokens } from '../context/tokens.ts';
import type { SessionMessage } from '../journal/journal.ts';
import type { SessionBudget } from '../session/options.ts';
import type { RootSession } from '../session/running-session.ts';
import type { SessionResult } from '../session/session.ts';
import type { RestateRequest } from './request.ts';
import type { RestateChildren } from './restate-owner.ts';

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
  agent: Agent,
  session: RootSession,
): RestateChildren {
  const { observer, subSessions } = session.wired;
  const asking = new Map<string, () => void>();
  const running = new Map<string, { grant: Allowance; sessionId: string }>();
  let stopRequested = false;
  const callOf = (effect: Effect) => {
    if (effect.kind !== 'tool') throw new Error(`${effect.key} is not a tool call`);
    return effect.request;
  };
  const sendTo = (key: string, message: SessionMessage) =>
    context.genericSend<SessionMessage>({ service, method: 'message', key, parameter: message, inputSerde: json });
  const sendToAll = (message: SessionMessage) => {
    for (const { sessionId } of running.values()) sendTo(sessionId, message);
  };
  const begin = (effect: Effect, grant: Allowance, budget: SessionBudget) => {
    const { callId, name, index } = callOf(effect);
    const sessionId = `${session.sessionId}/${callId}`;
    running.set(effect.key, { grant, sessionId });
    subSessions?.subAgents.away.begin(callId);
    observer.sight({ type: 'subAgent.started', callId, name, childSessionId: sessionId });
    const parameter: RestateRequest = {
      agent: request.agent,
      path: [...(request.path ?? []), { tool: name, sessionId: session.sessionId }],
      prompt: String(observer.folds.conversation.inputOf(index).prompt),
      budget,
      ...overridesIn(request),
      ...(request.context !== undefined && { context: request.context }),
      ...(request.metadata !== undefined && { metadata: request.metadata }),
    };
    const result = context.genericCall<RestateRequest, SessionResult>({
      service,
      method: 'run',
      key: sessionId,
      parameter,
      inputSerde: json,
      outputSerde: json,
    });
    if (stopRequested) sendTo(sessionId, { type: 'session.stop' });
    return result;
  };
  return {
    isOne: (effect) => {
      if (effect.kind !== 'tool') return false;
      const { name } = effect.request;
      return !agent.tools.has(name) && Object.hasOwn(agent.agents, name);
    },
    ask: (effect, settle) => {
      const { key } = effect;
      const child = agent.agents[callOf(effect).name];
      if (child === undefined || subSessions === null) {
        settle(null);
        return;
      }
      const bound = child.limits.maxTreeRequests ?? requestBound(child.limits);
      const withdraw = subSessions.grants.ask(bound, (grant) => {
        if (!asking.delete(key)) return;
        settle(grant === null ? null : (at) => begin(effect, grant, subSessions.budgetOf(child, grant, at)));
      });
      asking.set(key, withdraw);
    },
    share: () => subSessions?.grants.share(),
    ended: (effect, { result, why }) => {
      const { callId, name } = callOf(effect);
      if (result !== null) {
        const { sessionId: childSessionId, status, counters } = result;
        observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters });
      }
      subSessions?.subAgents.away.end(callId, result);
      const began = running.get(effect.key);
      running.delete(effect.key);
      if (began === undefined) return null;
      const { grant, sessionId: childSessionId } = began;
      if (result === null)
        observer.sight({
          ...{ type: 'subAgent.ended', callId, name, childSessionId, status: 'failed' },
          counters: spentAll(grant),
        });
      subSessions?.grants.giveBack(grant);
      return result === null
        ? withoutResult(`${name} gave no result: ${redact(why, session.wired.secrets)}`, grant)
        : null;
    },
    areRunning: () => running.size > 0,
    send: (message) => {
      const { sessionId } = message;
      const ids = [...running.values()].map((one) => one.sessionId);
      // Without a name, each of several may wait for a call of this id: then none is meant (D-2).
      const isAbove = (id: string) => sessionId === id || sessionId?.startsWith(`${id}/`) === true;
      // The ids of calls, which are the ends of these, may hold a slash.
      const meant = sessionId === null ? ids : ids.filter(isAbove).sort((one, other) => other.length - one.length);
      const [id] = meant;
      if (id !== undefined && (sessionId !== null || ids.length === 1)) sendTo(id, message);
    },
    stop: () => {
      stopRequested = true;
      sendToAll({ type: 'session.stop' });
    },
    cancel: ({ key }) => {
      const withdraw = asking.get(key);
      asking.delete(key);
      withdraw?.();
      const began = running.get(key);
      if (began !== undefined) sendTo(began.sessionId, aborted);
    },
    abort: () => {
      for (const [key, withdraw] of asking) {
        asking.delete(key);
        withdraw();
      }
      sendToAll(aborted);
    },
  };
}

const aborted: SessionMessage = { type: 'session.abort', reason: 'its call was aborted' };

/** The outcome of a call whose sub-agent is lost. */
function withoutResult(message: string, grant: Allowance): ToolOutcome {
  const output = { type: 'error-text' as const, value: message };
  const told = { result: failure(message), output, kept: null, tokens: estimateOutputTokens(output) };
  return { slug: 'tool_exec_failed', ...told, spent: spentOf(grant) };
}

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
