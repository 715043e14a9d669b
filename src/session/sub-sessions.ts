import type { Budget, Counters, Spent } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Observer } from '../observe/observer.ts';
import { Grants } from './grants.ts';
import type { SessionOptions } from './options.ts';
import type { SessionParts } from './running-session.ts';
import { type Lineage, SubAgents, type SubSession } from './sub-agent.ts';

/** The parts of a parent session that its sub-sessions use. */
export type Parent = {
  sessionId: string;
  agent: Agent;
  options: SessionOptions & Required<Pick<SessionOptions, 'logger' | 'clock'>>;
  observer: Observer;
  lineage: Lineage;
  secrets: readonly string[];
};

/**
 * Makes a session's sub-agents; null if it has none. They share its logger, clock, remaining budget and event stream
 * (B-7).
 */
export function subAgentsOf(
  { sessionId, agent, options, observer, lineage, secrets }: Parent,
  budget: Budget,
  start: (parts: SessionParts<unknown>) => SubSession,
): SubAgents | null {
  if (agent.definition.agents === undefined) return null;
  const { logger, clock, random, inspect } = options;
  const maxDepth = Math.min(lineage.maxDepth, agent.limits.maxDepth);
  const below: Lineage = { parentSessionId: sessionId, depth: lineage.depth + 1, maxDepth, secrets };
  return new SubAgents({
    depth: lineage.depth,
    maxDepth,
    grants: new Grants(budget, () => spentIn(observer.counters.tree)),
    timeLeft: () => (budget.deadlineAt === null ? undefined : Math.max(1, budget.deadlineAt - clock.now())),
    start: (child, name, prompt, granted, { callId, signal }) => {
      const childSessionId = `${sessionId}/${callId}`;
      observer.sight({ type: 'subAgent.started', callId, name, childSessionId });
      const own: SessionOptions = {
        prompt,
        budget: granted,
        signal,
        logger,
        clock,
        sessionId: childSessionId,
        onEvent: (event: SessionEvent) => observer.forward(event, name),
        ...(random !== undefined && { random }),
        ...(inspect !== undefined && { inspect }),
      };
      return start({ agent: child, options: own, lineage: below });
    },
    ended: (name, callId, { sessionId: childSessionId, status, counters }) =>
      observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters }),
  });
}

function spentIn({ requests, tokens, costUsd }: Counters['tree']): Spent {
  return { requests, tokens: tokens.input + tokens.output, costUsd: costUsd ?? 0 };
}
