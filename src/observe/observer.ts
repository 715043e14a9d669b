import { type Counters, count, emptyCounters, type Fact, type Message } from '../../machines/index.ts';
import { messageOf } from '../errors.ts';
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
  /** Epoch ms of the delivery under way, so that a replay gives the same facts. */
  deliveredAt: () => number;
  /** Epoch ms. */
  now: () => number;
};

/** All that is known of a session, as folds over its facts: one fact in, one place each. */
export class Observer {
  readonly counters: Counters = emptyCounters();
  readonly conversation: Conversation;
  readonly records = new Records();
  readonly stream: EventStream;
  private readonly slices: Slices;
  private readonly options: ObserverOptions;
  private readonly warned: string[] = [];
  private listenerFailed = false;

  constructor(options: ObserverOptions) {
    this.options = options;
    this.conversation = new Conversation(options.messages);
    this.stream = new EventStream(() => this.envelope(this.options.now()));
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
    this.records.apply(fact, this.options.deliveredAt());
    this.log(fact);
    this.publish({ ...fact, ...this.envelope(this.options.deliveredAt()) });
  }

  /** Takes what was seen beside the facts. */
  sight(sighting: Sighting): void {
    if (sighting.type === 'effect.late') this.counters.lateResults += 1;
    if (sighting.type === 'model.warned') {
      const once = `${sighting.target} ${sighting.warning}`;
      if (this.warned.includes(once)) return;
      this.warned.push(once);
    }
    this.publish({ ...sighting, ...this.envelope(this.options.now()) });
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
    return { sessionId, agent, at };
  }

  private publish(event: SessionEvent): void {
    if (event.type !== 'model.delta') this.slices.apply(event);
    this.stream.push(event);
    const { onEvent } = this.options;
    if (onEvent === null) return;
    try {
      const result = onEvent(event);
      if (result instanceof Promise) result.catch((error) => this.listenerThrew(error));
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
