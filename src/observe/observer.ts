import type { Counters, Fact, Failure, SessionOutput, Slug } from '../../machines/index.ts';
import { messageOf } from '../input/errors.ts';
import { redact, withoutSecrets } from '../secrets/redact.ts';
import type { Envelope, SessionEvent, Sighting } from './events.ts';
import { type FoldOptions, type Folds, makeFolds } from './folds.ts';
import { linesWritten } from './log/logger.ts';
import { type Parent, Publisher } from './publisher.ts';
import { DeltaSecrets } from './stream/delta-secrets.ts';

/** Where a session's journal notes what a replay does not give again (D-3). */
export type Recorder = {
  fact(fact: Fact): void;
  sighted(sighting: Sighting, at: number): void;
};

/** For a replay: what was recorded (D-3). */
export type StatedSource = {
  /** Returns what was recorded in the place of a fact that the machines state again; null if they took another way. */
  take(fact: Fact): Fact | null;
  /** Called before each fact is published, so that what was sighted before it comes first. */
  beforeFact(): void;
};

export type ObserverOptions = Omit<FoldOptions, 'onFailure' | 'forward'> & {
  recorder?: Recorder | null;
  parent?: Parent | null;
  /** Null for a session that is not replayed. */
  replay?: StatedSource | null;
  /** Epoch ms. `deliveredAt` is the delivery's, so replays yield the same facts. */
  times: { readonly deliveredAt: number; now(): number };
};

type Delta = Extract<Sighting, { type: 'model.delta' }>;

const ownPath: readonly string[] = Object.freeze([]);

/** Returns how a session ends by a fact; null if it does not. */
function endingIn(fact: Fact): SessionOutput | null {
  switch (fact.type) {
    case 'session.succeeded':
      return { status: 'succeeded' };
    case 'session.failed':
      return { status: 'failed', failure: fact.failure };
    case 'session.aborted':
      return { status: 'aborted', failure: fact.failure };
    default:
      return null;
  }
}

/** The facts after which no delta of an attempt comes. */
const repliesEnd = /^attempt\.(?!started)/;

/**
 * Where a session is for its observer. During a replay, to its end or not, sightings come from the journal alone. `live`:
 * they are taken in. `ended`: only failures of observers are. `closed`: none is.
 */
type Mode = 'replaying' | 'replayedToItsEnd' | 'live' | 'ended' | 'closed';

/** The mode after the session's end was stated, and after a replay. */
const afterEnd: Record<Mode, Mode> = {
  replaying: 'replayedToItsEnd',
  replayedToItsEnd: 'replayedToItsEnd',
  live: 'ended',
  ended: 'ended',
  closed: 'closed',
};
const afterReplay: Record<Mode, Mode> = { ...afterEnd, replaying: 'live', replayedToItsEnd: 'ended', live: 'live' };

/** A session's derived state: a list of folds, and the events sent to listeners. */
export class Observer {
  readonly folds: Folds;
  private readonly options: ObserverOptions;
  private readonly publisher: Publisher;
  private readonly warned: string[] = [];
  /** Null without secrets. */
  private readonly deltaSecrets: DeltaSecrets | null;
  private mode: Mode;
  /** How the session ended, if its replay says that; else null. */
  recordedEnd: SessionOutput | null = null;
  /** How the session ended, once its machines have told so; null before. */
  toldEnd: SessionOutput | null = null;
  /** The parts of the current attempt's reply that have begun. */
  private parts = 0;

  constructor(options: ObserverOptions) {
    const { parent = null, replay = null, secrets } = options;
    const onFailure = (observer: string, error: unknown) => this.userCodeFailed(observer, error);
    this.options = options;
    this.mode = replay === null ? 'live' : 'replaying';
    this.deltaSecrets = secrets.length === 0 ? null : new DeltaSecrets(secrets);
    this.folds = makeFolds({ ...options, forward: parent?.forward ?? null, onFailure });
    const isHeard = replay === null;
    this.publisher = new Publisher({ folds: this.folds, secrets, parent, isHeard, onFailure });
  }

  /** Ends the stream of events: nothing comes after it. Resolves when all log lines are written. */
  async close(): Promise<void> {
    await linesWritten().catch((error) => this.userCodeFailed('logger', error));
    this.silence();
    this.folds.stream.end();
  }

  /** From now on, nothing is sighted. */
  silence(): void {
    this.mode = 'closed';
  }

  /** The parent session was suspended, and published its own event. The spans of this one end too. */
  letGo(failure: Failure): void {
    if (this.mode !== 'live' || !this.publisher.isHeard) return;
    this.folds.telemetry.event({
      ...{ type: 'session.suspended', failure, seq: this.position },
      ...this.envelope(this.options.times.now()),
    });
  }

  /** Whether nothing is sighted, as during a replay and once the stream has ended. */
  get isSilent(): boolean {
    return this.mode !== 'live' && this.mode !== 'ended';
  }

  private get isReplaying(): boolean {
    return this.mode === 'replaying' || this.mode === 'replayedToItsEnd';
  }

  /** Ends a replay: from now on, sightings are taken in. The log and the listeners are told after `goLive`. */
  endReplay(): void {
    this.mode = afterReplay[this.mode];
  }

  /** From now on, the log and the listener receive every event. */
  goLive(): void {
    this.publisher.hear();
  }

  /** The position of the last event in the stream of the whole tree. */
  get position(): number {
    return this.publisher.position;
  }

  /** The next event comes after this position, or a later one that was already reached. */
  moveTo(position: number): void {
    this.publisher.moveTo(position);
  }

  /** Replay: takes in what was sighted at `at` (epoch ms). */
  resight(sighting: Sighting, at: number): void {
    if (sighting.type === 'model.delta') {
      this.parts = Math.max(this.parts, sighting.part + 1);
      // It keeps its position even if a replay removes more secrets.
      const delta = withoutSecrets(sighting.delta, this.options.secrets);
      this.publisher.publish({ ...sighting, ...this.envelope(at), delta, seq: this.next(sighting.delta.length) });
      return;
    }
    if (sighting.type === 'model.warned') this.isNewWarning(`${sighting.target} ${sighting.warning}`);
    this.publisher.tellSighting(sighting, true);
    this.publisher.publish({ ...sighting, ...this.envelope(at), seq: this.next(1) });
  }

  get counters(): Counters {
    return this.folds.counters.all;
  }

  /** Receives a machine fact. Never throws: the actor tree is in the middle of a step. */
  takeFact(fact: Fact): void {
    const { replay = null } = this.options;
    const said = this.isReplaying && replay !== null ? replay.take(fact) : fact;
    if (said !== null) this.state(said);
  }

  /** Takes in a fact: one of the machines, or what was recorded of it. */
  state(fact: Fact): void {
    const { deliveredAt } = this.options.times;
    this.options.recorder?.fact(fact);
    this.publisher.tellFact(fact, deliveredAt);
    if (this.deltaSecrets !== null && repliesEnd.test(fact.type))
      for (const delta of this.deltaSecrets.rest()) this.passDelta(delta, this.options.times.now());
    if (this.isReplaying) this.options.replay?.beforeFact();
    this.publisher.publish({ ...this.eventOf(fact), ...this.envelope(deliveredAt), seq: this.next(1) });
    if (fact.type === 'attempt.started') this.beginAttempt(fact, deliveredAt);
    const ending = endingIn(fact);
    if (ending === null) return;
    this.toldEnd = ending;
    if (this.isReplaying) this.recordedEnd = ending;
    this.mode = afterEnd[this.mode];
  }

  /** Says whether the request extends the one before. It follows from the facts, so no journal holds it (D-3). */
  private beginAttempt({ turn, attempt, target }: Extract<Fact, { type: 'attempt.started' }>, at: number): void {
    this.parts = 0;
    const { current: cause } = this.folds.counters.prefix;
    if (cause === null) return;
    const sighting: Sighting = { type: 'prefix.broken', turn, attempt, target, cause };
    this.publisher.tellSighting(sighting, true);
    this.publisher.publish({ ...sighting, ...this.envelope(at), seq: this.next(1) });
  }

  /** Receives a non-fact observation, seen at `at` (epoch ms). */
  sight(sighting: Sighting, at: number = this.options.times.now()): void {
    if (this.isSilent || (this.mode === 'ended' && sighting.type !== 'observer.failed')) return;
    if (sighting.type === 'model.delta') {
      if (sighting.delta !== '') this.parts = Math.max(this.parts, sighting.part + 1);
      const shown = this.shownOf(sighting);
      if (shown !== null) this.passDelta(shown, at);
      return;
    }
    if (sighting.type === 'model.warned' && !this.isNewWarning(`${sighting.target} ${sighting.warning}`)) return;
    this.publisher.tellSighting(sighting, sighting.type === 'observer.failed');
    const clean =
      'message' in sighting ? { ...sighting, message: redact(sighting.message, this.options.secrets) } : sighting;
    this.options.recorder?.sighted(clean, at);
    this.publisher.publish({ ...clean, ...this.envelope(at), seq: this.next(1) });
  }

  /** Forwards an event from a sub-agent's session, under its path. No fold here counts it. */
  forward(event: SessionEvent, name: string): void {
    const positions = event.type === 'model.delta' ? event.delta.length : 1;
    this.publisher.publish({ ...event, path: [name, ...event.path], seq: this.next(positions) });
  }

  /** Reports that user code threw. */
  userCodeFailed(observer: string, error: unknown): void {
    this.sight({ type: 'observer.failed', observer, message: messageOf(error) });
  }

  private isNewWarning(warning: string): boolean {
    if (this.warned.includes(warning)) return false;
    this.warned.push(warning);
    return true;
  }

  private envelope(at: number): Envelope {
    const { sessionId, agent } = this.options;
    return { sessionId, agent, at, path: ownPath };
  }

  private next(positions: number): number {
    return this.publisher.next(positions);
  }

  private eventOf(fact: Fact) {
    if (fact.type === 'attempt.failed') return { ...fact, partsTakenBack: this.partsOf(fact.slugs) };
    if (fact.type !== 'tool.requested' && fact.type !== 'tool.approvalRequested') return fact;
    return { ...fact, input: this.folds.conversation.inputOf(fact.index) };
  }

  /** A crash may have lost parts that were shown: then all that there can be are taken back. */
  private partsOf(slugs: readonly Slug[]): number {
    return slugs.includes('interrupted') ? Number.MAX_SAFE_INTEGER : this.parts;
  }

  /** Returns what may be shown of a delta, or of what was held back if it is empty: then its part has ended. */
  private shownOf(delta: Delta): Delta | null {
    if (delta.delta === '') return this.deltaSecrets?.endOf(delta.part) ?? null;
    return this.deltaSecrets === null ? delta : this.deltaSecrets.takeDelta(delta);
  }

  private passDelta(given: Delta, at: number): void {
    const { recorder, sessionId, agent } = this.options;
    recorder?.sighted(given, at);
    const { type, turn, attempt, kind, part, callId, toolName, delta } = given;
    const seq = this.next(delta.length);
    // Field by field, since there are very many, and an object that grows after a spread costs more.
    const path = ownPath;
    this.publisher.publish({
      type,
      turn,
      attempt,
      kind,
      part,
      callId,
      toolName,
      delta,
      sessionId,
      agent,
      at,
      path,
      seq,
    });
  }
}
