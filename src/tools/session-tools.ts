import type { Agent } from '../agent-definition.ts';
import { messageOf } from '../errors.ts';
import type { Observer } from '../observe/observer.ts';
import { readResultTool } from './built-in/read-result.ts';
import type { Catalog, CatalogTool } from './catalog.ts';
import type { McpServers } from './mcp-servers.ts';
import type { ResultStore } from './result-store.ts';
import type { SubAgents } from './sub-agent.ts';

export type SessionToolsOptions = {
  agent: Agent;
  catalog: Catalog;
  /** Where the agent has any. */
  subAgents: SubAgents | null;
  store: ResultStore | null;
  observer: Observer;
};

/** All the tools of one session, wherever they come from: opened before its first turn, closed after its last. */
export class SessionTools {
  private readonly options: SessionToolsOptions;
  private servers: McpServers | null = null;
  private closed = false;

  constructor(options: SessionToolsOptions) {
    this.options = options;
  }

  /** Opens the servers, in parallel; null, or which server is missing (`tools_unavailable`). */
  async open(timeoutMs: number, signal: AbortSignal): Promise<string | null> {
    const { agent, observer } = this.options;
    const { mcpServers = {} } = agent.definition;
    if (Object.keys(mcpServers).length > 0) {
      const { McpServers } = await import('./mcp-servers.ts');
      if (this.closed) return 'the session has ended';
      const debug = (server: string, line: string) => observer.note('debug', 'server.said', server, line);
      this.servers = new McpServers(mcpServers, {
        sight: observer.sight.bind(observer),
        debug,
        info: (server, line) => observer.note('info', 'server.unavailable', server, line),
        onChange: () => this.show().catch((error) => debug('', messageOf(error))),
      });
      const missing = await this.servers.open(timeoutMs, signal);
      if (missing !== null) return missing;
    }
    await this.show();
    return null;
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.options.subAgents?.close();
    await this.servers?.close();
  }

  /** The order is that of the definition, since it is part of the prefix that providers cache. */
  private show(): Promise<void> {
    const { agent, catalog, subAgents, store } = this.options;
    const { agents = {} } = agent.definition;
    // Nothing is added to the agent's own: all its sessions share one map.
    if (subAgents === null && store === null && this.servers === null) return catalog.show(agent.tools);
    const tools = new Map<string, CatalogTool>();
    const add = (tool: CatalogTool) => {
      if (!tools.has(tool.name)) tools.set(tool.name, tool);
    };
    for (const tool of agent.tools.values()) add(tool);
    if (subAgents !== null) for (const [name, child] of Object.entries(agents)) add(subAgents.tool(name, child));
    if (store !== null) add(readResultTool(store));
    for (const tool of this.servers?.tools(new Set(tools.keys())) ?? []) add(tool);
    return catalog.show(tools);
  }
}
