import { randomUUID } from 'node:crypto';
import { createActor } from 'xstate';
import {
  type Counters,
  type Fact,
  type SessionCommand,
  type SessionOutput,
  sessionMachine,
} from '../../machines/index.ts';
import type { Agent } from '../agent/definition.ts';
import { redact } from '../agent/redact.ts';
import { secretsOf } from '../agent/secrets.ts';
import { resultBytesIn } from '../context/context-guard.ts';
import { messageOf } from '../errors.ts';
import { systemClock } from '../host/clock.ts';
import type { MakeDriver } from '../host/driver.ts';
import { memoryDriver } from '../host/memory.ts';
import { type MachineEnd, RunningMachine } from '../host/run-machine.ts';
import type { SessionEvent } from '../observe/events.ts';
import { loggerOf } from '../observe/log.ts';
import { Observer } from '../observe/observer.ts';
import { approvalDecision, decideOne, position, steering } from './commands.ts';
import { sessionEffects } from './effects.ts';
import { inputMessages, sessionInput } from './input.ts';
import type { ApprovalInput, Session, SessionOptions, SessionResult } from './options.ts';
import { SessionOwner } from './owner.ts';
import { sessionResult } from './result.ts';
import { type Lineage, root, type SubAgents, type SubSession } from './sub-agent.ts';
import { subAgentsOf } from './sub-sessions.ts';

/** The parts of a session. Only tests and sub-agents pass more than an agent and options. */
export type SessionParts<Report> = {
  agent: Agent<Report>;
  options: SessionOptions;
  lineage?: Lineage;
  driver?: MakeDriver;
};

/** A session: the machines, the effects and the folds, wired together. */
export class RunningSession<Report> implements Session<Report>, SubSession {
  readonly sessionId: string;
  readonly result: Promise<SessionResult<Report>>;
  private readonly secrets: readonly string[];
  private readonly observer: Observer;
  private readonly machine: RunningMachine<SessionCommand, Fact, SessionOutput>;
  private readonly subAgents: SubAgents | null;
  private ended = false;

  constructor({ agent, options, lineage = root, driver = memoryDriver }: SessionParts<Report>) {
    const { clock = systemClock, budget = {}, prompt = null } = options;
    const logger = loggerOf(options.logger);
    const { messages, repairs } = inputMessages(options);
    this.sessionId = options.sessionId ?? randomUUID();
    this.secrets = secretsOf(agent.definition, lineage.secrets);
    const times = { deliveredAt: clock.now(), now: () => clock.now() };
    const input = sessionInput(agent, budget, times.deliveredAt);
    this.observer = new Observer({
      sessionId: this.sessionId,
      agent: agent.name,
      parentSessionId: lineage.parentSessionId,
      secrets: this.secrets,
      messages,
      logger,
      onEvent: options.onEvent ?? null,
      slices: agent.definition.slices ?? {},
      resultBytes: resultBytesIn(input.window, agent.limits),
      times,
    });
    const { observer, secrets, sessionId } = this;
    const parent = { sessionId, agent, options: { ...options, logger, clock }, observer, lineage, secrets };
    this.subAgents = subAgentsOf(parent, input.budget, (parts) => new RunningSession({ ...parts, driver }));
    const { perform, close } = sessionEffects({ agent, prompt, observer, subAgents: this.subAgents, clock, secrets });
    this.machine = new RunningMachine<SessionCommand, Fact, SessionOutput>({
      actor: (settings) => createActor(sessionMachine, { input, ...settings }),
      perform,
      driver,
      clock,
      random: options.random ?? Math.random,
      signal: options.signal,
      abortCommand: (reason) => this.abortion(reason),
      inspect: options.inspect,
      owner: new SessionOwner({ observer, secrets, times, onDelivery: options.onDelivery, subAgents: this.subAgents }),
    });
    this.result = this.machine.end.then(async (end) => {
      // After a defect, the close effect was never requested.
      if ('defect' in end) await close().catch((error) => observer.userCodeFailed('close', error));
      const output = this.outputOf(end);
      this.ended = true;
      observer.folds.stream.end();
      return sessionResult({ sessionId, agent, prompt, observer, secrets }, output);
    });
    if (repairs !== null) observer.sight({ type: 'conversation.repaired', repairs });
    this.machine.start();
  }

  get events(): AsyncIterable<SessionEvent> {
    return this.eventsFrom(1);
  }

  eventsFrom(seq: number): AsyncIterable<SessionEvent> {
    return this.observer.folds.stream.from(position(seq));
  }

  get counters(): Readonly<Counters> {
    return this.observer.counters;
  }

  steer(text: string): boolean {
    const command = steering(text);
    const isRead = !this.ended && this.observer.folds.records.accepted === null;
    if (isRead) this.machine.command(command);
    return isRead;
  }

  stop(): void {
    if (!this.ended) this.machine.command({ type: 'session.stop' });
  }

  abort(reason: unknown = 'aborted by the caller'): void {
    if (!this.ended) this.machine.command(this.abortion(reason));
  }

  approve(callId: string, decision: ApprovalInput): boolean {
    return decideOne(this.waitingFor(callId), callId, approvalDecision(decision));
  }

  waitingFor(callId: string): SubSession[] {
    const own = this.observer.folds.approvals.has(callId) ? [this] : [];
    return [...own, ...(this.subAgents?.waitingFor(callId) ?? [])];
  }

  decide(callId: string, approved: boolean, reason: string | null): boolean {
    const key = this.observer.folds.approvals.take(callId);
    if (key !== null) this.machine.answer(key, { decision: approved ? 'approved' : 'denied', reason });
    return key !== null;
  }

  private abortion(reason: unknown): SessionCommand {
    return { type: 'session.abort', reason: redact(messageOf(reason), this.secrets) };
  }

  /** If the machines themselves broke, fails the session with its one ERROR line (S-3). */
  private outputOf(end: MachineEnd<SessionOutput>): SessionOutput {
    if ('output' in end) return end.output;
    const failure = { slugs: ['internal_error' as const], retryAt: null, detail: messageOf(end.defect) };
    this.observer.take({ type: 'session.failed', turns: this.observer.counters.turns, failure });
    return { status: 'failed', failure };
  }
}
