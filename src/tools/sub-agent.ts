import { z } from 'zod';
import { requestBound, requestGrant } from '../../machines/index.ts';
import type { Agent } from '../agent-definition.ts';
import { compileSchema } from '../model/schema.ts';
import type { Session, SessionBudget, SessionResult } from '../session.ts';
import { type CatalogTool, functionTool, later, type ToolRun } from './catalog.ts';
import { success, ToolError } from './result.ts';

/** What a session gives to the sessions of its sub-agents, and is told by them. */
export type Lineage = {
  parentSessionId: string | null;
  /** 1 for the session that was started by hand. */
  depth: number;
  maxDepth: number;
};

/** A session as the one above it sees it. */
export type SubSession = Session & {
  waitingFor(callId: string): SubSession[];
  decide(callId: string, approved: boolean, reason: string | null): boolean;
};

export type SubAgentsOptions = {
  depth: number;
  maxDepth: number;
  /** Requests that this session and all below it may send; null: as many as their bounds allow. */
  requestLimit: number | null;
  /** Requests sent by this session and by those below it that have ended. */
  requestsUsed: () => number;
  /** What is left of the session's other budgets. */
  budgetLeft: () => SessionBudget;
  start: (agent: Agent, name: string, prompt: string, budget: SessionBudget, run: ToolRun) => SubSession;
  ended: (name: string, callId: string, result: SessionResult) => void;
};

const subAgentInput = z.object({
  prompt: z
    .string()
    .trim()
    .min(1)
    .describe('The task, with all that is needed to do it: the sub-agent sees nothing else.'),
  reason: z.string().trim().min(1).describe('Why the task is given away, in one sentence.'),
});

/** The sub-agents of one session as its tools (B-7): each call is a session with a bound of its own. */
export class SubAgents {
  private readonly options: SubAgentsOptions;
  private running: SubSession[] = [];
  private stopping = false;
  private granted = 0;

  constructor(options: SubAgentsOptions) {
    this.options = options;
  }

  tool(name: string, agent: Agent): CatalogTool {
    const { depth, maxDepth } = this.options;
    const schema = compileSchema(subAgentInput, `agents.${name}`);
    const described =
      agent.definition.description ?? `Gives a task to the agent ${agent.name}, and gives its report back.`;
    return {
      name,
      kind: 'real',
      offered: later(
        Promise.resolve(schema.jsonSchema).then((jsonSchema) => functionTool(name, described, jsonSchema)),
      ),
      validate: (input) => schema.validate(input),
      needsApproval: () => false,
      execute: (input, run) => this.run(name, agent, subAgentInput.parse(input).prompt, run),
      toModelOutput: null,
      judgeReport: null,
      timeoutMs: null,
      ...(depth >= maxDepth && {
        refusal: { slug: 'depth_exceeded', reason: `Sub-agents may be ${maxDepth - 1} deep: do it yourself.` },
      }),
    };
  }

  /** Stop travels down: each asks for its report next. Abort does by the signal of the call. */
  stop(): void {
    this.stopping = true;
    for (const session of this.running) session.stop();
  }

  waitingFor(callId: string): SubSession[] {
    return this.running.flatMap((session) => session.waitingFor(callId));
  }

  /** Once every session below has ended, also those whose call was answered before. */
  async close(): Promise<void> {
    await Promise.all(this.running.map((session) => session.result));
  }

  private async run(name: string, agent: Agent, prompt: string, run: ToolRun): Promise<unknown> {
    const { requestLimit, requestsUsed, budgetLeft, start, ended } = this.options;
    const bound = agent.limits.maxTreeRequests ?? requestBound(agent.limits);
    const grant = requestGrant(requestLimit, requestsUsed(), this.granted, bound);
    if (grant === 0) {
      throw new ToolError('The request budget of the whole tree is spent: do it yourself, or report what there is.', {
        slugs: ['budget_exhausted'],
      });
    }
    // Where its bound alone holds it, the bound is what it ends by, and not a budget.
    const isBound = grant === requestBound(agent.limits) && agent.definition.agents === undefined;
    const requests = isBound ? {} : { requests: grant };
    this.granted += grant;
    let result: SessionResult;
    try {
      const session = start(agent, name, prompt, { ...budgetLeft(), ...requests }, run);
      this.running.push(session);
      if (this.stopping) session.stop();
      result = await session.result;
      this.running = this.running.filter((one) => one !== session);
    } finally {
      this.granted -= grant;
    }
    ended(name, run.callId, result);
    const { requests: sent, tokens, costUsd } = result.counters.tree;
    run.account({ requests: sent, tokens: tokens.input + tokens.output, costUsd: costUsd ?? 0 });
    if (result.success) return success(result.report.content);
    throw new ToolError(`The agent ${agent.name} ${result.status}: ${result.slugs.join(', ')}.`, {
      slugs: result.slugs,
      report: String(result.report.content),
    });
  }
}
