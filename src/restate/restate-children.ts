import type { WorkflowContext } from '@restatedev/restate-sdk';
import { type Allowance, type Effect, requestBound } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { overridesIn } from '../agent/narrow.ts';
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
  const running = new Map<string, { grant: Allowance; sessionId: string }>();
  const callOf = (effect: Effect) => {
    if (effect.kind !== 'tool') throw new Error(`${effect.key} is not a tool call`);
    return effect.request;
  };
  const begin = (effect: Effect, grant: Allowance, budget: SessionBudget) => {
    const { callId, name, index } = callOf(effect);
    const sessionId = `${session.sessionId}/${callId}`;
    running.set(effect.key, { grant, sessionId });
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
    return context.genericCall<RestateRequest, SessionResult>({
      service,
      method: 'run',
      key: sessionId,
      parameter,
      inputSerde: json,
      outputSerde: json,
    });
  };
  return {
    isOne: (effect) => {
      if (effect.kind !== 'tool') return false;
      const { name } = effect.request;
      return !agent.tools.has(name) && agent.agents[name] !== undefined;
    },
    ask: (effect, settle) => {
      const child = agent.agents[callOf(effect).name];
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
    ended: (effect, result) => {
      const { callId, name } = callOf(effect);
      if (result !== null) {
        const { sessionId: childSessionId, status, counters } = result;
        observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters });
        subSessions?.subAgents.adopt(callId, result);
      }
      const began = running.get(effect.key);
      running.delete(effect.key);
      if (began !== undefined) subSessions?.grants.giveBack(began.grant);
    },
    send: (message, effect) => {
      const meant = effect === undefined ? [...running.values()] : [running.get(effect.key)];
      for (const one of meant) {
        if (one === undefined) continue;
        const key = one.sessionId;
        context.genericSend<SessionMessage>({ service, method: 'message', key, parameter: message, inputSerde: json });
      }
    },
  };
}
