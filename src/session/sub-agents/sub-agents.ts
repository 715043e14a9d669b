import { requestBound } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { CatalogTool, ToolRun } from '../../tools/catalog-tool.ts';
import { BudgetSpentError } from '../../tools/result.ts';
import { schemaTool } from '../../tools/schema-tool.ts';
import type { SessionResult } from '../session.ts';
import { Away } from './away.ts';
import type { Grants } from './grants.ts';
import { budgetSpent, cachedReport, callIsOver, offeredAs, subAgentReport } from './sub-agent-call.ts';
import type { Child, SubSession } from './sub-session.ts';

export type SubAgentsOptions = {
  depth: number;
  maxDepth: number;
  sharesBudget: boolean;
  grants: Grants;
  start: (agent: Agent, task: Omit<Child, 'session'> & { prompt: string }) => SubSession;
  ended: (name: string, callId: string, result: SessionResult) => void;
};

/** The sub-agents of one session, as tools (B-7). Each call runs a session with its own bound. */
export class SubAgents {
  private readonly options: SubAgentsOptions;
  private readonly running = new Map<string, Child>();
  /** Those that ran before a crash, until their calls are performed again. */
  private readonly restored = new Map<string, Child>();
  /** Those that ended before a crash or elsewhere, whose calls were not answered. */
  private readonly ended = new Map<string, Promise<SessionResult>>();
  readonly away = new Away(this.ended);
  private readonly stopping = new AbortController();

  constructor(options: SubAgentsOptions) {
    this.options = options;
  }

  tool(name: string, agent: Agent): CatalogTool {
    return schemaTool({
      ...{ name, ...offeredAs(agent, this.options) },
      execute: ({ prompt }, run) => {
        const report = () => this.run(name, agent, prompt, run);
        // Sessions that wait for the same budget may be waiting for this one.
        const alone = this.options.sharesBudget ? AbortSignal.abort() : this.stopping.signal;
        const hasBegun = this.ended.has(run.callId) || this.restored.has(run.callId);
        return hasBegun ? report() : cachedReport(agent, prompt, run, alone, report);
      },
      timeoutMs: null,
      afterCrash: 'continue',
    });
  }

  /** Stops the running sub-agents; each asks for its report next. An abort uses the call's signal. */
  stop(): void {
    this.stopping.abort();
    for (const { session } of this.running.values()) session.stop();
  }

  /** Those that have not ended. */
  get children(): Child[] {
    return [...this.restored.values(), ...this.running.values()];
  }

  tree(): SubSession[] {
    return this.children.flatMap(({ session }) => session.tree());
  }

  /**
   * Ends the sub-agents that run, that ran before a crash, or that begin in this very step: every call is answered, so no
   * result is needed.
   */
  async close(): Promise<void> {
    await undefined;
    await Promise.all(this.children.map((child) => this.abandoned(child)));
    await this.away.close();
  }

  /** Replay: a sub-agent that had started. */
  restore(child: Child): void {
    this.options.grants.reserve(child.grant);
    this.restored.set(child.callId, child);
  }

  /** Replay: the end of a sub-agent had been recorded. */
  restoreEnd(callId: string): void {
    const child = this.restored.get(callId);
    if (child === undefined) return;
    this.restored.delete(callId);
    this.ended.set(callId, child.session.result);
    this.options.grants.giveBack(child.grant);
  }

  /** Aborts a sub-agent whose result is no longer needed. */
  private abandoned(child: Child): Promise<SessionResult> {
    child.abort.abort(callIsOver);
    this.revive(child);
    return this.resultOf(child);
  }

  /** Lets a sub-agent that ran before a crash go on, unless it does already. */
  private revive(child: Child): Child {
    if (!this.restored.delete(child.callId)) return child;
    this.running.set(child.callId, child);
    child.session.goOn();
    if (this.stopping.signal.aborted) child.session.stop();
    return child;
  }

  private async run(name: string, agent: Agent, prompt: string, run: ToolRun): Promise<unknown> {
    const result = await (this.ended.get(run.callId) ?? this.followed(name, agent, prompt, run));
    const { requests, tokens, costUsd } = result.counters.tree;
    run.account({ requests, tokens: tokens.input + tokens.output, costUsd: costUsd ?? 0 });
    return subAgentReport(agent.name, result);
  }

  /** Follows a sub-agent that runs, or begins one, to its end. */
  private async followed(name: string, agent: Agent, prompt: string, run: ToolRun): Promise<SessionResult> {
    const restored = this.restored.get(run.callId);
    const child = restored === undefined ? await this.begin(name, agent, prompt, run) : this.revive(restored);
    const abort = () => child.abort.abort(run.signal.reason);
    if (run.signal.aborted) abort();
    else run.signal.addEventListener('abort', abort, { once: true });
    return this.resultOf(child);
  }

  private async begin(name: string, agent: Agent, prompt: string, { callId, signal }: ToolRun): Promise<Child> {
    const { grants, start } = this.options;
    const bound = agent.limits.maxTreeRequests ?? requestBound(agent.limits);
    const grant = await grants.takeGrant(bound, signal);
    if (grant === null) throw new BudgetSpentError(budgetSpent);
    const task = { name, callId, grant, abort: new AbortController() };
    try {
      const session = start(agent, { ...task, prompt });
      const child = { ...task, session };
      this.running.set(callId, child);
      if (this.stopping.signal.aborted) session.stop();
      return child;
    } catch (error) {
      grants.giveBack(grant);
      throw error;
    }
  }

  private async resultOf(child: Child): Promise<SessionResult> {
    const result = await child.session.result;
    if (this.running.delete(child.callId)) {
      this.options.ended(child.name, child.callId, result);
      this.options.grants.giveBack(child.grant);
    }
    return result;
  }
}
