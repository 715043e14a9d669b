import type { Counters, SessionOutput } from '../../machines/index.ts';
import type { MachineEnd } from '../host/run-machine.ts';
import { PawlError } from '../input/errors.ts';
import type { WaitingCall } from '../journal/journal.ts';
import type { Player } from '../journal/replay/replay.ts';
import type { ScopeLog } from '../journal/scope-log.ts';
import type { SessionEvent, Sighting } from '../observe/events.ts';
import { compactOne, graceOf, position, steerOne } from './commands.ts';
import { answerIn, answerOne, approveOne, decideIn, waitingIn } from './deciding.ts';
import { SessionLife } from './recovery/life.ts';
import { ResumingPlayer } from './recovery/resuming-player.ts';
import { Suspension } from './recovery/suspension.ts';
import { countersOf, type Ending, endInJournal, outputOf, sessionEnd, sessionResult } from './result.ts';
import type { AnswerOptions, ApprovalInput, Session, SessionResult, SuspendOptions } from './session.ts';
import type { ClientAnswer, GivenDecision, SubSession } from './sub-agents/sub-session.ts';
import type { SubSessions } from './sub-agents/sub-sessions.ts';
import { abortion } from './wiring/driving.ts';
import type { SessionParts } from './wiring/identity.ts';
import { type Wired, wire } from './wiring/wiring.ts';

/** A session without a parent, for code that does not read its report. */
export type RootSession = Pick<RunningSession<unknown>, keyof RunningSession<unknown>>;

/** A session that runs, or is replayed to go on. It does nothing before `start`, or the steps of a replay. */
export class RunningSession<Report> implements Session<Report>, SubSession {
  readonly sessionId: string;
  readonly result: Promise<SessionResult<Report>>;
  readonly log: ScopeLog | null;
  readonly life: SessionLife;
  readonly canCompact: boolean;
  /** What makes its sub-agents; null for an agent without any. */
  readonly subSessions: SubSessions | null;
  private readonly wired: Wired<Report>;
  private readonly suspended = Promise.withResolvers<Ending>();
  private suspending: Suspension | null = null;

  constructor(parts: SessionParts<Report>) {
    this.sessionId = parts.head.sessionId;
    this.log = parts.log;
    this.wired = wire(parts, (own) => new RunningSession(own).start());
    this.subSessions = this.wired.subSessions;
    this.canCompact = this.wired.identity.agent.compaction !== null;
    this.life = new SessionLife({ ...this.wired, ...this.wired.identity });
    const ended = sessionEnd(this.wired, parts.played).then((end) => this.conclude(end));
    this.result =
      parts.log === null ? ended : Promise.race([ended, this.suspended.promise.then((one) => this.resultOf(one))]);
  }

  start(sightings: readonly Sighting[] = []): RunningSession<Report> {
    for (const sighting of sightings) this.wired.observer.sight(sighting);
    this.wired.machine.start();
    this.wired.joinGates({ goesOn: false });
    this.wired.machine.listen();
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

  steer(text: string): boolean {
    return steerOne(this.wired, this.life.isOver, text);
  }

  stop(): void {
    if (!this.life.isOver) this.wired.machine.command({ type: 'session.stop' });
  }

  compact(): boolean {
    return compactOne(this.wired, this.life.isOver);
  }

  abort(reason: unknown = 'aborted by the caller'): void {
    if (!this.life.isOver) this.wired.machine.command(abortion(reason, this.wired.identity.secrets));
  }

  approve(callId: string, decision: ApprovalInput): boolean {
    return approveOne(this, callId, decision);
  }

  answer(callId: string, output: unknown, options: AnswerOptions = {}): boolean {
    return answerOne(this, callId, output, options);
  }

  async suspend(options: SuspendOptions = {}): Promise<void> {
    const graceMs = graceOf(options);
    if (this.log === null || this.log.scope !== '')
      throw new PawlError('invalid_options', 'Only a session with a `journal` can be suspended; abort this one.');
    if (!this.life.isOver) this.suspending ??= new Suspension(this, this.log.tree, this.wired.identity.around.clock);
    await this.suspending?.within(graceMs);
    await this.result;
  }

  tree(): SubSession[] {
    return [this, ...(this.subSessions?.subAgents.tree() ?? [])];
  }

  waiting(): WaitingCall[] {
    return waitingIn(this.sessionId, this.wired.observer.folds);
  }

  decide(callId: string, decision: GivenDecision): boolean {
    return !this.life.isOver && decideIn(this.wired, callId, decision);
  }

  answerCall(callId: string, answer: ClientAnswer): boolean {
    return !this.life.isOver && answerIn(this.wired, callId, answer);
  }

  goOn(): void {
    this.wired.joinGates({ goesOn: true });
    this.wired.resumed?.goOn();
    this.wired.machine.listen();
  }

  /** For a session that is replayed: what plays it. */
  player(): Player {
    return new ResumingPlayer(this.wired);
  }

  /** Ends here, without the machines: the session continues from its journal later, or never began (`failed`). */
  async letGo(ending: Ending): Promise<void> {
    await this.wired.observer.close();
    this.suspended.resolve(ending);
  }

  private async conclude(end: MachineEnd<SessionOutput>): Promise<SessionResult<Report>> {
    const output = await outputOf(end, this.wired, this.log);
    // Machines that broke have closed nothing.
    await this.wired.effects.admissions.close({ continues: false });
    const { observer } = this.wired;
    const result = this.resultOf(output);
    await this.log?.ended(endInJournal(output)).catch((error) => observer.userCodeFailed('journal', error));
    await observer.close();
    return result;
  }

  private resultOf(ending: Ending): SessionResult<Report> {
    return sessionResult({ ...this.wired, counters: this.counters }, ending);
  }
}
