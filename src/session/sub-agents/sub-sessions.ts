import { type Allowance, type Counters, requestBound, type Spent } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { SessionHead } from '../../journal/journal.ts';
import type { ScopeLog } from '../../journal/scope-log.ts';
import type { Observer } from '../../observe/observer.ts';
import { newHead } from '../head.ts';
import type { SessionBudget } from '../options.ts';
import { agentAsRecorded } from '../recovery/recorded-agent.ts';
import type { SessionIdentity, SessionParts } from '../wiring/identity.ts';
import { surroundingsBelow } from '../wiring/surroundings.ts';
import { Grants } from './grants.ts';
import type { Lineage } from './lineage.ts';
import { SubAgents } from './sub-agents.ts';
import type { Child, SubSession } from './sub-session.ts';

/** Makes sub-agents: `start` a session, or `restore` one that began before a crash. */
export type SubSessions = {
  subAgents: SubAgents;
  grants: Grants;
  /** The sub-agent of this name; undefined if the agent has none. */
  agentOf(name: string): Agent | undefined;
  /** The budget of a sub-agent that begins at `at` (epoch ms), of its grant and of the time that is left. */
  budgetOf(agent: Agent, grant: Allowance, at: number): SessionBudget;
  /** Replay: makes the sub-agent that has this log. Returns its session. */
  restore<Made extends SubSession>(log: ScopeLog, make: (parts: SessionParts<unknown>) => Made): Made;
};

/**
 * Makes a session's sub-agents; null if it has none. They share its logger, clock, remaining budget and event stream
 * (B-7).
 */
export function subSessionsOf(
  above: SessionIdentity,
  observer: Observer,
  begin: (parts: SessionParts<unknown>) => SubSession,
): SubSessions | null {
  const { agent, lineage, secrets, driver, head, log, around } = above;
  const { agents } = agent;
  if (Object.keys(agents).length === 0) return null;
  const { budget } = head.input;
  const maxDepth = Math.min(lineage.maxDepth, agent.limits.maxDepth);
  const below: Lineage = {
    ...{ parentSessionId: head.sessionId, depth: lineage.depth + 1, maxDepth, secrets },
    resultAbove: (id) => observer.folds.keptResults.whole(id),
  };
  const partsOf = (child: Agent, own: SessionHead, task: Pick<Child, 'name' | 'abort'>): SessionParts<unknown> => ({
    agent: child,
    around: surroundingsBelow(around, task.abort.signal),
    lineage: below,
    head: own,
    log: null,
    ...(driver !== undefined && { driver }),
    parent: {
      forward: (event) => observer.forward(event, task.name),
      position: () => observer.position,
      moveTo: (position) => observer.moveTo(position),
    },
  });
  const budgetFor = (child: Agent, grant: Allowance, at: number) =>
    budgetOf(child, grant, budget.deadlineAt === null ? undefined : Math.max(1, budget.deadlineAt - at));
  const grants = new Grants(budget, () => spentIn(observer.counters.tree));
  const subAgents = new SubAgents({
    depth: lineage.depth,
    maxDepth,
    sharesBudget: head.sharedBudget !== undefined,
    grants,
    start: (child, { callId, name, grant, abort, prompt }) => {
      const childSessionId = `${head.sessionId}/${callId}`;
      observer.sight({ type: 'subAgent.started', callId, name, childSessionId });
      const call = { parent: log?.scope ?? '', callId, name, granted: grant };
      const granted = budgetFor(child, grant, around.clock.now());
      const own = newHead(
        child,
        childSessionId,
        {
          ...{ prompt, budget: granted, clock: around.clock, metadata: head.metadata },
          ...(head.sharedBudget !== undefined && { sharedBudget: head.sharedBudget }),
        },
        call,
      ).head;
      return begin({ ...partsOf(child, own, { name, abort }), log: log?.child(own) ?? null });
    },
    ended: (name, callId, { sessionId: childSessionId, status, counters }) =>
      observer.sight({ type: 'subAgent.ended', callId, name, childSessionId, status, counters }),
  });
  const agentOf = (name: string) => (Object.hasOwn(agents, name) ? agents[name] : undefined);
  return {
    subAgents,
    grants,
    agentOf,
    budgetOf: budgetFor,
    restore: (childLog, make) => {
      const { call } = childLog.head;
      const child = call === null ? undefined : agentOf(call.name);
      if (call === null || child === undefined) throw new Error(`no sub-agent for ${childLog.scope}`);
      const { callId, name, granted: grant } = call;
      const abort = new AbortController();
      const session = make({
        ...partsOf(agentAsRecorded(child, childLog.head, around.renamedModels), childLog.head, { name, abort }),
        log: childLog,
      });
      subAgents.restore({ name, callId, grant, session, abort });
      return session;
    },
  };
}

function spentIn({ requests, tokens, costUsd }: Counters['tree']): Spent {
  return { requests, tokens: tokens.input + tokens.output, costUsd: costUsd ?? 0 };
}

function budgetOf(agent: Agent, { requests, tokens, costUsd }: Allowance, wallClockMs?: number): SessionBudget {
  // If the grant equals the bound, the bound ends the session; no budget is needed.
  const isBound = requests === requestBound(agent.limits) && Object.keys(agent.agents).length === 0;
  return {
    ...(requests !== null && !isBound && { requests }),
    ...(tokens !== null && { tokens }),
    ...(costUsd !== null && { costUsd }),
    ...(wallClockMs !== undefined && { wallClockMs }),
  };
}
