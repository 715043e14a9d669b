import { randomBytes } from 'node:crypto';
import {
  type CallToolResult,
  type InputRequests,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Agent } from '../../agent/definition.ts';
import { secretsOf } from '../../agent/secrets.ts';
import { PawlError } from '../../input/errors.ts';
import { isEnded, type Journal, type JournaledSession } from '../../journal/journal.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { isRecord } from '../../platform/plain-json.ts';
import { oneAtATimePerKey } from '../../platform/promises.ts';
import { abortSession, answerSession, approveSession } from '../../session/recovery/messages.ts';
import { readSession } from '../../session/replay/replay-session.ts';
import type { Session } from '../../session/session.ts';
import type { ServerSessions } from '../sessions.ts';
import { approvalForm, decisionIn } from './approval-form.ts';
import { resultOf } from './call-result.ts';

/** The extension of MCP by which a call is answered with a handle. */
export const tasksExtension = 'io.modelcontextprotocol/tasks';

/** How often a client should ask, in ms. */
const pollIntervalMs = 1_000;

type Task = {
  taskId: string;
  status: 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled';
  createdAt: string;
  lastUpdatedAt: string;
  ttlMs: null;
  pollIntervalMs: number;
};
type DetailedTask = Task & {
  result?: CallToolResult;
  error?: { code: number; message: string };
  inputRequests?: InputRequests;
};

/** A call that waits, as the session told it. */
type Asked = Extract<SessionEvent, { type: 'tool.approvalRequested' | 'tool.handedOut' | 'tool.asked' }>;

/**
 * Calls of agents as tasks: each is a session in the journal, whose id is the handle. Nobody who has not been told it can
 * name it. A process that is asked for one that no process runs resumes it.
 */
export class AgentTasks {
  readonly journal: Journal;
  /** The names of the agents whose calls are tasks. */
  readonly names: ReadonlySet<string>;
  private readonly agents: ReadonlyMap<string, Agent>;
  private readonly sessions: ServerSessions;
  /** Those that this process runs. */
  private readonly running = new Map<string, Session>();
  private readonly inTurn = oneAtATimePerKey();

  constructor(
    agents: ReadonlyMap<string, Agent>,
    sessions: ServerSessions,
    { journal, names }: { journal: Journal; names: ReadonlySet<string> },
  ) {
    this.agents = agents;
    this.sessions = sessions;
    this.journal = journal;
    this.names = names;
  }

  /** Starts a task, and resolves once it is written down. Throws `TooManySessions`. */
  async create(agent: Agent, prompt: string): Promise<Task & { resultType: 'task' }> {
    const taskId = `task_${randomBytes(24).toString('base64url')}`;
    const begun = Promise.withResolvers<void>();
    const { journal } = this;
    const result = this.sessions.start(agent, { prompt, journal, sessionId: taskId }, (_, session) => {
      if (!this.running.has(taskId)) this.keep(taskId, session);
      begun.resolve();
    });
    await Promise.race([begun.promise, result]);
    const [row] = await journal.list({ sessionId: taskId });
    if (row === undefined)
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'The task could not be written down.');
    return { resultType: 'task', ...taskOf(row, 'working') };
  }

  async get(taskId: string): Promise<DetailedTask> {
    const row = await this.row(taskId);
    switch (row.status) {
      case 'succeeded':
      case 'failed':
        return this.ended(row);
      case 'aborted':
        return taskOf(row, 'cancelled');
      default: {
        const problem = await this.resumeTask(row);
        if (problem !== null) return { ...taskOf(row, 'failed'), error: problem };
        const inputRequests = row.waitingCalls.length === 0 ? {} : await this.questions(row);
        // What a call asks may be written down a moment after that it waits.
        if (Object.keys(inputRequests).length === 0) return taskOf(row, 'working');
        return { ...taskOf(row, 'input_required'), inputRequests };
      }
    }
  }

  /** Takes in the answers to what waits; those that answer nothing are passed over. */
  async update(taskId: string, responses: Readonly<Record<string, unknown>>): Promise<object> {
    const row = await this.row(taskId);
    const { journal } = this;
    const asked = row.waitingCalls.length === 0 ? new Map<string, Asked>() : await this.asked(row);
    for (const { sessionId, callId, awaits } of row.waitingCalls) {
      const response = responses[`${sessionId} ${callId}`];
      if (response === undefined) continue;
      if (awaits === 'approval') await approveSession(journal, taskId, callId, { ...decisionIn(response), sessionId });
      else {
        const { action, content: said }: { action?: unknown; content?: unknown } = Object(response);
        const content = isRecord(said) ? said : null;
        const isGiven = action === 'accept' && content !== null;
        const given =
          asked.get(`${sessionId} ${callId}`)?.type === 'tool.asked' ? content : (content?.output ?? content);
        const output = isGiven ? given : 'The user gave no answer.';
        await answerSession(journal, taskId, callId, output, { isError: !isGiven, sessionId });
      }
    }
    await this.resumeTask(row);
    return {};
  }

  /** Aborts a task; one that has ended stays as it is. */
  async cancel(taskId: string): Promise<object> {
    const row = await this.row(taskId);
    if (isEnded(row.status)) return {};
    const session = this.running.get(taskId);
    if (session !== undefined) {
      session.abort('cancelled by the client');
      await session.result;
      return {};
    }
    await abortSession(this.journal, taskId, 'cancelled by the client');
    await this.resumeTask(row);
    return {};
  }

  /** Gives the tasks of this process to whichever is asked for them next. */
  async leave(): Promise<void> {
    await Promise.all([...this.running.values()].map((session) => session.suspend()));
  }

  private async row(taskId: string): Promise<JournaledSession> {
    // No other session of the journal can be named, such as one of a chat.
    const [row] = /^task_[\w-]{32}$/.test(taskId) ? await this.journal.list({ sessionId: taskId }) : [];
    if (row === undefined || !this.names.has(row.agent))
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task.');
    return row;
  }

  /** Resumes a task that no process runs; returns why it cannot. */
  private async resumeTask(row: JournaledSession): Promise<{ code: number; message: string } | null> {
    return this.inTurn(row.sessionId, async () => {
      // Another poll resumes it once there is room.
      if (this.running.has(row.sessionId) || this.sessions.isFull) return null;
      try {
        this.keep(row.sessionId, await this.resumed(row));
        return null;
      } catch (error) {
        if (!(error instanceof PawlError)) throw error;
        if (error.code === 'session_taken' || error.code === 'journal_failed') return null;
        return { code: ProtocolErrorCode.InternalError, message: `${error.code}: the task cannot be resumed.` };
      }
    });
  }

  private resumed({ sessionId, agent: name }: JournaledSession): Promise<Session> {
    return this.sessions.resume(this.agent(name), { journal: this.journal, sessionId });
  }

  private agent(name: string): Agent {
    const agent = this.agents.get(name);
    if (agent === undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task.');
    return agent;
  }

  private keep(taskId: string, session: Session): void {
    this.running.set(taskId, session);
    void session.result.then(() => this.running.delete(taskId));
  }

  private async ended(row: JournaledSession): Promise<DetailedTask> {
    try {
      const { result } = await this.resumed(row);
      return { ...taskOf(row, 'completed'), result: resultOf(await result) };
    } catch (error) {
      if (!(error instanceof PawlError)) throw error;
      const message = `${error.code}: the result cannot be read.`;
      return { ...taskOf(row, 'failed'), error: { code: ProtocolErrorCode.InternalError, message } };
    }
  }

  /** What waits, as forms for the client's user. */
  private async questions(row: JournaledSession): Promise<InputRequests> {
    const asked = await this.asked(row);
    const requests: InputRequests = {};
    for (const call of row.waitingCalls) {
      const id = `${call.sessionId} ${call.callId}`;
      const event = asked.get(id);
      if (event !== undefined) requests[id] = inputRequired.elicit({ mode: 'form', ...formOf(event) } as never);
    }
    return requests;
  }

  /** What was asked last for each call. */
  private async asked({ sessionId, agent }: JournaledSession): Promise<Map<string, Asked>> {
    const secrets = secretsOf(this.agent(agent).definition);
    const { events } = await readSession(this.journal, sessionId, { secrets });
    const asked = new Map<string, Asked>();
    for (const event of events)
      if (event.type === 'tool.approvalRequested' || event.type === 'tool.handedOut' || event.type === 'tool.asked')
        asked.set(`${event.sessionId} ${event.callId}`, event);
    return asked;
  }
}

function formOf(event: Asked) {
  if (event.type === 'tool.approvalRequested') return approvalForm(event);
  return event.type === 'tool.asked' ? { message: event.message, requestedSchema: event.schema } : answerForm(event);
}

function taskOf({ sessionId, createdAt, updatedAt }: JournaledSession, status: Task['status']): Task {
  const times = { createdAt: new Date(createdAt).toISOString(), lastUpdatedAt: new Date(updatedAt).toISOString() };
  return { taskId: sessionId, status, ...times, ttlMs: null, pollIntervalMs };
}

/** How the client's user answers a call that no tool of the agent executes. */
function answerForm({ name, input }: Extract<Asked, { type: 'tool.handedOut' }>) {
  return {
    message: `The agent waits for the output of ${name} with ${JSON.stringify(input)}.`,
    requestedSchema: {
      type: 'object' as const,
      properties: { output: { type: 'string' as const, title: 'Output' } },
      required: ['output'],
    },
  };
}
