import {
  type AgentContext,
  type ContentBlock,
  methods,
  type PromptResponse,
  RequestError,
  type SessionUpdate,
} from '@agentclientprotocol/sdk';
import type { Message, Slug } from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { messageOf } from '../input/errors.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { Session, SessionResult } from '../session/session.ts';
import { startSession } from '../session/start-session.ts';
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
};

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

  constructor(agent: Agent, given: TalkOptions) {
    this.agent = agent;
    this.given = given;
    this.said = given.said;
    this.next = given.next;
  }

  /** Runs a session for what the client's user asks, and resolves when it has ended. `signal` aborts it. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<PromptResponse> {
    if (this.session !== null) throw RequestError.invalidRequest(undefined, 'a prompt of this session still runs');
    const { id, cwd, options } = this.given;
    const { clientTools: _, ...own } = options;
    const message = messageOfBlocks(blocks);
    const title = message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ');
    const session = startSession(this.agent, {
      ...own,
      signal,
      sessionId: `${id}:${this.next}`,
      messages: [...this.said, message],
      metadata: { cwd, title: title.slice(0, longestTitle) },
    });
    this.next += 1;
    return await this.follow(session, false);
  }

  /** Tells the client what a session does, until it has ended. `isResumed`: what it did before is known. */
  async follow(session: Session, isResumed: boolean): Promise<PromptResponse> {
    this.session = session;
    try {
      let isLive = !isResumed;
      for await (const event of session.events) {
        isLive ||= event.type === 'session.resumed';
        if (!isLive) continue;
        if (event.type === 'tool.approvalRequested') void this.ask(session, event);
        await this.tell(updatesOf(event, this.given.cwd));
      }
      const result = await session.result;
      this.said = [...result.conversation];
      if (this.agent.definition.finish !== 'text' && result.status === 'succeeded')
        await this.tell([textUpdate(reportText(result))]);
      return { stopReason: stopReasonOf(result) };
    } finally {
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

  /** Asks the client's user for an approval. */
  private async ask(session: Session, asked: Extract<SessionEvent, { type: 'tool.approvalRequested' }>): Promise<void> {
    const { id, cwd, client } = this.given;
    const diff = await proposedDiff(asked, cwd);
    const decided = await client
      .request(methods.client.session.requestPermission, {
        sessionId: id,
        toolCall: { ...toolCallOf(asked, cwd), ...(diff !== null && { content: [diff] }) },
        options: [
          { optionId: 'allow', name: 'Allow', kind: 'allow_once' },
          { optionId: 'reject', name: 'Reject', kind: 'reject_once' },
        ],
      })
      .then(({ outcome }) => {
        if (outcome.outcome === 'cancelled') return { approved: false, reason: 'Dismissed by the user.' };
        return outcome.optionId === 'allow' ? { approved: true } : { approved: false, reason: 'Declined by the user.' };
      })
      .catch((error) => ({ approved: false, reason: `The client could not be asked: ${messageOf(error)}` }));
    session.approve(asked.callId, { ...decided, sessionId: asked.sessionId });
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
