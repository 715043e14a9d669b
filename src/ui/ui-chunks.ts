import { type Fact, historyName, noUsage, type Slug, turnName } from '../../machines/index.ts';
import { Conversation } from '../observe/conversation.ts';
import type { SessionEvent } from '../observe/events.ts';
import { Records, type TurnRecord } from '../observe/records.ts';
import { approvalIdOf, innerPartId } from './call-reference.ts';
import { GrowingReport } from './growing-report.ts';
import { isAsShown, readMetadata } from './model-output.ts';
import { StreamedReply } from './streamed-reply.ts';
import type { TurnData, UIChunk, UIData, UIMetadata } from './ui-message.ts';

type Of<Type extends SessionEvent['type']> = Extract<SessionEvent, { type: Type }>;

/** Turns the events of a session into the chunks of its message on a page. */
export class UIChunks {
  private readonly records = new Records();
  private readonly report = new GrowingReport();
  private readonly servers = new Set<string>();
  private readonly reply = new StreamedReply((tool) => this.isOfServer(tool));
  /** The ids of the parts for calls, by approval id. Those of a batch or a sub-agent have a part once they need one. */
  private readonly parts = new Map<string, string>();
  private inner = new Set<number>();
  private batches = new Set<string>();
  private readonly conversation = new Conversation([]);
  /** The answers that the page has, by call: their state and what it shows. */
  private readonly answers = new Map<string, { isError: boolean; shown: unknown }>();
  /** What `session.steer` added to this turn: it outlives the attempt that is taken back. */
  private steering: UIChunk[] = [];
  /** How much of it the current request has. */
  private read = 0;
  private readonly totals: Pick<UIMetadata, 'requests' | 'usage' | 'costUsd'> = {
    requests: 0,
    usage: { ...noUsage },
    costUsd: null,
  };
  /** Its events, unlike those of sub-agents, name the session itself. */
  private session: Pick<UIMetadata, 'sessionId' | 'agent'> = { sessionId: '', agent: '' };
  private slugs: Slug[] = [];
  private status: UIMetadata['status'] = 'running';

  async takeEvent(event: SessionEvent): Promise<UIChunk[]> {
    if (event.path.length > 0) return this.ofSubAgent(event);
    const { sessionId, agent } = event;
    this.session = { sessionId, agent };
    this.records.fact(event as Fact, event.at);
    this.conversation.fact(event as Fact);
    const content = await this.report.takeEvent(event);
    const grown: UIChunk[] = content === undefined ? [] : [this.reported({ state: 'partial', content })];
    return [...(await this.own(event)), ...grown];
  }

  /** What a page needs that left in the middle of a reply. */
  again(): UIChunk[] {
    return this.withSteering(this.reply.again());
  }

  metadata({ seq }: SessionEvent, isPaused = false): UIMetadata {
    const status = isPaused ? 'waiting' : this.status;
    return { ...this.session, status, seq, slugs: this.slugs, ...this.totals, usage: { ...this.totals.usage } };
  }

  private async own(event: SessionEvent): Promise<UIChunk[]> {
    switch (event.type) {
      case 'turn.started':
        this.steering = [];
        return [this.turn(), { type: 'start-step' }];
      case 'attempt.started':
        this.totals.requests += 1;
        this.read = this.steering.length;
        this.reply.begin();
        return [this.turn()];
      case 'model.delta':
        return this.reply.delta(event);
      case 'attempt.replied':
        this.inner = new Set(event.calls.flatMap(({ within }, index) => (within === null ? [] : [index])));
        this.batches = new Set(event.calls.flatMap(({ within }) => event.calls[within ?? -1]?.callId ?? []));
        this.count(event);
        return this.withSteering(await this.reply.replied(event.reply));
      case 'attempt.failed':
        return [...this.reply.takenBack(), ...this.steering, this.turn()];
      case 'attempt.finished':
      case 'attempt.progressed':
      case 'attempt.aborted':
        this.reply.end();
        return this.asTheModelReads();
      case 'turn.finished':
      case 'turn.progressed':
      case 'turn.exhausted':
      case 'turn.aborted':
        return [this.turn(), { type: 'finish-step' }];
      case 'server.connected':
        this.servers.add(event.server);
        return [];
      case 'progress.reported':
        return [{ type: 'data-progress', id: event.callId, data: { message: event.message } }];
      case 'session.steered':
        this.steering.push({ type: 'data-steering', id: `steering-${event.seq}`, data: { text: event.text } });
        return this.steering.slice(-1);
      case 'report.accepted': {
        const { content, source } = event;
        return [this.reported({ state: 'accepted', content, source })];
      }
      case 'report.rejected':
        return [this.reported({ state: 'rejected' })];
      case 'session.succeeded':
        this.status = 'succeeded';
        return [];
      case 'session.resumed':
        this.status = 'running';
        this.slugs = [];
        return [];
      case 'session.failed':
      case 'session.aborted':
      case 'session.suspended':
        return this.ended(event);
      default:
        return this.call(event);
    }
  }

  /** What was steered outlives a step that is sent again: the request has what came before it. */
  private withSteering([first, ...rest]: UIChunk[]): UIChunk[] {
    if (first?.type !== 'reset-step') return first === undefined ? [] : [first, ...rest];
    return [first, ...this.steering.slice(0, this.read), ...rest, ...this.steering.slice(this.read)];
  }

  private ended(event: Of<'session.failed' | 'session.aborted' | 'session.suspended'>): UIChunk[] {
    const { slugs, detail } = event.failure;
    this.slugs = slugs;
    this.status =
      event.type === 'session.failed' ? 'failed' : event.type === 'session.aborted' ? 'aborted' : 'suspended';
    if (this.status === 'suspended') return [];
    if (this.status === 'aborted') return [{ type: 'abort', reason: detail ?? slugs.join(', ') }];
    const errorText = `The session failed: ${slugs.join(', ')}${detail === null ? '' : ` (${detail})`}`;
    return [{ type: 'error', errorText }];
  }

  private call(event: SessionEvent): UIChunk[] {
    if (event.type === 'tool.progressed') {
      const toolCallId = this.parts.get(approvalIdOf(event));
      const output = 'value' in event.output ? event.output.value : null;
      return toolCallId === undefined ? [] : [{ type: 'tool-output-available', toolCallId, output, preliminary: true }];
    }
    if (event.type !== 'tool.requested') return this.decision(event, this.inner);
    if (event.kind === 'provider' || this.inner.has(event.index)) return [];
    const { callId, name, input } = event;
    this.parts.set(approvalIdOf(event), callId);
    const toolName = historyName(name);
    const isDynamic = this.isOfServer(toolName);
    return [{ type: 'tool-input-available', toolCallId: callId, toolName, input, ...(isDynamic && { dynamic: true }) }];
  }

  /** Whether a tool is one of an MCP server, whose name may hold the separator too. */
  private isOfServer(tool: string): boolean {
    return [...this.servers].some((server) => tool.startsWith(`${server}__`));
  }

  private ofSubAgent(event: SessionEvent): UIChunk[] {
    return this.decision(event, null);
  }

  /** The approval and the answer of a call. `inner` holds the calls without a part of their own; null if all lack one. */
  private decision(event: SessionEvent, inner: ReadonlySet<number> | null): UIChunk[] {
    const known =
      'callId' in event && event.callId !== null
        ? this.parts.get(approvalIdOf({ ...event, callId: event.callId }))
        : undefined;
    switch (event.type) {
      case 'tool.approvalRequested': {
        const approvalId = approvalIdOf(event);
        const isInner = inner === null || inner.has(event.index);
        const toolCallId = isInner ? innerPartId(event) : event.callId;
        this.parts.set(approvalId, toolCallId);
        const { name, input } = event;
        return [
          ...(isInner
            ? [{ type: 'tool-input-available' as const, toolCallId, toolName: historyName(name), input, dynamic: true }]
            : []),
          { type: 'tool-approval-request', approvalId, toolCallId },
        ];
      }
      case 'tool.handedOut': {
        if (known !== undefined) return [];
        const toolCallId = innerPartId(event);
        this.parts.set(approvalIdOf(event), toolCallId);
        const { name, input } = event;
        return [{ type: 'tool-input-available', toolCallId, toolName: historyName(name), input, dynamic: true }];
      }
      case 'tool.approved':
      case 'tool.denied': {
        if (known === undefined) return [];
        const { reason } = event;
        const approved = event.type === 'tool.approved';
        return [
          {
            type: 'tool-approval-response',
            approvalId: approvalIdOf(event),
            approved,
            ...(reason !== null && { reason }),
          },
        ];
      }
      case 'tool.answered': {
        if (known === undefined) return [];
        const { slug, result } = event;
        const shown = result.success ? (result.value ?? result.message) : result.message;
        this.answers.set(known, { isError: !result.success, shown });
        if (slug === 'tool_denied') return [{ type: 'tool-output-denied', toolCallId: known }];
        return result.success
          ? [{ type: 'tool-output-available', toolCallId: known, output: shown }]
          : [{ type: 'tool-output-error', toolCallId: known, errorText: result.message }];
      }
      default:
        return [];
    }
  }

  /** Adds what the model reads of each answer where the page shows something else, for the history of the next session. */
  private asTheModelReads(): UIChunk[] {
    const last = this.conversation.messages.at(-1);
    if (last?.role !== 'tool') return [];
    return last.content.flatMap(({ toolCallId, output }): UIChunk[] => {
      const answer = this.answers.get(toolCallId);
      if (answer === undefined || output.type === 'execution-denied' || isAsShown(output, answer)) return [];
      if (this.batches.has(toolCallId)) return [{ type: 'tool-output-available', toolCallId, output: output.value }];
      const providerMetadata = readMetadata(output);
      if (answer.isError)
        return [{ type: 'tool-output-error', toolCallId, errorText: String(answer.shown), providerMetadata }];
      return [{ type: 'tool-output-available', toolCallId, output: answer.shown, providerMetadata }];
    });
  }

  private count({ usage, costUsd }: Of<'attempt.replied'>): void {
    const { totals } = this;
    for (const name of ['input', 'output', 'reasoning', 'cacheRead', 'cacheWrite'] as const)
      totals.usage[name] += usage[name];
    if (costUsd !== null) totals.costUsd = (totals.costUsd ?? 0) + costUsd;
  }

  /** The part of the turn's report: with one for all turns, what a later step takes back would stay in an earlier one. */
  private reported(data: UIData['report']): UIChunk {
    return { type: 'data-report', id: `report-${this.records.turns.at(-1)?.turn ?? 0}`, data };
  }

  /** The part of the current turn. It stands before the step, so that what the step takes back leaves it there. */
  private turn(): UIChunk {
    const record = this.records.turns.at(-1) as TurnRecord;
    const { turn, isLastTurn, status } = record;
    const attempts = record.attempts.map(({ attempt, target, status: outcome, slugs, notice, usage, costUsd }) => {
      return { attempt, target, status: outcome, slugs: [...slugs], notice, usage, costUsd };
    });
    const data: TurnData = { turn, isLastTurn, status, attempts };
    return { type: 'data-turn', id: turnName(turn), data };
  }
}
