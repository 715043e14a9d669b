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
import { secretsOf } from '../agent/secrets.ts';
import { sleep, systemClock } from '../host/clock.ts';
import { PawlError } from '../input/errors.ts';
import { isEnded, type JournaledSession } from '../journal/journal.ts';
import { randomId } from '../platform/random-id.ts';
import { withoutSecrets } from '../secrets/redact.ts';
import { resumeSession } from '../session/recovery/resume-session.ts';
import { replaySession } from '../session/replay/replay-session.ts';
import type { Session } from '../session/session.ts';
import type { McpServerConfig } from '../tools/mcp/config.ts';
import { clientTools } from './client-tools.ts';
import type { GivenToTalks } from './options.ts';
import { Talk } from './talk.ts';
import { updatesOfMessage } from './updates.ts';

type Opened = Pick<NewSessionRequest, 'cwd'> & { mcpServers?: readonly McpServer[] | undefined };
export type ForkRequest = Opened & { sessionId: string };

/** How often, and for how long, a session is asked for that another process holds, in ms. */
const [pauseMs, longestMs] = [500, 60_000];

/** Sessions that a page of the list holds. */
const pageSize = 100;

/** The talks of one client: ACP's sessions, each of which is a session of Pawl for each prompt. */
export class Talks {
  /** What the client offers; it says so first. */
  capabilities: ClientCapabilities = {};
  private readonly agent: Agent;
  private readonly options: GivenToTalks;
  private readonly open = new Map<string, Talk>();
  private readonly closing = new AbortController();
  /** Whether the connection to the client is open. */
  isConnected = () => true;

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
   * Reopens a talk from the journal. With `isTold`, its conversation is sent to the client again. If its last prompt was
   * interrupted, that session is resumed first, and the client gets its updates.
   */
  async load(request: LoadSessionRequest | ResumeSessionRequest, client: AgentContext, isTold: boolean): Promise<void> {
    const { journal, context, logger, onEvent, telemetry } = this.options;
    const { sessionId: id } = request;
    if (this.open.get(id)?.isBusy === true)
      throw RequestError.invalidRequest(undefined, 'a prompt of this session still runs');
    const last = (await this.recorded(`${id}:`)).at(0);
    if (journal === undefined || last === undefined) throw RequestError.sessionNotFound(id);
    const { sessionId, conversation } = await replaySession(journal, last.sessionId);
    const talk = this.add(id, request, client, [...conversation], turnOf(sessionId) + 1);
    const secrets = secretsOf(talk.agent.definition);
    const observed = {
      ...(logger !== undefined && { logger }),
      ...(onEvent !== undefined && { onEvent }),
      ...(telemetry !== undefined && { telemetry }),
    };
    const resume = () => resumeSession(talk.agent, { journal, sessionId, context, ...observed });
    const telling = async () => {
      if (!isTold) return;
      for (const message of withoutSecrets(conversation, secrets))
        await talk.tell(updatesOfMessage(message, request.cwd));
    };
    if (isEnded(last.status)) return telling();
    try {
      await talk.resume(async () => {
        await telling();
        const session = await this.whenFree(resume);
        // The client may have left meanwhile.
        if (this.closing.signal.aborted) await session.suspend();
        return session;
      });
    } catch (error) {
      if (this.open.get(id) === talk) this.open.delete(id);
      throw error;
    }
  }

  /** Begins a talk with all that was said in another, which stays as it is. The other need not be open. */
  async fork(request: ForkRequest, client: AgentContext): Promise<string> {
    const { sessionId: id } = request;
    const { journal } = this.options;
    const open = this.open.get(id);
    if (open?.isBusy === true) throw RequestError.invalidRequest(undefined, 'a prompt of this session still runs');
    const forked = `acp-${randomId()}`;
    // Another process may have gone on with it.
    const last = (await this.recorded(`${id}:`)).at(0);
    if (journal === undefined || last === undefined) {
      this.add(forked, request, client, [...this.get(id).said]);
      return forked;
    }
    if (!isEnded(last.status))
      throw RequestError.invalidRequest(undefined, 'its last prompt has not ended: load it first');
    const { conversation } = await replaySession(journal, last.sessionId);
    this.add(forked, request, client, [...conversation]);
    return forked;
  }

  async list({ cwd, cursor }: { cwd?: string | null; cursor?: string | null }): Promise<ListSessionsResponse> {
    const talks = new Map<string, JournaledSession>();
    for (const row of await this.recorded('acp-')) {
      const id = row.sessionId.slice(0, row.sessionId.lastIndexOf(':'));
      if (!talks.has(id) && (cwd == null || row.metadata.cwd === cwd)) talks.set(id, row);
    }
    const start = Number(cursor ?? 0);
    if (!Number.isSafeInteger(start) || start < 0) throw RequestError.invalidParams({ cursor }, 'an unknown cursor');
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
    this.closing.abort();
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
      isConnected: () => this.isConnected(),
    });
    this.open.set(id, talk);
    return talk;
  }

  /** Returns the agent with the servers that the client names, and with its files and terminals as tools. */
  private agentFor(sessionId: string, servers: readonly McpServer[], client: AgentContext): Agent {
    const { definition } = this.agent;
    const own = this.options.clientTools === false ? {} : clientTools(sessionId, client, this.capabilities);
    const free = Object.entries(own).filter(([name]) => !(name in { ...definition.agents, ...definition.tools }));
    const tools = { ...Object.fromEntries(free), ...definition.tools };
    const given: Record<string, McpServerConfig> = {};
    for (const server of servers)
      given[freeName(server.name, { ...given, ...definition.mcpServers })] = configOf(server);
    return defineAgent({ ...definition, tools, mcpServers: { ...given, ...definition.mcpServers } });
  }

  /** Resumes a session, which another process may hold that has died, until its lease has run out. */
  private async whenFree(resume: () => Promise<Session>): Promise<Session> {
    for (let waitedMs = 0; ; waitedMs += pauseMs) {
      try {
        return await resume();
      } catch (error) {
        const isTaken = error instanceof PawlError && error.code === 'session_taken';
        if (!isTaken || waitedMs >= longestMs || this.closing.signal.aborted) throw error;
        await sleep(systemClock, pauseMs, this.closing.signal);
      }
    }
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

/** The name of a server as those of an agent may be, and that no other has. */
function freeName(name: string, taken: object): string {
  const clean = name.replace(/[^A-Za-z0-9-]+/g, '-').slice(0, 28) || 'server';
  for (let copy = 1; ; copy += 1) {
    const own = copy === 1 ? clean : `${clean}-${copy}`;
    if (!(own in taken)) return own;
  }
}

function configOf(server: McpServer): McpServerConfig {
  const pairs = (list: readonly { name: string; value: string }[]) =>
    Object.fromEntries(list.map(({ name, value }) => [name, value]));
  if ('url' in server) return { url: server.url, headers: pairs(server.headers) };
  return { command: server.command, args: server.args, env: pairs(server.env) };
}
