import type {
  AgentContext,
  ClientCapabilities,
  ListSessionsResponse,
  LoadSessionRequest,
  McpServer,
  NewSessionRequest,
  ResumeSessionRequest,
} from '@agentclientprotocol/sdk';
import { RequestError } from '@agentclientprotocol/sdk';
import { defineAgent } from '../agent/define-agent.ts';
import type { Agent } from '../agent/definition.ts';
import { sleep, systemClock } from '../host/clock.ts';
import { PawlError } from '../input/errors.ts';
import type { JournaledSession } from '../journal/journal.ts';
import { randomId } from '../platform/random-id.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import { replaySession } from '../session/replay/replay-session.ts';
import type { McpServerConfig } from '../tools/mcp/config.ts';
import { clientTools } from './client-tools.ts';
import type { GivenToTalks } from './options.ts';
import { Talk } from './talk.ts';
import { updatesOfMessage } from './updates.ts';

type Opened = Pick<NewSessionRequest, 'cwd'> & { mcpServers?: readonly McpServer[] };

/** Sessions that a page of the list holds. */
const pageSize = 100;

/** The talks of one client: ACP's sessions, each of which is a session of Pawl for each prompt. */
export class Talks {
  /** What the client offers; it says so first. */
  capabilities: ClientCapabilities = {};
  private readonly agent: Agent;
  private readonly options: GivenToTalks;
  private readonly open = new Map<string, Talk>();

  constructor(agent: Agent, options: GivenToTalks) {
    this.agent = agent;
    this.options = options;
  }

  /** Begins a talk and returns its id. */
  begin(request: NewSessionRequest, client: AgentContext): string {
    const id = `acp-${randomId()}`;
    this.add(id, request, client, []);
    return id;
  }

  get(id: string): Talk {
    const talk = this.open.get(id);
    if (talk === undefined) throw RequestError.sessionNotFound(id);
    return talk;
  }

  /**
   * Opens a talk of the journal again; `isTold`: the client gets what was said in it. A session that was killed in the middle
   * of a prompt goes on first, and the client gets what comes.
   */
  async load(request: LoadSessionRequest | ResumeSessionRequest, client: AgentContext, isTold: boolean): Promise<void> {
    const { journal, context, logger, onEvent, telemetry } = this.options;
    const { sessionId: id } = request;
    const last = (await this.recorded(`${id}:`)).at(0);
    if (journal === undefined || last === undefined) throw RequestError.sessionNotFound(id);
    const { sessionId, conversation } = await replaySession(journal, last.sessionId);
    const talk = this.add(id, request, client, [...conversation], turnOf(sessionId) + 1);
    if (isTold) for (const message of conversation) await talk.tell(updatesOfMessage(message, request.cwd));
    if (last.status !== 'running' && last.status !== 'suspended') return;
    const observed = {
      ...(logger !== undefined && { logger }),
      ...(onEvent !== undefined && { onEvent }),
      ...(telemetry !== undefined && { telemetry }),
    };
    const session = await whenFree(() => resumeSession(talk.agent, { journal, sessionId, context, ...observed }));
    await talk.follow(session, true);
  }

  async list({ cwd, cursor }: { cwd?: string | null; cursor?: string | null }): Promise<ListSessionsResponse> {
    const talks = new Map<string, JournaledSession>();
    for (const row of await this.recorded('acp-')) {
      const id = row.sessionId.slice(0, row.sessionId.lastIndexOf(':'));
      if (!talks.has(id) && (cwd == null || row.metadata.cwd === cwd)) talks.set(id, row);
    }
    const start = Number(cursor ?? 0);
    const sessions = [...talks].slice(start, start + pageSize).map(([sessionId, { metadata, updatedAt }]) => ({
      ...{ sessionId, cwd: String(metadata.cwd ?? ''), title: String(metadata.title ?? '') || null },
      updatedAt: new Date(updatedAt).toISOString(),
    }));
    return { sessions, ...(talks.size > start + pageSize && { nextCursor: String(start + pageSize) }) };
  }

  async end(id: string): Promise<void> {
    const talk = this.get(id);
    this.open.delete(id);
    await talk.end();
  }

  async close(): Promise<void> {
    const talks = [...this.open.values()];
    this.open.clear();
    await Promise.all(talks.map((talk) => talk.end()));
  }

  private add(id: string, { cwd, mcpServers = [] }: Opened, client: AgentContext, said: Talk['said'], next = 1): Talk {
    const talk = new Talk(this.agentFor(id, mcpServers, client), {
      id,
      cwd,
      client,
      said,
      next,
      options: this.options,
    });
    this.open.set(id, talk);
    return talk;
  }

  /** Returns the agent with the servers that the client names, and with its files and terminals as tools. */
  private agentFor(sessionId: string, servers: readonly McpServer[], client: AgentContext): Agent {
    const { definition } = this.agent;
    const own = this.options.clientTools === false ? {} : clientTools(sessionId, client, this.capabilities);
    const tools = { ...own, ...definition.tools };
    const given = Object.fromEntries(servers.map((server) => [nameOf(server.name), configOf(server)]));
    return defineAgent({ ...definition, tools, mcpServers: { ...given, ...definition.mcpServers } });
  }

  /** The sessions whose ids begin so, the newest first. */
  private async recorded(idPrefix: string): Promise<JournaledSession[]> {
    const rows = (await this.options.journal?.list({ idPrefix, agent: this.agent.name })) ?? [];
    return rows.toSorted(
      (one, other) => other.createdAt - one.createdAt || turnOf(other.sessionId) - turnOf(one.sessionId),
    );
  }
}

function turnOf(sessionId: string): number {
  return Number(sessionId.slice(sessionId.lastIndexOf(':') + 1)) || 0;
}

/** How often, and for how long, a session is asked for whose process has died and may still hold it. */
const [pauseMs, longestMs] = [500, 60_000];

async function whenFree<T>(resume: () => Promise<T>): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    try {
      return await resume();
    } catch (error) {
      const isTaken = error instanceof PawlError && error.code === 'session_taken';
      if (!isTaken || waitedMs >= longestMs) throw error;
      await sleep(systemClock, pauseMs);
    }
  }
}

/** The name of a server as those of an agent may be. */
function nameOf(name: string): string {
  return name.replace(/[^A-Za-z0-9-]+/g, '-').slice(0, 32) || 'server';
}

function configOf(server: McpServer): McpServerConfig {
  const pairs = (list: readonly { name: string; value: string }[]) =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if ('url' in server) return { url: server.url, headers: pairs(server.headers) };
  return { command: server.command, args: server.args, env: pairs(server.env) };
}
