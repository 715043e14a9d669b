import { eventWithoutSecrets } from '../secrets/redact.ts';
import type { Fold, SessionEvent } from './events.ts';
import type { Folds } from './folds.ts';

/** The observer of the session above, whose stream holds this session's events too. */
export type Parent = {
  forward(event: SessionEvent): void;
  position(): number;
  moveTo(position: number): void;
};

export type PublisherOptions = {
  folds: Folds;
  secrets: readonly string[];
  parent: Parent | null;
  /** Whether the log, the listener and telemetry are told from the start, or only after `hear`. */
  isHeard: boolean;
  onFailure: (observer: string, error: unknown) => void;
};

/** Gives the events of a session their positions, and passes each to the folds before the next (S-6). */
export class Publisher {
  private readonly options: PublisherOptions;
  /** The folds that are told. */
  private list: readonly Fold[];
  /** Whether the log, the listener and telemetry are told. */
  isHeard: boolean;
  /** The event that the folds are receiving; null between two. */
  private published: SessionEvent | null = null;
  /** What a listener brought about during that event: it comes after it for all folds, deltas too. */
  private readonly waiting: SessionEvent[] = [];
  private seq = 0;

  constructor(options: PublisherOptions) {
    this.options = options;
    const { log, telemetry, listener, ...state } = options.folds;
    this.isHeard = options.isHeard;
    this.list = Object.values(this.isHeard ? options.folds : state);
  }

  /** From now on, the log, the listener and telemetry receive every event. */
  hear(): void {
    this.isHeard = true;
    this.list = Object.values(this.options.folds);
  }

  /** The position of the last event in the stream of the whole tree. */
  get position(): number {
    return this.options.parent?.position() ?? this.seq;
  }

  /** The next event comes after this position, or a later one that was already reached. */
  moveTo(position: number): void {
    if (this.options.parent !== null) this.options.parent.moveTo(position);
    else this.seq = Math.max(this.seq, position);
  }

  /** Returns the position of an event that takes this many. */
  next(positions: number): number {
    this.seq += positions;
    return this.seq;
  }

  publish(event: SessionEvent): void {
    const clean = event.type === 'model.delta' ? event : eventWithoutSecrets(event, this.options.secrets);
    if (this.published !== null) {
      this.waiting.push(clean);
      return;
    }
    for (let next: SessionEvent | undefined = clean; next !== undefined; next = this.waiting.shift()) {
      this.published = next;
      if (next.type === 'model.delta') this.passOn(next);
      else this.passToAll(next);
    }
    this.published = null;
  }

  /** Calls each fold. One that throws does not affect the others; it is reported, except during a report. */
  tell(act: (fold: Fold) => void, isReport = false): void {
    for (const fold of this.list) {
      try {
        act(fold);
      } catch (error) {
        if (!isReport) this.options.onFailure('session', error);
      }
    }
  }

  /** Passes on a delta. There are very many, and few folds need them. */
  private passOn(delta: SessionEvent): void {
    const { stream, parent, telemetry, listener } = this.options.folds;
    stream.event(delta);
    parent.event(delta);
    if (!this.isHeard) return;
    telemetry.event(delta);
    listener.event(delta);
  }

  private passToAll(event: SessionEvent): void {
    const isReport = event.type === 'observer.failed' && event.path.length === 0;
    this.tell((fold) => fold.event?.(event), isReport);
  }
}
