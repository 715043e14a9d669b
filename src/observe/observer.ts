import {
  type Counters,
  count,
  countSubAgent,
  emptyCounters,
  type Fact,
  type Message,
  type Slug,
} from '../../machines/index.ts';
import { messageOf, onRejection } from '../errors.ts';
import { headOf } from '../text.ts';
import { Conversation } from './conversation.ts';
import { type Envelope, type EventListener, EventStream, type SessionEvent, type Sighting } from './events.ts';
import { type LogContext, type Logger, logFailedAttempt, logFailedSession } from './log.ts';
import { Records } from './records.ts';
import { redact } from './redact.ts';
import { type Slice, Slices } from './slices.ts';

export type ObserverOptions = LogContext & {
  messages: Message[];
  logger: Logger;
  onEvent: EventListener | null;
  slices: Record<string, Slice>;
  /** Epoch ms: of the delivery under way, so that a replay gives the same facts, and of now. */
  times: { readonly deliveredAt: number; now(): number };
};

const noteBytes = 2_000;
const ownPath: readonly string[] = [];

/** All that is known of a session, as folds over its facts: one fact in, one place each. */
export class Observer {
  readonly counters: Counters = emptyCounters();
  readonly conversation: Conversation;
  readonly records = new Records();
  readonly stream: EventStream;
  /** Told of each answer. */
  onAnswer: ((callId: string, executed: boolean, slug: Slug | null) => void) | null = null;
  private readonly slices: Slices;
  private readonly options: ObserverOptions;
  private readonly warned: string[] = [];
  private listenerFailed = false;

  constructor(options: ObserverOptions) {
    this.options = options;
    this.conversation = new Conversation(options.messages);
    this.stream = new EventStream(() => this.envelope(this.options.times.now()));
    this.slices = new Slices(options.slices, (observer, message) =>
      this.sight({ type: 'observer.failed', observer, message }),
    );
  }

  get sliceStates(): Record<string, unknown> {
    return this.slices.states;
  }

  /** Whether anybody would see the deltas of a reply. */
  get wantsDeltas(): boolean {
    return this.options.onEvent !== null || this.stream.isRead;
  }

  /** Takes a fact of the machines. Must not throw: the actor tree is in the middle of a step. */
  take(fact: Fact): void {
    count(this.counters, fact);
    this.conversation.apply(fact);
    this.records.apply(fact, this.options.times.deliveredAt);
    this.log(fact);
    if (fact.type === 'tool.answered') this.onAnswer?.(fact.callId, fact.executed, fact.slug);
    const envelope = this.envelope(this.options.times.deliveredAt);
    if (fact.type === 'tool.requested' || fact.type === 'tool.approvalRequested') {
      this.publish({ ...fact, input: this.conversation.inputOf(fact.index), ...envelope });
    } else {
      this.publish({ ...fact, ...envelope });
    }
  }

  /** Takes what was seen beside the facts. */
  sight(sighting: Sighting): void {
    if (sighting.type === 'effect.late') this.counters.lateResults += 1;
    if (sighting.type === 'subAgent.ended') countSubAgent(this.counters, sighting.name, sighting.counters);
    if (sighting.type === 'model.warned') {
      const once = `${sighting.target} ${sighting.warning}`;
      if (this.warned.includes(once)) return;
      this.warned.push(once);
    }
    const clean =
      'message' in sighting ? { ...sighting, message: redact(sighting.message, this.options.secrets) } : sighting;
    this.publish({ ...clean, ...this.envelope(this.options.times.now()) });
  }

  /** A line about a server, at DEBUG or INFO. */
  note(level: 'debug' | 'info', event: string, server: string, text: string): void {
    const { logger, sessionId, agent, secrets } = this.options;
    const line = redact(headOf(text, noteBytes), secrets);
    this.guardLog(() => logger[level]({ event, sessionId, agent, server, line }, line));
  }

  /** An event of a sub-agent's session: it is seen with its path, and belongs to none of the folds. */
  forward(event: SessionEvent, name: string): void {
    this.show({ ...event, path: [name, ...event.path] });
  }

  /** What a tool threw, as it was (C-3): for the log alone. */
  toolError(name: string, callId: string, error: unknown): void {
    const { logger, sessionId, agent, secrets } = this.options;
    const text = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
    this.guardLog(() =>
      logger.debug(
        { event: 'tool.threw', sessionId, agent, name, callId, error: redact(text, secrets) },
        `${name} threw`,
      ),
    );
  }

  private envelope(at: number): Envelope {
    const { sessionId, agent } = this.options;
    return { sessionId, agent, at, path: ownPath };
  }

  private publish(event: SessionEvent): void {
    if (event.type !== 'model.delta') this.slices.apply(event);
    this.show(event);
  }

  private show(event: SessionEvent): void {
    this.stream.push(event);
    const { onEvent } = this.options;
    if (onEvent === null) return;
    try {
      onRejection(onEvent(event), (error) => this.listenerThrew(error));
    } catch (error) {
      this.listenerThrew(error);
    }
  }

  /** A listener that throws is reported once, and goes on being called. */
  private listenerThrew(error: unknown): void {
    if (this.listenerFailed) return;
    this.listenerFailed = true;
    this.sight({ type: 'observer.failed', observer: 'onEvent', message: messageOf(error) });
  }

  private log(fact: Fact): void {
    const { logger } = this.options;
    if (fact.type === 'attempt.failed') {
      this.guardLog(() => logFailedAttempt(logger, this.options, fact, this.records.attempt()?.reply ?? null));
    } else if (fact.type === 'session.failed' || fact.type === 'session.aborted') {
      this.guardLog(() => logFailedSession(logger, this.options, fact, this.counters));
    }
  }

  /** A logger that throws breaks nothing: it is reported as an event. */
  private guardLog(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.sight({ type: 'observer.failed', observer: 'logger', message: messageOf(error) });
    }
  }
}
