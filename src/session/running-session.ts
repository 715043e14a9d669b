import { type Counters, type SessionOutput, toolKey } from '../../machines/index.ts';
import type { MachineEnd } from '../host/run-machine.ts';
import { PawlError } from '../input/errors.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import type { SessionEvent, Sighting } from '../observe/events.ts';
import { answerOne, approvalDecision, approveOne, clientAnswer, graceOf, position, steering } from './commands.ts';
import { Suspension } from './recovery/suspension.ts';
import { countersOf, type Ending, outputOf, sessionResult } from './result.ts';
import type { AnswerOptions, ApprovalInput, Session, SessionResult, SuspendOptions } from './session.ts';
import type { ClientAnswer, SubSession } from './sub-agents/sub-session.ts';
import { abortion, type SessionParts, type Wired, wire } from './wiring.ts';

/** A session without a parent, for code that does not read its report. */
export type RootSession = Pick<RunningSession<unknown>, keyof RunningSession<unknown>>;

/** A session that runs, or is replayed to go on. It does nothing before `start`, or the steps of a replay. */
export class RunningSession<Report> implements Session<Report>, SubSession {
  readonly sessionId: string;
  readonly result: Promise<SessionResult<Report>>;
  readonly log: ScopeLog | null;
  readonly wired: Wired;
  private readonly parts: SessionParts<Report>;
  private readonly suspended = Promise.withResolvers<Ending>();
  private suspending: Suspension | null = null;
  private isRetired = false;

  constructor(parts: SessionParts<Report>) {
    this.parts = parts;
    this.sessionId = parts.head.sessionId;
    this.log = parts.log;
    this.wired = wire(parts, (own) => new RunningSession(own).start());
    const ended = this.wired.machine.end.then((end) => this.conclude(end));
    this.result =
      parts.log === null ? ended : Promise.race([ended, this.suspended.promise.then((one) => this.resultOf(one))]);
  }

  start(sightings: readonly Sighting[] = []): RunningSession<Report> {
    const { observer, machine } = this.wired;
    for (const sighting of sightings) observer.sight(sighting);
    machine.start();
    machine.listen();
    return this;
  }

  get events(): AsyncIterable<SessionEvent> {
    return this.eventsFrom(1);
  }

  eventsFrom(seq: number): AsyncIterable<SessionEvent> {
    return this.wired.observer.folds.stream.from(position(seq));
  }

  get counters(): Readonly<Counters> {
    return countersOf(this.wired);
  }

  private get isOver(): boolean {
    return this.isRetired || this.wired.machine.hasEnded;
  }

  steer(text: string): boolean {
    const command = steering(text);
    const { machine, observer } = this.wired;
    const isRead = !this.isOver && observer.folds.records.accepted === null;
    if (isRead) machine.command(command);
    return isRead;
  }

  stop(): void {
    if (!this.isOver) this.wired.machine.command({ type: 'session.stop' });
  }

  abort(reason: unknown = 'aborted by the caller'): void {
    if (!this.isOver) this.wired.machine.command(abortion(reason, this.wired.secrets));
  }

  approve(callId: string, decision: ApprovalInput): boolean {
    return approveOne(this, callId, approvalDecision(decision));
  }

  answer(callId: string, output: unknown, options: AnswerOptions = {}): boolean {
    return answerOne(this, callId, clientAnswer(output, options));
  }

  async suspend(options: SuspendOptions = {}): Promise<void> {
    const graceMs = graceOf(options);
    if (this.log === null || this.log.scope !== '')
      throw new PawlError('invalid_options', 'Only a session with a `journal` can be suspended; abort this one.');
    if (!this.isOver) this.suspending ??= new Suspension(this, this.log.tree);
    await this.suspending?.within(graceMs);
    await this.result;
  }

  tree(): SubSession[] {
    return [this, ...(this.wired.subSessions?.subAgents.tree() ?? [])];
  }

  decide(callId: string, approved: boolean, reason: string | null): boolean {
    const key = this.isOver ? null : this.wired.observer.folds.approvals.take(callId);
    if (key !== null) this.wired.machine.answer(key, { decision: approved ? 'approved' : 'denied', reason });
    return key !== null;
  }

  take(callId: string, answer: ClientAnswer): boolean {
    const call = this.isOver ? null : this.wired.observer.folds.clientCalls.take(callId);
    if (call !== null) this.wired.machine.answer(toolKey(call), this.wired.effects.answered(call, answer));
    return call !== null;
  }

  goOn(): void {
    this.wired.journaled?.goOn();
    this.wired.machine.listen();
  }

  /** Begins, delivers and accepts nothing more. */
  retire(): void {
    this.isRetired = true;
    this.wired.machine.leaveSignal();
    this.wired.journaled?.release();
  }

  /** Ends here, without the machines: the session continues from its journal later, or never began (`failed`). */
  async letGo(ending: Ending): Promise<void> {
    await this.wired.observer.close();
    this.suspended.resolve(ending);
  }

  private async conclude(end: MachineEnd<SessionOutput>): Promise<SessionResult<Report>> {
    const { observer, effects } = this.wired;
    // After a defect, the close effect was never requested.
    if ('defect' in end) await effects.tools.close().catch((error) => observer.userCodeFailed('close', error));
    const output = outputOf(end, observer, this.log);
    const result = this.resultOf(output);
    if (this.log !== null) {
      const { status, slugs } = { ...output, slugs: result.slugs };
      await this.log.ended({ status, slugs }).catch((error) => observer.userCodeFailed('journal', error));
    }
    await observer.close();
    return result;
  }

  private resultOf(ending: Ending): SessionResult<Report> {
    const { agent, head } = this.parts;
    const { observer, secrets } = this.wired;
    return sessionResult({ ...head, agent, observer, secrets, counters: this.counters }, ending);
  }
}
