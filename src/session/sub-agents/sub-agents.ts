import { z } from 'zod';
import { requestBound } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import type { CatalogTool, ToolRun } from '../../tools/catalog-tool.ts';
import { BudgetSpentError, success, ToolError } from '../../tools/result.ts';
import { schemaTool } from '../../tools/schema-tool.ts';
import type { SessionResult } from '../options.ts';
import type { Grants } from './grants.ts';
import type { Child, SubSession } from './sub-session.ts';

export type SubAgentsOptions = {
  depth: number;
  maxDepth: number;
  grants: Grants;
  start: (agent: Agent, task: Omit<Child, 'session'> & { prompt: string }) => SubSession;
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
  private readonly running = new Map<string, Child>();
  /** Those that ended before a crash, whose calls were not answered. */
  private readonly ended = new Map<string, Child>();
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
      afterCrash: 'continue',
      ...(depth >= maxDepth && {
        refusal: { slug: 'depth_exceeded', reason: `Sub-agent depth limit: ${maxDepth - 1}. Do it yourself.` },
      }),
    });
  }

  /** Stops the running sub-agents; each asks for its report next. An abort uses the call's signal. */
  stop(): void {
    this.stopping = true;
    for (const { session } of this.running.values()) session.stop();
  }

  tree(): SubSession[] {
    return [...this.running.values()].flatMap(({ session }) => session.tree());
  }

  /** Resolves when every sub-agent has ended, including those whose call has already been answered. */
  async close(): Promise<void> {
    await Promise.all([...this.running.values()].map(({ session }) => session.result));
  }

  /** Replay: a sub-agent that had started. */
  restore(child: Child): void {
    this.options.grants.reserve(child.grant);
    this.running.set(child.callId, child);
  }

  /** Replay: the end of a sub-agent had been told. */
  restoreEnd(callId: string): void {
    const child = this.running.get(callId);
    if (child === undefined) return;
    this.running.delete(callId);
    this.ended.set(callId, child);
    this.options.grants.giveBack(child.grant);
  }

  /** Goes on after a replay. A sub-agent whose call is no longer open is aborted, as its call was. */
  goOn(isOpen: (callId: string) => boolean): void {
    for (const child of [...this.running.values()]) {
      child.session.goOn();
      if (this.stopping) child.session.stop();
      if (isOpen(child.callId)) continue;
      child.abort.abort(new Error('its call was aborted'));
      void this.resultOf(child);
    }
  }

  private async run(name: string, agent: Agent, prompt: string, run: ToolRun): Promise<unknown> {
    const child =
      this.running.get(run.callId) ?? this.ended.get(run.callId) ?? (await this.begin(name, agent, prompt, run));
    const abort = () => child.abort.abort(run.signal.reason);
    if (run.signal.aborted) abort();
    else run.signal.addEventListener('abort', abort, { once: true });
    const result = await this.resultOf(child);
    const { requests: sent, tokens, costUsd } = result.counters.tree;
    run.account({ requests: sent, tokens: tokens.input + tokens.output, costUsd: costUsd ?? 0 });
    if (result.success) return success(result.report.content);
    throw new ToolError(`The agent ${agent.name} ${result.status}: ${result.slugs.join(', ')}.`, {
      slugs: result.slugs,
      report: String(result.report.content),
    });
  }

  private async begin(name: string, agent: Agent, prompt: string, { callId, signal }: ToolRun): Promise<Child> {
    const { grants, start } = this.options;
    const bound = agent.limits.maxTreeRequests ?? requestBound(agent.limits);
    const grant = await grants.take(bound, signal);
    if (grant === null) {
      throw new BudgetSpentError('The shared budget is spent: do the task yourself, or report what you have.');
    }
    const task = { name, callId, grant, abort: new AbortController() };
    try {
      const session = start(agent, { ...task, prompt });
      const child = { ...task, session };
      this.running.set(callId, child);
      if (this.stopping) session.stop();
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
