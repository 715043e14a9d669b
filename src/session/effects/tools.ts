import type { Agent } from '../../agent/definition.ts';
import type { Clock } from '../../host/clock.ts';
import { messageOf } from '../../input/errors.ts';
import { onNode } from '../../input/on-node.ts';
import type { FollowedTask } from '../../observe/calls/followed-calls.ts';
import type { Observer } from '../../observe/observer.ts';
import type { Catalog } from '../../tools/catalog.ts';
import type { CatalogTool } from '../../tools/catalog-tool.ts';
import type { McpServers, McpServersOptions } from '../../tools/mcp/servers.ts';
import type { SubAgents } from '../sub-agents/sub-agents.ts';

export type SessionToolsOptions = {
  agent: Agent;
  catalog: Catalog;
  /** Null if the agent has none. */
  subAgents: SubAgents | null;
  observer: Observer;
  clock: Clock;
};

/** All the tools of one session, from every source. They open before the first turn and close after the last. */
export class SessionTools {
  private readonly options: SessionToolsOptions;
  private servers: McpServers | null = null;
  private closed = false;
  /** The tasks of calls that another process sent, until this one follows them. */
  private unfollowed = new Map<string, FollowedTask>();

  constructor(options: SessionToolsOptions) {
    this.options = options;
  }

  /** Opens the servers in parallel. Returns null, or why a server is missing (`tools_unavailable`). */
  async open(timeoutMs: number, signal: AbortSignal): Promise<string | null> {
    const { agent, observer, clock } = this.options;
    const { mcpServers } = agent;
    const { log, followedCalls } = observer.folds;
    this.unfollowed = followedCalls.open();
    if (Object.keys(mcpServers).length > 0) {
      const debug = (server: string, line: string) => log.note('debug', 'server.said', server, line);
      const watched: McpServersOptions = {
        clock,
        sight: observer.sight.bind(observer),
        debug,
        info: (server, line) => log.note('info', 'server.unavailable', server, line),
        onChange: () => this.show().catch((error) => debug('', messageOf(error))),
      };
      try {
        const { McpServers } = await onNode('An MCP server', () => import('../../tools/mcp/servers.ts'));
        if (this.closed) return 'the session has ended';
        this.servers = new McpServers(mcpServers, watched);
      } catch (error) {
        // The pool is closed, the runtime starts no processes, or the code of servers cannot be loaded.
        return messageOf(error);
      }
      const missing = await this.servers.open(timeoutMs, signal);
      if (missing !== null) return missing;
    }
    await this.show();
    return null;
  }

  /** Returns the task of a call that another process sent, for the one who follows it from now on; null if it has none. */
  takeTask(callId: string): string | null {
    const task = this.unfollowed.get(callId);
    this.unfollowed.delete(callId);
    return task?.taskId ?? null;
  }

  /** Ends what the tools still do, and closes them. */
  async close(): Promise<void> {
    this.closed = true;
    for (const { name, taskId } of this.unfollowed.values()) this.options.catalog.get(name)?.cancelTask?.(taskId);
    await this.options.subAgents?.close();
    await this.servers?.close();
  }

  /** Closes the servers, without waiting for the sub-agents. */
  async closeServers(): Promise<void> {
    this.closed = true;
    await this.servers?.close();
  }

  /** Shows the tools in the order of the definition, because the order is part of the prefix that providers cache. */
  private show(): Promise<void> {
    const { agent, catalog, subAgents } = this.options;
    const { agents } = agent;
    // Only the agent's own tools exist, so all its sessions share one map.
    if (subAgents === null && this.servers === null) return catalog.show(agent.tools);
    const tools = new Map<string, CatalogTool>();
    const add = (tool: CatalogTool) => {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
    };
    for (const tool of agent.tools.values()) add(tool);
    if (subAgents !== null) for (const [name, child] of Object.entries(agents)) add(subAgents.tool(name, child));
    for (const tool of this.servers?.tools(new Set(tools.keys())) ?? [])
      if (agent.shown?.has(tool.name) ?? true) add(tool);
    return catalog.show(tools);
  }
}
