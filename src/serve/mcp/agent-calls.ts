import { randomBytes } from 'node:crypto';
import {
  type CallToolResult,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import type { SessionEvent } from '../../observe/events.ts';
import type { ApprovalInput, Session } from '../../session/session.ts';
import { declineQuestion } from '../../session/unasked.ts';
import { type ServerSessions, TooManySessions } from '../sessions.ts';
import type { AgentTasks } from './agent-tasks.ts';
import { approvalForm, decisionIn } from './approval-form.ts';
import { resultOf } from './call-result.ts';

export type ApprovalAsked = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;

/** A question to the client's user, and what is asked. */
type Question = { asked: ApprovalAsked; withdrawn: AbortController };

/** Ms that a call waits for a client that has its questions. Then its session is aborted. */
const longestAwayMs = 600_000;

export type CallOptions = {
  prompt: string;
  signal: AbortSignal;
  /** Gets the events during the first request. */
  heard: (event: SessionEvent) => void;
  /** Asks the client's user during the call; null for a client that asks once the call has returned its questions. */
  ask: ((asked: ApprovalAsked, withdrawn: AbortSignal) => Promise<Pick<ApprovalInput, 'approved' | 'reason'>>) | null;
};

/** A call of the agent: one session, which may take several requests of its client (`input_required`). */
class AgentCall {
  /** Nobody who has not been told it can name it. */
  readonly handle = randomBytes(24).toString('base64url');
  readonly result: Promise<CallToolResult>;
  private readonly questions = new Map<string, Question>();
  private readonly left = new AbortController();
  private readonly ask: CallOptions['ask'];
  private heard: CallOptions['heard'];
  private session: Session | null = null;
  private isAsked = Promise.withResolvers<void>();
  private cancelAlarm = () => {};

  constructor(agent: Agent, sessions: ServerSessions, { prompt, signal, heard, ask }: CallOptions) {
    this.ask = ask;
    this.heard = heard;
    const call = { prompt, signal: AbortSignal.any([signal, this.left.signal]) };
    this.result = sessions
      .start(agent, call, (event, session) => {
        this.session = session;
        this.heard(event);
        declineQuestion(event, session);
        if (event.type === 'tool.approvalRequested') this.asked(event);
        // The call needs no decision any more.
        if (event.type === 'tool.answered') this.withdraw(`${event.sessionId} ${event.callId}`);
      })
      .then(resultOf);
  }

  /** Takes in what the client's user answered to the open questions, by their names. */
  answer(answers: Readonly<Record<string, unknown>>): void {
    for (const [id, answer] of Object.entries(answers)) {
      const question = this.questions.get(id);
      if (question !== undefined) this.decide(question.asked, decisionIn(answer));
    }
  }

  /** Resolves with the result, or with the questions that the client must answer first. `heard` gets the events until then. */
  async next(signal: AbortSignal, heard: CallOptions['heard']): Promise<CallToolResult | InputRequiredResult> {
    this.cancelAlarm();
    this.heard = heard;
    // A request that its client ends cancels the call.
    const leave = () => this.left.abort(signal.reason);
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    try {
      if (this.ask !== null) return await this.result;
      // A question may be withdrawn before it is returned, and another may follow.
      while (this.questions.size === 0) {
        const result = await Promise.race([this.result, this.isAsked.promise]);
        if (result !== undefined) return result;
      }
    } finally {
      signal.removeEventListener('abort', leave);
    }
    const away = () => this.left.abort(new Error(`the client did not answer within ${longestAwayMs} ms`));
    // Two requests may have come with the same handle.
    this.cancelAlarm();
    this.cancelAlarm = systemClock.alarm(longestAwayMs, away);
    const inputRequests: InputRequests = {};
    for (const [id, { asked }] of this.questions)
      inputRequests[id] = inputRequired.elicit({ mode: 'form', ...approvalForm(asked) });
    return inputRequired({ inputRequests, requestState: this.handle });
  }

  private asked(asked: ApprovalAsked): void {
    const withdrawn = new AbortController();
    this.questions.set(`${asked.sessionId} ${asked.callId}`, { asked, withdrawn });
    if (this.ask === null) this.isAsked.resolve();
    else void this.ask(asked, withdrawn.signal).then((decision) => this.decide(asked, decision));
  }

  private decide({ callId, sessionId }: ApprovalAsked, decision: Pick<ApprovalInput, 'approved' | 'reason'>): void {
    this.session?.approve(callId, { ...decision, sessionId });
    this.withdraw(`${sessionId} ${callId}`);
  }

  private withdraw(id: string): void {
    this.questions.get(id)?.withdrawn.abort();
    if (!this.questions.delete(id) || this.questions.size > 0) return;
    this.isAsked = Promise.withResolvers();
  }

  end(): void {
    this.cancelAlarm();
  }
}

/** The calls of a server that have not ended, by the handles that their clients have. */
export class AgentCalls {
  /** By name. */
  readonly agents: ReadonlyMap<string, Agent>;
  /** The calls that are tasks; null if none are. */
  readonly tasks: AgentTasks | null;
  private readonly sessions: ServerSessions;
  private readonly open = new Map<string, AgentCall>();

  constructor(agents: ReadonlyMap<string, Agent>, sessions: ServerSessions, tasks: AgentTasks | null) {
    this.agents = agents;
    this.sessions = sessions;
    this.tasks = tasks;
  }

  /** Begins a call. Throws the protocol's error if too many sessions run. */
  begin(agent: Agent, options: CallOptions): AgentCall {
    try {
      const call = new AgentCall(agent, this.sessions, options);
      this.open.set(call.handle, call);
      const end = () => {
        call.end();
        this.open.delete(call.handle);
      };
      call.result.then(end, end);
      return call;
    } catch (error) {
      throw refusedFor(error);
    }
  }

  /** Begins a call as a task, and resolves with its handle. Rejects with the protocol's error if too many sessions run. */
  async beginTask(agent: Agent, prompt: string): Promise<CallToolResult> {
    if (this.tasks === null) throw new Error('no calls are tasks');
    try {
      // The extension adds this kind of result.
      return (await this.tasks.create(agent, prompt)) as unknown as CallToolResult;
    } catch (error) {
      throw refusedFor(error);
    }
  }

  /** Returns the call that a handle belongs to. Throws the protocol's error for an unknown handle. */
  withHandle(handle: unknown): AgentCall {
    const call = this.open.get(String(handle));
    if (call === undefined) {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      });
    }
    return call;
  }
}

function refusedFor(error: unknown): unknown {
  return error instanceof TooManySessions ? new ProtocolError(ProtocolErrorCode.InternalError, error.message) : error;
}
