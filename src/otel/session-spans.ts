import { type Attributes, context, type Span, SpanKind } from '@opentelemetry/api';
import { isPreparing, modelKey, prepareKey, toolKey } from '../../machines/index.ts';
import type { SessionEvent } from '../observe/events.ts';
import type { SessionTelemetry, TelemetrySession } from '../observe/telemetry.ts';
import { inputMessagesAttribute, instructionParts, replyAttributes, toolResult } from './content.ts';
import { attributes, operations, requestOf, usageAttributes } from './conventions.ts';
import { type Open, Spans, type SpansOptions } from './spans.ts';

type EventOf<Type extends SessionEvent['type']> = Extract<SessionEvent, { type: Type }>;

/** The spans of one session: session > turn > attempt > tool. Their times are those of the events. */
export class SessionSpans extends Spans implements SessionTelemetry {
  private readonly about: TelemetrySession;
  private readonly agent: Attributes;
  private turn: Open | null = null;
  private attempt:
    | (Open & { key: string; firstChunkAt: number | null; lastChunkAt: number | null; repliedAt: number | null })
    | null = null;
  /** The plan of the next turn (T-7), while the agent's `prepareTurn` makes it. */
  private plan: Open | null = null;
  private summary: Open | null = null;
  private lastAt = 0;
  private readonly tools = new Map<string, Open & { callId: string }>();
  /** The calls of the current attempt whose tools do not exist. */
  private readonly unknown = new Set<string>();
  /** The failed attempt before the current one. */
  private failed: Span | null = null;

  constructor(about: TelemetrySession, options: SpansOptions) {
    super(options);
    this.about = about;
    this.agent = { [attributes.agentName]: about.agent };
  }

  around<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    if (isPreparing(key) && key !== prepareKey) this.beginPlan();
    const open = this.plan ?? this.tools.get(key) ?? (this.attempt?.key === key ? this.attempt : this.session);
    return open === null ? work() : context.with(open.within, work);
  }

  event(event: SessionEvent): void {
    if (event.path.length > 0) return;
    this.lastAt = event.at;
    // The events of a resumed session do not begin with its start.
    if (this.session === null) this.begin(event);
    if (event.type === 'tool.requested' && event.kind === 'unknown') this.unknown.add(event.callId);
    this.options.instruments.count(event, this.agent, this.unknown);
    switch (event.type) {
      case 'turn.started': {
        const { turn, isLastTurn, at } = event;
        const named = { 'pawl.turn': turn, 'pawl.last_turn': isLastTurn };
        this.turn = this.open(`turn ${turn}`, this.session, at, named, null);
        return;
      }
      case 'turn.planned':
        this.plan?.span.setAttribute('pawl.turn', event.turn);
        this.endPlan(event.at, null);
        return;
      case 'summary.requested':
        this.beginSummary(event);
        return;
      case 'conversation.compacted':
      case 'compaction.failed':
        this.endSummary(event, event.type === 'compaction.failed' ? 'compaction_failed' : null);
        return;
      case 'attempt.started':
        this.beginAttempt(event);
        return;
      case 'model.delta':
        this.piece(event.at);
        return;
      case 'attempt.replied':
        this.replied(event);
        return;
      case 'attempt.failed':
        this.failed = this.attempt?.span ?? null;
        this.endAttempt(event.at, event.slugs[0] ?? null, event.detail);
        return;
      case 'attempt.progressed':
      case 'attempt.finished':
        this.failed = null;
        this.endAttempt(event.at, null, null);
        return;
      case 'attempt.aborted':
        this.endAttempt(event.at, 'aborted', null);
        return;
      case 'tool.started':
        this.beginTool(event);
        return;
      case 'tool.answered':
        this.endTool(event);
        return;
      case 'turn.progressed':
      case 'turn.finished':
      case 'turn.aborted':
        this.endTurn(event.at, null);
        return;
      case 'turn.exhausted':
        this.endTurn(event.at, event.slugs[0] ?? 'turn_exhausted');
        return;
      case 'session.succeeded':
        this.endSession(event.at, 'succeeded', null, null);
        return;
      case 'session.failed':
      case 'session.aborted':
      case 'session.suspended': {
        const { slugs, detail } = event.failure;
        // A suspended session has not failed.
        const slug = slugs[0] === 'suspended' ? null : (slugs[0] ?? null);
        this.endSession(event.at, event.type.slice('session.'.length), slug, detail);
        return;
      }
      default:
        return;
    }
  }

  private begin({ type, at }: SessionEvent): void {
    const { sessionId, agent, metadata, parent } = this.about;
    const { places } = this.options;
    if (parent !== null) {
      const call = places.get(`${parent.sessionId}/${parent.callId}`) ?? places.get(parent.sessionId);
      this.above = call ?? this.above;
    }
    const measured = { [attributes.operation]: operations.session, ...this.agent };
    // The messages that a new session was given may be repaired before it starts.
    const isNew = type === 'session.started' || type === 'conversation.repaired';
    const resumed = isNew ? {} : { 'pawl.resumed': true };
    const noted = Object.entries(metadata).map(([name, value]) => [`pawl.metadata.${name}`, value] as const);
    const named = { [attributes.conversationId]: sessionId, ...Object.fromEntries(noted), ...resumed };
    this.session = this.open(`${operations.session} ${agent}`, null, at, named, measured);
    places.set(sessionId, this.session.within);
  }

  /** It begins when it is asked for, which no event says. */
  private beginPlan(): void {
    const measured = { [attributes.operation]: operations.plan, ...this.agent };
    const named = { [attributes.conversationId]: this.about.sessionId };
    this.plan = this.open(`${operations.plan} ${this.about.agent}`, null, this.lastAt, named, measured);
  }

  private endPlan(at: number, slug: string | null): void {
    if (this.plan !== null) this.end(this.plan, at, slug, null);
    this.plan = null;
  }

  private beginAttempt({ turn, attempt, target, notice, at }: EventOf<'attempt.started'>): void {
    const { model, measured } = requestOf(target);
    const instructions = this.options.content ? this.about.instructions() : null;
    const named = {
      [attributes.conversationId]: this.about.sessionId,
      'pawl.turn': turn,
      'pawl.attempt': attempt,
      ...(this.options.content && {
        ...(instructions !== null && { [attributes.instructions]: instructionParts(instructions) }),
        [attributes.inputMessages]: inputMessagesAttribute(this.about.messages(), notice),
      }),
    };
    const links = this.failed === null ? [] : [{ context: this.failed.spanContext() }];
    const as = { kind: SpanKind.CLIENT, links };
    const open = this.open(`${operations.attempt} ${model}`, this.turn, at, named, measured, as);
    this.options.instruments.requested(measured);
    this.attempt = {
      ...open,
      key: modelKey({ turn, attempt }),
      firstChunkAt: null,
      lastChunkAt: null,
      repliedAt: null,
    };
  }

  /** A request for a summary (T-9): it is no attempt, and its span ends when it is known what became of it. */
  private beginSummary({ turn, target, at }: EventOf<'summary.requested'>): void {
    const { model, measured } = requestOf(target);
    const named = { [attributes.conversationId]: this.about.sessionId, 'pawl.turn': turn, 'pawl.summary': true };
    this.summary = this.open(`${operations.attempt} ${model}`, null, at, named, measured, { kind: SpanKind.CLIENT });
    this.options.instruments.requested(measured);
  }

  private endSummary({ at, asked }: Pick<EventOf<'compaction.failed'>, 'at' | 'asked'>, slug: string | null): void {
    const { summary } = this;
    this.summary = null;
    if (summary === null) return;
    if (asked !== null) {
      summary.span.setAttributes(usageAttributes(asked.usage));
      this.options.instruments.replied(asked, null, summary.measured ?? {});
    }
    this.end(summary, at, slug, null);
  }

  private piece(at: number): void {
    const { attempt } = this;
    if (attempt === null) return;
    attempt.firstChunkAt ??= at;
    if (attempt.lastChunkAt !== null) this.options.instruments.piece(at - attempt.lastChunkAt, attempt.measured ?? {});
    attempt.lastChunkAt = at;
  }

  private replied(event: EventOf<'attempt.replied'>): void {
    const { attempt } = this;
    if (attempt === null) return;
    const { reply, usage, costUsd, at } = event;
    attempt.repliedAt = at;
    const began = attempt.firstChunkAt === null ? null : Math.max(0, attempt.firstChunkAt - attempt.startedAt);
    attempt.span.setAttributes({
      ...usageAttributes(usage),
      ...(costUsd !== null && { 'pawl.cost_usd': costUsd }),
      ...replyAttributes(reply, this.options.content),
      ...(began !== null && { [attributes.timeToFirstChunk]: began / 1_000 }),
    });
    this.options.instruments.replied(event, began, attempt.measured ?? {});
  }

  /** The span of a request ends with its reply, although what became of it is known only once its calls are answered. */
  private endAttempt(at: number, slug: string | null, detail: string | null): void {
    const { attempt } = this;
    this.attempt = null;
    this.unknown.clear();
    if (attempt !== null) this.end(attempt, attempt.repliedAt ?? at, slug, detail);
  }

  private beginTool(event: EventOf<'tool.started'>): void {
    const { callId, name, index, at } = event;
    const measured = { [attributes.operation]: operations.tool, [attributes.toolName]: name };
    const named = {
      [attributes.toolCallId]: callId,
      [attributes.toolType]: 'function',
      ...(this.options.content && { [attributes.toolArguments]: JSON.stringify(this.about.input(index)) }),
    };
    const open = this.open(`${operations.tool} ${name}`, this.attempt ?? this.turn, at, named, measured);
    this.tools.set(toolKey(event), { ...open, callId });
    this.options.places.set(`${this.about.sessionId}/${callId}`, open.within);
  }

  private endTool(event: EventOf<'tool.answered'>): void {
    const key = toolKey(event);
    const open = this.tools.get(key);
    if (open === undefined) return;
    this.tools.delete(key);
    this.options.places.delete(`${this.about.sessionId}/${open.callId}`);
    if (this.options.content) open.span.setAttribute(attributes.toolResult, toolResult(event.output));
    this.end(open, event.at, event.slug, event.result.success ? null : event.result.message);
  }

  private endTurn(at: number, slug: string | null): void {
    if (this.turn !== null) this.end(this.turn, at, slug, null);
    this.turn = null;
    this.failed = null;
  }

  private endSession(at: number, status: string, slug: string | null, detail: string | null): void {
    // What a suspension leaves open ends with it.
    for (const { span, callId } of this.tools.values()) {
      span.end(at);
      this.options.places.delete(`${this.about.sessionId}/${callId}`);
    }
    this.tools.clear();
    this.options.places.delete(this.about.sessionId);
    this.endPlan(at, slug);
    this.endSummary({ at, asked: null }, slug);
    this.endAttempt(at, slug, detail);
    this.endTurn(at, slug);
    this.session?.span.setAttribute('pawl.status', status);
    if (this.session !== null) this.end(this.session, at, slug, detail);
    this.options.instruments.sessionEnded(status, this.agent);
  }
}
