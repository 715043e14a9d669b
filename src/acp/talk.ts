import {
  type AgentContext,
  type ContentBlock,
  methods,
  type PromptResponse,
  RequestError,
  type RequestPermissionRequest,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import type { Message, Slug } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { eventLoopTurn } from '../host/clock.ts';
import { messageOf } from '../input/errors.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Session, SessionResult } from '../session/session.ts';
import { startSession } from '../session/start-session.ts';
import { declineQuestion } from '../session/unasked.ts';
import type { GivenToTalks } from './options.ts';
import { messageOfBlocks } from './prompt.ts';
import { proposedDiff, toolCallOf, updatesOf } from './updates.ts';

export type TalkOptions = {
  id: string;
  /** The client's directory, to which relative paths belong. */
  cwd: string;
  client: AgentContext;
  said: Message[];
  /** The number of its next session. */
  next: number;
  options: GivenToTalks;
  isConnected: () => boolean;
};

type Asked = Extract<SessionEvent, { type: 'tool.approvalRequested' }>;

const longestTitle = 80;

/** The slugs by which a session fails whose model refused to answer. */
const refusals: readonly Slug[] = ['content_filtered', 'reply_denied'];

/** A talk with a client: a conversation, each prompt of which a session answers. */
export class Talk {
  readonly agent: Agent;
  /** The conversation so far. */
  said: Message[];
  private readonly given: TalkOptions;
  private next: number;
  private session: Session | null = null;
  private isResuming = false;

  constructor(agent: Agent, given: TalkOptions) {
    this.agent = agent;
    this.given = given;
    this.said = given.said;
    this.next = given.next;
  }

  /** Whether a prompt runs, or the last one is resumed. */
  get isBusy(): boolean {
    return this.session !== null || this.isResuming;
  }

  /** Runs a session for what the client's user asks, and resolves when it has ended. `signal` aborts it. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.isBusy) throw RequestError.invalidRequest(undefined, 'a prompt of this session still runs');
    const { id, cwd, options, isConnected } = this.given;
    const { clientTools: _, ...own } = options;
    const message = messageOfBlocks(blocks);
    const title = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
    const session = startSession(this.agent, {
      ...own,
      sessionId: `${id}:${this.next}`,
      messages: [...this.said, message],
      metadata: { cwd, title: title.slice(0, longestTitle) },
    });
    this.next += 1;
    // A connection that breaks ends all requests, and what runs is then suspended (`end`).
    const abort = async () => {
      await eventLoopTurn();
      if (isConnected()) session.abort('cancelled by the client');
    };
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) void abort();
    return { stopReason: stopReasonOf(await this.follow(session, false)) };
  }

  /** Resumes an interrupted session, and resolves when it has ended, with or without success. */
  async resume(start: () => Promise<Session>): Promise<void> {
    this.isResuming = true;
    try {
      await this.follow(await start(), true);
    } finally {
      this.isResuming = false;
    }
  }

  /** Forwards a session's events to the client until it ends. `isResumed`: the client knows those before it was resumed. */
  private async follow(session: Session, isResumed: boolean): Promise<SessionResult> {
    this.session = session;
    /** The approvals that are asked for or, of a session that is resumed, that still wait. */
    const waiting = new Map<string, { asked: Asked; withdrawn: AbortController }>();
    try {
      let isLive = !isResumed;
      for await (const event of session.events) {
        if (isLive) declineQuestion(event, session);
        if (event.type === 'tool.approvalRequested') {
          const one = { asked: event, withdrawn: new AbortController() };
          waiting.set(`${event.sessionId} ${event.callId}`, one);
          if (isLive) void this.ask(session, one);
        }
        if (event.type === 'tool.approved' || event.type === 'tool.denied' || event.type === 'tool.answered') {
          waiting.get(`${event.sessionId} ${event.callId}`)?.withdrawn.abort();
          waiting.delete(`${event.sessionId} ${event.callId}`);
        }
        if (!isLive && event.type === 'session.resumed' && event.path.length === 0) {
          isLive = true;
          for (const one of waiting.values()) void this.ask(session, one);
        }
        if (isLive) await this.tell(updatesOf(event, this.given.cwd));
      }
      const result = await session.result;
      this.said = [...result.conversation];
      if (this.agent.definition.finish !== 'text' && result.status === 'succeeded')
        await this.tell([textUpdate(reportText(result))]);
      return result;
    } finally {
      for (const { withdrawn } of waiting.values()) withdrawn.abort();
      this.session = null;
    }
  }

  cancel(): void {
    this.session?.abort('cancelled by the client');
  }

  /** Suspends what runs if it is written down; otherwise aborts it. */
  async end(): Promise<void> {
    const { session } = this;
    if (session === null) return;
    if (this.given.options.journal === undefined) session.abort('the client left');
    else await session.suspend();
    await session.result;
  }

  /** Sends updates in order. A client that has gone gets none. */
  async tell(updates: readonly SessionUpdate[]): Promise<void> {
    const { id: sessionId, client } = this.given;
    for (const update of updates)
      await client.notify(methods.client.session.update, { sessionId, update }).catch(() => undefined);
  }

  /** Asks the client's user for an approval, until the call is decided otherwise. */
  private async ask(
    session: Session,
    { asked, withdrawn }: { asked: Asked; withdrawn: AbortController },
  ): Promise<void> {
    const { id, cwd, client } = this.given;
    const diff = await proposedDiff(asked, cwd);
    const request: RequestPermissionRequest = {
      sessionId: id,
      toolCall: { ...toolCallOf(asked, cwd), ...(diff !== null && { content: [diff] }) },
      options: [
        { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
        { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
      ],
    };
    const options = { cancellationSignal: withdrawn.signal, stopWaitingOnCancel: true } as const;
    const decided = await client
      .request(methods.client.session.requestPermission, request, options)
      .then(({ outcome }) => {
        if (outcome.outcome === 'cancelled') return { approved: false, reason: 'Dismissed by the user.' };
        return outcome.optionId === 'allow' ? { approved: true } : { approved: false, reason: 'Declined by the user.' };
      })
      .catch((error) => ({ approved: false, reason: `The client could not be asked: ${messageOf(error)}` }));
    // A client that has gone is asked again when the session is resumed.
    if (this.given.isConnected()) session.approve(asked.callId, { ...decided, sessionId: asked.sessionId });
  }
}

const textUpdate = (text: string): SessionUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
});

function reportText({ report: { content } }: SessionResult): string {
  return typeof content === 'string' ? content : JSON.stringify(content, null, 2);
}

/** Returns why a prompt ended. Throws the protocol's error for a failure that has no reason of its own there. */
function stopReasonOf({ status, slugs, failure }: SessionResult): PromptResponse['stopReason'] {
  if (status === 'succeeded') return 'end_turn';
  if (status === 'aborted' || status === 'suspended') return 'cancelled';
  if (slugs.some((slug) => slug === 'max_turns_exhausted' || slug === 'budget_exhausted')) return 'max_turn_requests';
  if (slugs.some((slug) => refusals.includes(slug))) return 'refusal';
  throw RequestError.internalError(
    { slugs },
    `the session failed: ${slugs.join(', ')}${failure?.detail ? ` (${failure.detail})` : ''}`,
  );
}
