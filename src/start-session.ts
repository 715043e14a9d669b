import { randomUUID } from 'node:crypto';
import { type ActorRefFrom, createActor, type InspectionEvent } from 'xstate';
import {
  type Counters,
  type Delivery,
  type Fact,
  type Failure,
  type HostEvent,
  type SessionCommand,
  type SessionOutput,
  sessionMachine,
  userMessage,
} from '../machines/index.ts';
import type { Agent } from './agent-definition.ts';
import { messageOf, onRejection, PawlError, shown } from './errors.ts';
import { type Clock, systemClock } from './host/clock.ts';
import { Host } from './host/host.ts';
import { type DriverOwner, MemoryDriver } from './host/memory.ts';
import type { SessionEvent } from './observe/events.ts';
import { defaultLogger, type Logger } from './observe/log.ts';
import { Observer } from './observe/observer.ts';
import { redact, secretsOf } from './observe/redact.ts';
import type { Session, SessionOptions, SessionResult } from './session.ts';
import { sessionEffects } from './session-effects.ts';
import { checkOptions, inputMessages, sessionInput } from './session-input.ts';
import { sessionResult } from './session-result.ts';
import { subSessions } from './sub-sessions.ts';
import { Approvals } from './tools/approvals.ts';
import type { Lineage, SubAgents, SubSession } from './tools/sub-agent.ts';

/** Starts a session of `agent`, at once. Throws `PawlError` for options that cannot be; nothing runs before. */
export function startSession<Report>(agent: Agent<Report>, options: SessionOptions): Session<Report> {
  return new RunningSession(agent, options);
}

/** Starts a session and waits for its end. */
export function runSession<Report>(agent: Agent<Report>, options: SessionOptions): Promise<SessionResult<Report>> {
  return startSession(agent, options).result;
}

/** Timeouts belong to the effects: a machine that asks for a timer is a defect (D-1). */
export const noClock = {
  setTimeout: () => {
    throw new Error('machines have no timers: waiting is an effect');
  },
  clearTimeout: () => undefined,
};

/** A session that was started by hand. */
const noParent: Lineage = { parentSessionId: null, depth: 1, maxDepth: Number.POSITIVE_INFINITY };

class RunningSession<Report> implements Session<Report>, DriverOwner {
  readonly sessionId: string;
  readonly result: Promise<SessionResult<Report>>;
  readonly agent: Agent<Report>;
  readonly options: SessionOptions;
  readonly clock: Clock;
  readonly prompt: string | null;
  /** Epoch ms of the delivery under way, so that a replay gives the same facts. */
  deliveredAt: number;
  readonly logger: Logger;
  readonly secrets: readonly string[];
  readonly observer: Observer;
  private readonly host = new Host();
  private readonly driver: MemoryDriver;
  private readonly actor: ActorRefFrom<typeof sessionMachine>;
  private readonly approvals = new Approvals();
  private readonly subAgents: SubAgents | null;
  private readonly close: () => Promise<void>;
  private ended = false;
  private inspectorFailed = false;

  constructor(agent: Agent<Report>, options: SessionOptions, lineage = noParent) {
    checkOptions(agent, options);
    const { clock = systemClock, signal } = options;
    this.options = options;
    this.clock = clock;
    const { messages, repairs } = inputMessages(options);
    const startedAt = clock.now();
    const input = sessionInput(agent, options.budget ?? {}, startedAt);
    this.agent = agent;
    this.prompt = options.prompt ?? null;
    this.sessionId = options.sessionId ?? randomUUID();
    const secrets = secretsOf(agent.definition);
    this.secrets = secrets;
    this.logger = options.logger ?? defaultLogger();
    this.deliveredAt = startedAt;
    this.observer = new Observer({
      sessionId: this.sessionId,
      agent: agent.name,
      parentSessionId: lineage.parentSessionId,
      secrets,
      messages,
      logger: this.logger,
      onEvent: options.onEvent ?? null,
      slices: agent.definition.slices ?? {},
      times: this,
    });
    this.subAgents =
      agent.definition.agents === undefined
        ? null
        : subSessions(this, input.budget, lineage, (child, parts, below) => new RunningSession(child, parts, below));
    const { perform, close } = sessionEffects({
      agent,
      prompt: this.prompt,
      observer: this.observer,
      approvals: this.approvals,
      subAgents: this.subAgents,
      clock,
      secrets,
    });
    this.close = close;
    this.driver = new MemoryDriver(this.host, perform, this);
    this.actor = createActor(sessionMachine, {
      input,
      clock: noClock,
      inspect: (event) => {
        const { type, actorRef } = event;
        if (type === '@xstate.actor' && isEmitter(actorRef)) actorRef.on('*', (emitted) => this.take(emitted));
        if (options.inspect !== undefined) this.inspected(options.inspect, event);
      },
    });
    this.result = new Promise((resolve) => {
      this.actor.subscribe({
        complete: () => resolve(this.end(this.actor.getSnapshot().output)),
        error: (error) => {
          // The close effect was never asked for: what is open is closed all the same.
          this.close().finally(() => resolve(this.end(this.broken(error))));
        },
      });
    });
    if (repairs !== null) this.observer.sight({ type: 'conversation.repaired', repairs });
    this.driver.start(() => this.actor.start());
    if (signal !== undefined) this.listen(signal);
  }

  now(): number {
    return this.clock.now();
  }

  chance(): number {
    try {
      return (this.options.random ?? Math.random)();
    } catch (error) {
      this.userCodeFailed('random', error);
      return 0.5;
    }
  }

  command(event: SessionCommand): void {
    if (!this.ended) this.actor.send(event);
    // It was taken in while the last delivery was at work.
    else if (event.type === 'session.steer') this.observer.conversation.messages.push(userMessage(event.text));
  }

  delivering(delivery: Delivery): void {
    this.deliveredAt = delivery.at;
    try {
      onRejection(this.options.onDelivery?.(delivery), (error) => this.userCodeFailed('onDelivery', error));
    } catch (error) {
      this.userCodeFailed('onDelivery', error);
    }
  }

  describeDefect(error: unknown): string {
    return redact(messageOf(error), this.secrets);
  }

  late(key: string): void {
    this.observer.sight({ type: 'effect.late', key });
  }

  /** An inspector that throws is told once, and breaks nothing. */
  private inspected(inspect: NonNullable<SessionOptions['inspect']>, event: InspectionEvent): void {
    try {
      onRejection(inspect(event), (error) => this.inspectFailed(error));
    } catch (error) {
      this.inspectFailed(error);
    }
  }

  private inspectFailed(error: unknown): void {
    if (!this.inspectorFailed) this.userCodeFailed('inspect', error);
    this.inspectorFailed = true;
  }

  private userCodeFailed(observer: string, error: unknown): void {
    this.observer.sight({ type: 'observer.failed', observer, message: messageOf(error) });
  }

  get events(): AsyncIterable<SessionEvent> {
    return this.observer.stream;
  }

  get counters(): Readonly<Counters> {
    return this.observer.counters;
  }

  steer(text: string): boolean {
    if (typeof text !== 'string' || text.trim() === '') {
      throw new PawlError('invalid_options', `steer was given ${shown(text)}: a text that is not blank is allowed.`);
    }
    if (this.ended) return false;
    this.driver.command({ type: 'session.steer', text });
    return true;
  }

  stop(): void {
    if (!this.ended) this.driver.command({ type: 'session.stop' });
  }

  abort(reason: unknown = 'aborted by the caller'): void {
    if (this.ended) return;
    this.driver.command({ type: 'session.abort', reason: redact(messageOf(reason), this.secrets) });
  }

  approve(callId: string, decision: Parameters<Session['approve']>[1]): boolean {
    const { approved, reason = null, sessionId } = decision ?? {};
    if (typeof approved !== 'boolean' || (reason !== null && typeof reason !== 'string')) {
      throw new PawlError(
        'invalid_options',
        `approve was given ${shown(decision)}: { approved } with a boolean, and perhaps a reason, is allowed.`,
      );
    }
    const waiting = this.waitingFor(callId).filter((one) => sessionId === undefined || one.sessionId === sessionId);
    const [only] = waiting;
    return waiting.length === 1 && only !== undefined && only.decide(callId, approved, reason);
  }

  /** The sessions, this one and those below it, in which a call of that id waits for a decision. */
  waitingFor(callId: string): SubSession[] {
    const own = this.approvals.waitsFor(callId) ? [this] : [];
    return [...own, ...(this.subAgents?.waitingFor(callId) ?? [])];
  }

  decide(callId: string, approved: boolean, reason: string | null): boolean {
    return this.approvals.decide(callId, approved, reason);
  }

  /** One listener for the whole actor system: leaves speak to the host, machines state facts. */
  private take(emitted: Fact | HostEvent): void {
    if (emitted.type === 'effect.requested' || emitted.type === 'effect.cancelled') {
      this.host.take(emitted);
      return;
    }
    // Before anybody sees the request, who may decide at once.
    if (emitted.type === 'tool.approvalRequested') this.approvals.announce(emitted.callId);
    this.observe(emitted);
    if (emitted.type === 'session.stopping') this.subAgents?.stop();
  }

  /** The actor tree is in the middle of a step: a defect of ours in looking at it must not reach it. */
  private observe(fact: Fact): void {
    try {
      this.observer.take(fact);
    } catch (error) {
      this.userCodeFailed('session', error);
    }
  }

  private listen(signal: AbortSignal): void {
    const abort = () => this.abort(messageOf(signal.reason));
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    this.result.then(() => signal.removeEventListener('abort', abort));
  }

  /** The machines themselves broke: a defect, which still is a failed session with its one ERROR line (S-3). */
  private broken(error: unknown): SessionOutput {
    const failure: Failure = { slugs: ['internal_error'], retryAt: null, detail: messageOf(error) };
    this.observe({ type: 'session.failed', turns: this.observer.counters.turns, failure });
    return { status: 'failed', failure };
  }

  private end(output: SessionOutput | undefined): SessionResult<Report> {
    this.ended = true;
    const ending = output ?? this.broken(new Error('the session ended without an output'));
    const result = sessionResult(this, ending);
    this.observer.stream.end();
    return result;
  }
}

type Emitter<Emitted> = { on(type: '*', listener: (emitted: Emitted | HostEvent) => void): unknown };

/** Every actor of the system is one: machines emit facts, and leaves what they ask of the host. */
export function isEmitter<Emitted = Fact>(actor: object): actor is Emitter<Emitted> {
  return 'on' in actor && typeof actor.on === 'function';
}
