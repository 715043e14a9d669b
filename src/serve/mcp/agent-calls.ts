import { randomBytes } from 'node:crypto';
import {
  type CallToolResult,
  type InputRequests,
  type InputRequiredResult,
  inputRequired,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import type { FilePart } from '../../../machines/index.ts';
import type { Agent } from '../../agent/definition.ts';
import { systemClock } from '../../host/clock.ts';
import type { SessionEvent } from '../../observe/events.ts';
import { isRecord } from '../../platform/plain-json.ts';
import type { ApprovalInput, Session, SessionResult } from '../../session/session.ts';
import { type ServerSessions, TooManySessions } from '../sessions.ts';

export type ApprovalAsked = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;

/** A question to the client's user, and what is asked. */
type Question = { asked: ApprovalAsked; withdrawn: AbortController };

/** Ms that a call waits for a client that has its questions. Then its session is aborted. */
const longestAwayMs = 600_000;

/** How the client's user is asked. */
export const approvalForm = ({ name, input }: ApprovalAsked) => ({
  message: `The agent wants to run ${name} with ${JSON.stringify(input)}.`,
  requestedSchema: {
    type: 'object' as const,
    properties: { approve: { type: 'boolean' as const, title: 'Approve', description: 'Run this call?' } },
    required: ['approve'],
  },
});

/** Returns the decision that the answer of a client's user makes; any answer that does not approve denies. */
export function decisionIn(answer: unknown): Pick<ApprovalInput, 'approved' | 'reason'> {
  const { action, content }: { action?: unknown; content?: unknown } = Object(answer);
  if (action === 'accept' && isRecord(content) && content.approve === true) return { approved: true };
  return { approved: false, reason: action === 'cancel' ? 'Dismissed by the user.' : 'Declined by the user.' };
}

export type CallOptions = {
  prompt: string;
  signal: AbortSignal;
  /** Gets the events during the first request. */
  heard: (event: SessionEvent) => void;
  /** Asks the client's user during the call; null for a client that asks once the call has returned its questions. */
  ask: ((asked: ApprovalAsked, withdrawn: AbortSignal) => Promise<Pick<ApprovalInput, 'approved' | 'reason'>>) | null;
};

/** A call of the agent: one session, which may go on over several requests of its client (`input_required`). */
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
  readonly agent: Agent;
  private readonly sessions: ServerSessions;
  private readonly open = new Map<string, AgentCall>();

  constructor(agent: Agent, sessions: ServerSessions) {
    this.agent = agent;
    this.sessions = sessions;
  }

  /** Begins a call. Throws the protocol's error if too many sessions run. */
  begin(options: CallOptions): AgentCall {
    try {
      const call = new AgentCall(this.agent, this.sessions, options);
      this.open.set(call.handle, call);
      const end = () => {
        call.end();
        this.open.delete(call.handle);
      };
      call.result.then(end, end);
      return call;
    } catch (error) {
      if (!(error instanceof TooManySessions)) throw error;
      throw new ProtocolError(ProtocolErrorCode.InternalError, error.message);
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

function resultOf({ success, report, slugs }: SessionResult): CallToolResult {
  const { content } = report;
  if (report.format === 'files' && success) return { content: (content as FilePart[]).map(fileOf) };
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  return {
    content: [{ type: 'text', text }],
    ...(isRecord(content) && { structuredContent: { ...content } }),
    ...(!success && { isError: true, _meta: { slugs } }),
  };
}

/** A file of a report, as MCP holds it. */
function fileOf({ mediaType, data, filename }: FilePart, index: number): CallToolResult['content'][number] {
  const name = (filename ?? `file ${index + 1}`).toWellFormed();
  const mimeType = mediaType.toLowerCase();
  if (data.type === 'url') return { type: 'resource_link', uri: data.url, name, mimeType };
  const uri = `report:///${index + 1}/${encodeURIComponent(name)}`;
  if (data.type === 'text') return { type: 'resource', resource: { uri, mimeType, text: data.text } };
  const [kind] = mimeType.split('/');
  if (kind === 'image' || kind === 'audio') return { type: kind, data: data.data, mimeType };
  return { type: 'resource', resource: { uri, mimeType, blob: data.data } };
}
