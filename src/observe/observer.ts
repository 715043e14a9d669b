import type { Counters, Fact, Failure, Slug } from '../../machines/index.ts';
import { messageOf } from '../input/errors.ts';
import { ownCopy } from '../platform/own-copy.ts';
import { eventWithoutSecrets, redact, withoutSecrets } from '../secrets/redact.ts';
import type { Envelope, Fold, SessionEvent, Sighting } from './events.ts';
import { type FoldOptions, type Folds, makeFolds } from './folds.ts';
import { linesWritten } from './log/logger.ts';
import { DeltaSecrets } from './stream/delta-secrets.ts';

/** Where a session's journal notes what a replay does not give again (D-3). */
export type Recorder = {
  fact(fact: Fact): void;
  sighted(sighting: Sighting, at: number): void;
};

/** The observer of the session above, whose stream holds this session's events too. */
export type Parent = {
  forward(event: SessionEvent): void;
  position(): number;
  moveTo(position: number): void;
};

export type ObserverOptions = Omit<FoldOptions, 'onFailure' | 'forward'> & {
  recorder?: Recorder | null;
  parent?: Parent | null;
  /** A replay: called before each fact is published, so that what was sighted before it comes first. */
  beforeFact?: (() => void) | null;
  /** Epoch ms. `deliveredAt` is the delivery's, so replays yield the same facts. */
  times: { readonly deliveredAt: number; now(): number };
};

type Delta = Extract<Sighting, { type: 'model.delta' }>;

const ownPath: readonly string[] = [];

/** The facts by which a session ends. */
const sessionEnds: ReadonlySet<string> = new Set(['session.succeeded', 'session.failed', 'session.aborted']);

/** The facts after which no delta of an attempt comes. */
const repliesEnd = /^attempt\.(?!started)/;

/** A session's derived state: a list of folds, and the events sent to listeners. */
export class Observer {
  readonly folds: Folds;
  private list: readonly Fold[];
  /** Whether the log and the listener receive events, which a replay keeps from them. */
  private isLive: boolean;
  private readonly options: ObserverOptions;
  private readonly warned: string[] = [];
  /** Null without secrets. */
  private readonly deltaSecrets: DeltaSecrets | null;
  /** The event that the folds are receiving; null between two. */
  private published: SessionEvent | null = null;
  /** What a listener brought about during that event: it comes after it for all folds, deltas too (S-6). */
  private readonly unpublished: SessionEvent[] = [];
  private seq = 0;
  /** Set during a replay; then what is sighted comes from the journal alone. */
  private beforeFact: (() => void) | null;
  /** The parts of the current attempt's reply that have begun. */
  private parts = 0;
  /** Whether the session's end was stated. After it, only failures of observers are taken in. */
  private hasEnded = false;

  constructor(options: ObserverOptions) {
    this.options = options;
    this.beforeFact = options.beforeFact ?? null;
    this.deltaSecrets = options.secrets.length === 0 ? null : new DeltaSecrets(options.secrets);
    this.folds = makeFolds({
      ...options,
      forward: options.parent?.forward ?? null,
      onFailure: (observer, error) => this.userCodeFailed(observer, error),
    });
    const { log, debugLog, telemetry, listener, ...state } = this.folds;
    this.isLive = this.beforeFact === null;
    this.list = Object.values(this.isLive ? this.folds : state);
  }

  /** Ends the stream of events: nothing comes after it. Resolves when all log lines are written. */
  async close(): Promise<void> {
    await linesWritten().catch((error) => this.userCodeFailed('logger', error));
    this.silence();
    this.folds.stream.end();
  }

  /** From now on, nothing is published. */
  silence(): void {
    this.beforeFact = () => {};
  }

  /** The session above is let go of, which its own event says. The spans of this one end too. */
  letGo(failure: Failure): void {
    if (!this.isLive || this.hasEnded) return;
    const { position: seq } = this;
    this.folds.telemetry.event({
      ...{ type: 'session.suspended', failure, seq },
      ...this.envelope(this.options.times.now()),
    });
  }

  /** Whether a replay is under way. */
  get isReplaying(): boolean {
    return this.beforeFact !== null;
  }

  /** Ends a replay: from now on, sightings are taken in. */
  endReplay(): void {
    this.beforeFact = null;
  }

  /** From now on, the log and the listener receive every event. */
  goLive(): void {
    this.isLive = true;
    this.list = Object.values(this.folds);
  }

  /** The position of the last event in the stream of the whole tree. */
  get position(): number {
    return this.options.parent?.position() ?? this.seq;
  }

  /** The next event comes after this position, or a later one that was already reached. */
  moveTo(position: number): void {
    if (this.options.parent != null) this.options.parent.moveTo(position);
    else this.seq = Math.max(this.seq, position);
  }

  /** Replay: takes in what was sighted at `at` (epoch ms). */
  resight(sighting: Sighting, at: number): void {
    if (sighting.type === 'model.delta') {
      this.parts = Math.max(this.parts, sighting.part + 1);
      // It keeps its position even if a replay removes more secrets.
      const delta = withoutSecrets(sighting.delta, this.options.secrets);
      this.publish({ ...sighting, ...this.envelope(at), delta, seq: this.next(sighting.delta.length) });
      return;
    }
    if (sighting.type === 'model.warned') this.isNewWarning(`${sighting.target} ${sighting.warning}`);
    this.tell((fold) => fold.sighting?.(sighting), true);
    this.publish({ ...sighting, ...this.envelope(at), seq: this.next(1) });
  }

  get counters(): Counters {
    return this.folds.counters.all;
  }

  /** Receives a machine fact. Never throws: the actor tree is in the middle of a step. */
  takeFact(fact: Fact): void {
    const { deliveredAt } = this.options.times;
    this.options.recorder?.fact(fact);
    this.tell((fold) => fold.fact?.(fact, deliveredAt));
    if (this.deltaSecrets !== null && repliesEnd.test(fact.type))
      for (const delta of this.deltaSecrets.rest()) this.passDelta(delta, this.options.times.now());
    this.beforeFact?.();
    this.publish({ ...ownCopy(this.eventOf(fact)), ...this.envelope(deliveredAt), seq: this.next(1) });
    if (fact.type === 'attempt.started') this.parts = 0;
    this.hasEnded ||= sessionEnds.has(fact.type);
  }

  /** Receives a non-fact observation, seen at `at` (epoch ms). */
  sight(sighting: Sighting, at: number = this.options.times.now()): void {
    if (this.beforeFact !== null || (this.hasEnded && sighting.type !== 'observer.failed')) return;
    if (sighting.type === 'model.delta') {
      if (sighting.delta !== '') this.parts = Math.max(this.parts, sighting.part + 1);
      const shown = this.shownOf(sighting);
      if (shown !== null) this.passDelta(shown, at);
      return;
    }
    if (sighting.type === 'model.warned' && !this.isNewWarning(`${sighting.target} ${sighting.warning}`)) return;
    this.tell((fold) => fold.sighting?.(sighting), sighting.type === 'observer.failed');
    const clean =
      'message' in sighting ? { ...sighting, message: redact(sighting.message, this.options.secrets) } : sighting;
    this.options.recorder?.sighted(clean, at);
    this.publish({ ...ownCopy(clean), ...this.envelope(at), seq: this.next(1) });
  }

  /** Forwards an event from a sub-agent's session, under its path. No fold here counts it. */
  forward(event: SessionEvent, name: string): void {
    const positions = event.type === 'model.delta' ? event.delta.length : 1;
    this.publish({ ...event, path: [name, ...event.path], seq: this.next(positions) });
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
    this.seq += positions;
    return this.seq;
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
    this.publish({ type, turn, attempt, kind, part, callId, toolName, delta, sessionId, agent, at, path, seq });
  }

  private publish(event: SessionEvent): void {
    const clean = event.type === 'model.delta' ? event : eventWithoutSecrets(event, this.options.secrets);
    if (this.published !== null) {
      this.unpublished.push(clean);
      return;
    }
    for (let next: SessionEvent | undefined = clean; next !== undefined; next = this.unpublished.shift()) {
      this.published = next;
      if (next.type === 'model.delta') this.passOn(next);
      else this.passToAll(next);
    }
    this.published = null;
  }

  /** Passes on a delta. There are very many, and few folds need them. */
  private passOn(delta: SessionEvent): void {
    this.folds.stream.event(delta);
    this.folds.parent.event(delta);
    if (!this.isLive) return;
    this.folds.telemetry.event(delta);
    this.folds.listener.event(delta);
  }

  private passToAll(event: SessionEvent): void {
    const isReport = event.type === 'observer.failed' && event.path.length === 0;
    this.tell((fold) => fold.event?.(event), isReport);
  }

  /** Calls each fold. One that throws does not affect the others; it is reported, except during a report. */
  private tell(act: (fold: Fold) => void, isReport = false): void {
    for (const fold of this.list) {
      try {
        act(fold);
      } catch (error) {
        if (!isReport) this.userCodeFailed('session', error);
      }
    }
  }
}
