import type { Budget } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Observer } from '../observe/observer.ts';
import { budgetLeft } from './input.ts';
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
};

/**
 * Makes a session's sub-agents; null if it has none. They share its logger, clock, remaining budget and event stream
 * (B-7).
 */
export function subAgentsOf(
  { sessionId, agent, options, observer, lineage }: Parent,
  budget: Budget,
  start: (parts: SessionParts<unknown>) => SubSession,
): SubAgents | null {
  if (agent.definition.agents === undefined) return null;
  const { logger, clock, random, inspect } = options;
  const maxDepth = Math.min(lineage.maxDepth, agent.limits.maxDepth);
  const below: Lineage = { parentSessionId: sessionId, depth: lineage.depth + 1, maxDepth };
  return new SubAgents({
    depth: lineage.depth,
    maxDepth,
    requestLimit: budget.requests,
    requestsUsed: () => observer.counters.tree.requests,
    budgetLeft: () => budgetLeft(budget, observer.counters.tree, clock.now()),
    start: (child, name, prompt, { costUsd, ...granted }, { callId, signal }) => {
      const childSessionId = `${sessionId}/${callId}`;
      observer.sight({ type: 'subAgent.started', callId, name, childSessionId });
      const own: SessionOptions = {
        prompt,
        // An unpriced agent can't keep to a cost limit; its requests are still limited.
        budget: { ...granted, ...(costUsd !== undefined && isPriced(child) && { costUsd }) },
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

function isPriced({ targets, definition }: Agent): boolean {
  return targets.every(({ name }) => definition.pricing?.[name] !== undefined);
}
