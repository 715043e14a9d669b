import { randomUUID } from 'node:crypto';
import type { Budget } from '../machines/index.ts';
import type { Agent } from './agent-definition.ts';
import type { Clock } from './host/clock.ts';
import type { SessionEvent } from './observe/events.ts';
import type { Logger } from './observe/log.ts';
import type { Observer } from './observe/observer.ts';
import type { SessionOptions } from './session.ts';
import { budgetLeft } from './session-input.ts';
import { type Lineage, SubAgents, type SubSession } from './tools/sub-agent.ts';

/** What the sessions below have of the one above. */
export type Above = {
  readonly sessionId: string;
  readonly agent: Agent;
  readonly options: SessionOptions;
  readonly observer: Observer;
  readonly logger: Logger;
  readonly clock: Clock;
};

/** The sub-agents of a session: sessions with its logger, its clock and what its budget leaves, seen on its stream (B-7). */
export function subSessions(
  { sessionId, agent, options, observer, logger, clock }: Above,
  budget: Budget,
  lineage: Lineage,
  start: (agent: Agent, options: SessionOptions, lineage: Lineage) => SubSession,
): SubAgents {
  const maxDepth = Math.min(lineage.maxDepth, agent.limits.maxDepth);
  const below: Lineage = { parentSessionId: sessionId, depth: lineage.depth + 1, maxDepth };
  return new SubAgents({
    depth: lineage.depth,
    maxDepth,
    requestLimit: budget.requests,
    requestsUsed: () => observer.counters.tree.requests,
    budgetLeft: () => budgetLeft(budget, observer.counters.tree, clock.now()),
    start: (child, name, prompt, { costUsd, ...granted }, { callId, signal }) => {
      const childSessionId = options.sessionId === undefined ? randomUUID() : `${sessionId}/${callId}`;
      observer.sight({ type: 'subAgent.started', callId, name, childSessionId });
      const { random, inspect } = options;
      const own: SessionOptions = {
        prompt,
        // What has no price cannot keep to a sum; the requests bound it all the same.
        budget: { ...granted, ...(costUsd !== undefined && isPriced(child) && { costUsd }) },
        signal,
        logger,
        clock,
        sessionId: childSessionId,
        onEvent: (event: SessionEvent) => observer.forward(event, name),
        ...(random !== undefined && { random }),
        ...(inspect !== undefined && { inspect }),
      };
      return start(child, own, below);
    },
    ended: (name, callId, { sessionId: childSessionId, status, counters }) =>
      observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters }),
  });
}

function isPriced({ targets, definition }: Agent): boolean {
  return targets.every(({ name }) => definition.pricing?.[name] !== undefined);
}
