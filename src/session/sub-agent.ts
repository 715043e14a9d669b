import { z } from 'zod';
import { type Allowance, requestBound } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import type { CatalogTool, ToolRun } from '../tools/catalog-tool.ts';
import { BudgetSpentError, success, ToolError } from '../tools/result.ts';
import { schemaTool } from '../tools/schema-tool.ts';
import type { Grants } from './grants.ts';
import type { Session, SessionBudget, SessionResult } from './options.ts';

/** A session's place in the tree of sub-agents. */
export type Lineage = {
  parentSessionId: string | null;
  /** 1 for the root session. */
  depth: number;
  maxDepth: number;
  /** The secrets of the sessions above, since a task or a report may repeat them (S-5). */
  secrets: readonly string[];
};

/** The lineage of a session without a parent. */
export const root: Lineage = { parentSessionId: null, depth: 1, maxDepth: Number.POSITIVE_INFINITY, secrets: [] };

/** A sub-agent's session, as its parent uses it. */
export type SubSession = Session & {
  waitingFor(callId: string): SubSession[];
  decide(callId: string, approved: boolean, reason: string | null): boolean;
};

export type SubAgentsOptions = {
  depth: number;
  maxDepth: number;
  grants: Grants;
  /** Returns the wall-clock time left, in ms; undefined if it is not limited. */
  timeLeft: () => number | undefined;
  start: (agent: Agent, name: string, prompt: string, budget: SessionBudget, run: ToolRun) => SubSession;
  ended: (name: string, callId: string, result: SessionResult) => void;
};

const subAgentInput = z.object({
  prompt: z
    .string()
    .trim()
    .min(1)
    .describe('The task, with everything needed to do it: the sub-agent sees nothing else.'),
  reason: z.string().trim().min(1).describe('Why you delegate the task, in one sentence.'),
});

/** The sub-agents of one session, as tools (B-7). Each call runs a session with its own bound. */
export class SubAgents {
  private readonly options: SubAgentsOptions;
  private running: SubSession[] = [];
  private stopping = false;

  constructor(options: SubAgentsOptions) {
    this.options = options;
  }

  tool(name: string, agent: Agent): CatalogTool {
    const { depth, maxDepth } = this.options;
    const { description = `Gives a task to the agent ${agent.name} and returns its report.` } = agent.definition;
    return schemaTool({
      name,
      description,
      input: subAgentInput,
      execute: ({ prompt }, run) => this.run(name, agent, prompt, run),
      timeoutMs: null,
      ...(depth >= maxDepth && {
        refusal: { slug: 'depth_exceeded', reason: `Sub-agent depth limit: ${maxDepth - 1}. Do it yourself.` },
      }),
    });
  }

  /** Stops the running sub-agents; each asks for its report next. An abort uses the call's signal. */
  stop(): void {
    this.stopping = true;
    for (const session of this.running) session.stop();
  }

  waitingFor(callId: string): SubSession[] {
    return this.running.flatMap((session) => session.waitingFor(callId));
  }

  /** Resolves when every sub-agent has ended, including those whose call has already been answered. */
  async close(): Promise<void> {
    await Promise.all(this.running.map((session) => session.result));
  }

  private async run(name: string, agent: Agent, prompt: string, run: ToolRun): Promise<unknown> {
    const { grants, timeLeft, start, ended } = this.options;
    const bound = agent.limits.maxTreeRequests ?? requestBound(agent.limits);
    const grant = await grants.take(bound, run.signal);
    if (grant === null) {
      throw new BudgetSpentError('The shared budget is spent: do the task yourself, or report what you have.');
    }
    let result: SessionResult;
    try {
      const session = start(agent, name, prompt, budgetOf(agent, grant, timeLeft()), run);
      this.running.push(session);
      if (this.stopping) session.stop();
      result = await session.result;
      this.running = this.running.filter((one) => one !== session);
      ended(name, run.callId, result);
    } finally {
      grants.giveBack(grant);
    }
    const { requests: sent, tokens, costUsd } = result.counters.tree;
    run.account({ requests: sent, tokens: tokens.input + tokens.output, costUsd: costUsd ?? 0 });
    if (result.success) return success(result.report.content);
    throw new ToolError(`The agent ${agent.name} ${result.status}: ${result.slugs.join(', ')}.`, {
      slugs: result.slugs,
      report: String(result.report.content),
    });
  }
}

function budgetOf(agent: Agent, { requests, tokens, costUsd }: Allowance, wallClockMs?: number): SessionBudget {
  // If the grant equals the bound, the bound ends the session; no budget is needed.
  const isBound = requests === requestBound(agent.limits) && agent.definition.agents === undefined;
  return {
    ...(requests !== null && !isBound && { requests }),
    ...(tokens !== null && { tokens }),
    // An unpriced agent can't keep to a cost limit; its requests are still limited.
    ...(costUsd !== null && isPriced(agent) && { costUsd }),
    ...(wallClockMs !== undefined && { wallClockMs }),
  };
}

function isPriced({ targets, definition }: Agent): boolean {
  return targets.every(({ name }) => definition.pricing?.[name] !== undefined);
}
