import type { Fact } from '../../machines/index.ts';
import { eventWithoutSecrets } from '../secrets/redact.ts';
import type { Fold, SessionEvent, Sighting } from './events.ts';
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
  /** The folds that take something in: lists made once, since each fact and delta asks for them. */
  private folds: { facts: Fold[]; sightings: Fold[]; events: Fold[]; deltas: Fold[] };
  /** Whether the log, the listener and telemetry are told. */
  isHeard: boolean;
  /** The event that the folds are receiving; null between two. */
  private published: SessionEvent | null = null;
  /** What a listener brought about during that event: it comes after it for all folds, deltas too. */
  private readonly waiting: SessionEvent[] = [];
  private seq = 0;

  constructor(options: PublisherOptions) {
    this.options = options;
    this.isHeard = options.isHeard;
    this.folds = foldsOf(options.folds, this.isHeard);
  }

  /** From now on, the log, the listener and telemetry receive every event. */
  hear(): void {
    this.isHeard = true;
    this.folds = foldsOf(this.options.folds, true);
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
      this.passOn(next);
    }
    this.published = null;
  }

  /** Tells the folds of a machine fact, delivered at `at` (epoch ms). */
  tellFact(fact: Fact, at: number): void {
    this.tell(this.folds.facts, (fold) => fold.fact?.(fact, at));
  }

  tellSighting(sighting: Sighting, isReport: boolean): void {
    this.tell(this.folds.sightings, (fold) => fold.sighting?.(sighting), isReport);
  }

  private passOn(event: SessionEvent): void {
    const isReport = event.type === 'observer.failed' && event.path.length === 0;
    const { deltas, events } = this.folds;
    this.tell(event.type === 'model.delta' ? deltas : events, (fold) => fold.event?.(event), isReport);
  }

  /** Calls each fold. One that throws does not affect the others; it is reported, except during a report. */
  private tell(folds: readonly Fold[], act: (fold: Fold) => void, isReport = false): void {
    for (const fold of folds) {
      try {
        act(fold);
      } catch (error) {
        if (!isReport) this.options.onFailure('session', error);
      }
    }
  }
}

function foldsOf(all: Folds, isHeard: boolean): Publisher['folds'] {
  const { log, telemetry, listener, ...state } = all;
  const told: Fold[] = Object.values(isHeard ? all : state).filter((fold: Fold) => fold.isIdle !== true);
  const events = told.filter((fold) => fold.event !== undefined);
  return {
    facts: told.filter((fold) => fold.fact !== undefined),
    sightings: told.filter((fold) => fold.sighting !== undefined),
    events,
    deltas: events.filter((fold) => fold.takesDeltas === true),
  };
}
